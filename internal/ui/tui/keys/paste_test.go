package keys

import (
	"strings"
	"testing"
)

// TestT37_NoTextEndsItsOwnPaste: taking a mark out makes no other one.
func TestT37_NoTextEndsItsOwnPaste(t *testing.T) {
	for _, text := range []string{"a\x1b[20\x1b[200~1~b\r", "a\x1b[201~b", "\x1b[2\x1b[201~01~", "a\u009b201~b"} {
		keys, _ := Paste(text, true)
		inner := strings.TrimSuffix(strings.TrimPrefix(keys, pasteBegin), pasteEnd)
		if strings.ContainsAny(inner, "\x1b\u009b") {
			t.Errorf("%q came out as %q", text, keys)
		}
	}
}
