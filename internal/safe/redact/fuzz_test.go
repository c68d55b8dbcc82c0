package redact

import (
	"strings"
	"testing"
)

func FuzzText(f *testing.F) {
	key := anthropicKey(80)
	for _, s := range []string{
		"", "plain\n", "token: " + key + "\n", "a\x1b[31mb" + key[:20] + "\x1b[0m" + key[20:], keyFile("RSA", 3), keyFile("", 2)[40:],
		"https://u:" + key + "@h/x?token=" + key + "&a=b\n", "│ " + key[:60] + " │\n│ " + key[60:] + " │\n", `{"password":"a\"b9cdefgh","x":1}`,
		"Cookie: sid=abcdef0123456789abcdef0123456789; a=b", "Authorization: Digest response=\"" + random(81, 32, lowhex) + "\"", "[masked:x] [masked:",
		"kind: Secret\ndata:\n  a: YWRtaW46aHVudGVyMg==\n", "name: API_KEY\nvalue: " + random(82, 30, alnum), "user:p4ssw0rdX@tcp(h)", "\xff\xc2\x9b\xe2\x80\x8b\x00",
		"key: \"\"\"" + key + "\"\"\" {{x}} ${y} &quot;secret&quot;:&quot;" + random(83, 20, alnum) + "&quot;", strings.Repeat("=", 300) + "eyJ.eyJ.eyJ",
	} {
		f.Add(s, 3)
	}
	m := New(Secret("known-value-9-here"), Secret("pa\"ss&wo=rd 7"))
	f.Fuzz(func(t *testing.T, s string, n int) {
		got, changed := m.Changed(s)
		if changed != (got != s) {
			t.Fatalf("changed is %v for %q", changed, s)
		}
		if limit := len(s) + (strings.Count(got, markOpen)+1)*40; len(got) > limit {
			t.Fatalf("%d bytes became %d", len(s), len(got))
		}
		if again := m.Text(got); again != got {
			t.Fatalf("masking twice:\n%q\n%q\n%q", s, got, again)
		}
		for _, size := range []int{1, max(1, n%97), max(1, len(s)/2)} {
			if pieces := inPieces(m, s, size); pieces != got {
				t.Fatalf("pieces of %d:\n%q\n%q", size, pieces, got)
			}
		}
	})
}
