package redact

import (
	"strings"
	"testing"
)

func TestT61_HugeLinesAreBounded(t *testing.T) {
	m := New(Secret("known-value-9-here"))
	key := anthropicKey(32)
	for name, unit := range map[string]string{
		"equals": "=", "jwt": "eyJ", "jwt words": "eyJ ", "jwt dots": "eyJhbGciOi.", "begin": "-----BEGIN ", "begin key": "-----BEGIN PRIVATE KEY-----",
		"names": "token=", "quotes": `"`, "backslash": `\`, "at": "a:b@", "urls": "http://a:", "word": "a", "colons": "key:", "escapes": "\x1b[31m",
		"brackets": "[masked:", "known": "known-va", "cookies": "Cookie: a=", "spaces": " ", "prefix": "sk-", "zero width": "\u200b", "osc": "\x1b]8;;",
	} {
		s := m.Stream()
		held := 0
		for written := 0; written < 256<<10; {
			chunk := strings.Repeat(unit, 8<<10)
			s.Write(chunk)
			written += len(chunk)
			held = max(held, len(s.buf)+len(s.e.left)+len(s.e.join))
		}
		if held > 2*pieceSize {
			t.Errorf("%s: %d bytes are held", name, held)
		}
		out := strings.Join(s.Write(" "+key+" \n"), "") + strings.Join(s.Flush(), "")
		if w := survives(out, key[13:]); w != "" {
			t.Errorf("%s: the key behind it is not masked: %q", name, w)
		}
	}
}

func TestT61_SecretsAnywhereInALongLine(t *testing.T) {
	m := New(Secret("known-value-9-here"))
	var b strings.Builder
	var keys []string
	for i := range 300 {
		b.WriteString(strings.Repeat("filler ", 90))
		k := anthropicKey(uint64(1000 + i))
		keys = append(keys, k)
		b.WriteString("api_key=" + k + " known-value-9-here ")
	}
	text := b.String()
	got := m.Text(text)
	for _, k := range keys {
		if w := survives(got, k[13:]); w != "" {
			t.Fatalf("%q is left", w)
		}
	}
	if strings.Contains(got, "known-value") {
		t.Error("a known value is left")
	}
	for _, n := range []int{1 << 10, 5000, 1 << 16, 70001} {
		if inPieces(m, text, n) != got {
			t.Errorf("pieces of %d differ", n)
		}
	}
	// One token that is longer than a piece.
	huge := "token: sk-" + "ant-" + random(33, 200<<10, alnum) + " after"
	got = m.Text(huge)
	if !strings.HasSuffix(got, " after") || len(got) > 400 {
		t.Errorf("a huge token gives %d bytes: %.80q ... %.40q", len(got), got, got[max(0, len(got)-40):])
	}
}
