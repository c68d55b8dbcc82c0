package wire

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProtocolPage decodes every example of docs/protocol.md with the strict decoder, and looks whether a field of an
// example went unread: what is written again must say the same.
func TestProtocolPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for block := range strings.SplitSeq(string(page), "```json ") {
		side, rest, ok := strings.Cut(block, "\n")
		text, _, closed := strings.Cut(rest, "\n```")
		if !ok || !closed || side != "c" && side != "s" {
			continue
		}
		seen[side]++
		var v any
		if side == "c" {
			v, err = DecodeClientMessage([]byte(text))
		} else {
			v, err = DecodeServerEvent([]byte(text))
		}
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		if _, unknown := v.(UnknownEvent); unknown {
			t.Errorf("an example of an event that no reader knows: %s", text)
			continue
		}
		again, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON([]byte(text), again) {
			t.Errorf("%s\nis written again as\n%s", text, again)
		}
	}
	if seen["c"] < 8 || seen["s"] < 7 {
		t.Errorf("only %v examples were found; the page's blocks begin with ```json c or ```json s", seen)
	}
}
