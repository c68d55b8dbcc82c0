package redact

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	alnum  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	lowhex = "0123456789abcdef"
)

// random returns n characters of the alphabet, the same for the same seed; fixtures are made here so that no file
// holds a whole credential.
func random(seed uint64, n int, alphabet string) string {
	r := rand.New(rand.NewPCG(seed, 42))
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

func anthropicKey(seed uint64) string { return "sk-" + "ant-api03-" + random(seed, 90, alnum+"-_") }

// survives returns a 10-byte window of secret that is in text, or "".
func survives(text, secret string) string {
	for i := 0; i+10 <= len(secret); i++ {
		if strings.Contains(text, secret[i:i+10]) {
			return secret[i : i+10]
		}
	}
	return ""
}

// inPieces runs text through a Stream in pieces of n bytes.
func inPieces(m *Masker, text string, n int) string {
	s := m.Stream()
	var out strings.Builder
	for len(text) > 0 {
		k := min(n, len(text))
		for _, line := range s.Write(text[:k]) {
			out.WriteString(line)
		}
		text = text[k:]
	}
	for _, line := range s.Flush() {
		out.WriteString(line)
	}
	return out.String()
}

func TestT50_SecretPrintsNothing(t *testing.T) {
	value := random(1, 24, alnum)
	s := Secret(value)
	type config struct {
		Name string
		Key  Secret
		Keys map[string]Secret
	}
	c := config{"n", s, map[string]Secret{"k": s}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10.3s"} {
		fmt.Fprintf(&out, verb+"\n", s)
		fmt.Fprintf(&out, verb+"\n", c)
		fmt.Fprintf(&out, verb+"\n", &c)
		fmt.Fprintf(&out, verb+"\n", []any{s, c})
	}
	for _, v := range []any{s, c, &c, []Secret{s}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(b)
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("start", "key", s, "config", slog.AnyValue(s), "group", slog.GroupValue(slog.Any("k", s)))
	}
	out.WriteString(errors.Join(fmt.Errorf("bad key %v", s)).Error())
	func() {
		defer func() { fmt.Fprint(&out, recover()) }()
		panic(fmt.Sprint("cannot use ", s))
	}()
	if strings.Contains(out.String(), value) || strings.Contains(out.String(), hex.EncodeToString([]byte(value))) {
		t.Errorf("the value is in:\n%s", out.String())
	}
	if !strings.Contains(out.String(), "[masked]") || s.Reveal() != value {
		t.Error("a Secret shows [masked] and reveals its value")
	}
}

func TestT53_PiecesAreOneText(t *testing.T) {
	m := New()
	key, other := anthropicKey(3), anthropicKey(4)
	text := "I found " + key + " in the file.\nIt is not used.\n"
	want := m.Text(text)
	if survives(want, key[13:]) != "" || !strings.HasSuffix(want, "It is not used.\n") {
		t.Fatalf("got %q", want)
	}
	for _, n := range []int{1, 2, 7, 40, len(text)/3 + 1, len(text)/2 + 1, len(text)} {
		if got := inPieces(m, text, n); got != want {
			t.Errorf("in pieces of %d: %q", n, got)
		}
	}
	// Two sessions, byte by byte, one after the other.
	a, b := m.Stream(), m.Stream()
	var outA, outB strings.Builder
	textB := "key " + other + "\n"
	for i := range max(len(text), len(textB)) {
		if i < len(text) {
			outA.WriteString(strings.Join(a.Write(text[i:i+1]), ""))
		}
		if i < len(textB) {
			outB.WriteString(strings.Join(b.Write(textB[i:i+1]), ""))
		}
	}
	outA.WriteString(strings.Join(a.Flush(), ""))
	outB.WriteString(strings.Join(b.Flush(), ""))
	if outA.String() != want || outB.String() != m.Text(textB) {
		t.Errorf("interleaved: %q and %q", outA.String(), outB.String())
	}
}

func TestT54_NoPartialToken(t *testing.T) {
	m := New()
	key := anthropicKey(5)
	for n := 1; n < len(key); n++ {
		s := m.Stream()
		if lines := s.Write("the key is " + key[:n]); len(lines) != 0 {
			t.Fatalf("an unfinished line was passed on: %q", lines)
		}
		if rest := strings.Join(s.Flush(), ""); n >= 17 && strings.Contains(rest, key[13:n]) {
			t.Errorf("after %d characters the flush shows %q", n, rest)
		}
	}
}

func TestT63_CutTextShowsNoBeginning(t *testing.T) {
	m := New()
	for _, key := range []string{anthropicKey(6), "gh" + "p_" + random(7, 36, alnum), "AK" + "IA" + random(8, 16, "ABCDEFGHIJKLMNOP234567")} {
		const limit = 400
		text := strings.Repeat("a word ", 100)[:limit-6] + " " + key
		masked := m.Text(text)
		if got := masked[:limit]; strings.Contains(got, key[:5]) {
			t.Errorf("masked then cut shows %q", got[limit-10:])
		}
	}
}

func TestT54_StateGoesOn(t *testing.T) {
	m := New(Secret("correct-horse-9-battery"))
	text := "kind: Secret\ndata:\n  a: " + random(9, 20, alnum) + "\n---\n" + keyFile("RSA", 6) + "name: DB_PASSWORD\nvalue: " +
		random(10, 12, alnum) + "\n" + random(11, 64, alnum) + "\n" + random(12, 64, alnum) + "\n-----END PRIVATE KEY-----\n" +
		"token: " + anthropicKey(13)[:73] + "\n" + anthropicKey(13)[73:] + "\nend"
	want := m.Text(text)
	for cut := range len(text) + 1 {
		s := m.Stream()
		out := strings.Join(s.Write(text[:cut]), "")
		b, err := json.Marshal(s.State())
		if err != nil {
			t.Fatal(err)
		}
		var st State
		if err := json.Unmarshal(b, &st); err != nil {
			t.Fatal(err)
		}
		next := m.Stream()
		next.Restore(st)
		out += strings.Join(next.Write(text[cut:]), "") + strings.Join(next.Flush(), "")
		if out != want {
			t.Fatalf("restored at %d:\n%q\nwant\n%q", cut, out, want)
		}
	}
}

func TestStateDamaged(t *testing.T) {
	s := New().Stream()
	s.Restore(State{Rows: []StateRow{
		{Raw: []byte("row one\n"), Spans: []StateSpan{{From: 5, To: 99, Kind: "x"}}, From: 3, To: 1},
		{Raw: []byte("row two\n"), From: -1, To: 400},
	}, Wait: 1, Block: 9})
	out := strings.Join(s.Write("-----END PRIVATE KEY-----\nmore\n"), "") + strings.Join(s.Flush(), "")
	if !strings.HasSuffix(out, "more\n") || strings.Contains(out, "row one") {
		t.Errorf("got %q", out)
	}
}

// keyFile makes a key file with that many full body lines.
func keyFile(label string, lines int) string {
	if label != "" {
		label += " "
	}
	var b strings.Builder
	b.WriteString("-----BEGIN " + label + "PRIVATE KEY-----\n")
	for i := range lines {
		b.WriteString(random(uint64(100+i), 64, alnum+"+/") + "\n")
	}
	b.WriteString(random(99, 38, alnum) + "==\n")
	b.WriteString("-----END " + label + "PRIVATE KEY-----\n")
	return b.String()
}

func TestT56_KeyBlocks(t *testing.T) {
	m := New()
	for _, label := range []string{"RSA", "EC", "DSA", "OPENSSH", "ENCRYPTED", ""} {
		file := keyFile(label, 9)
		rows := strings.Split(strings.TrimSuffix(file, "\n"), "\n")
		each := func(change func(i int, row string) string) string {
			var b strings.Builder
			for i, row := range rows {
				b.WriteString(change(i, row) + "\n")
			}
			return b.String()
		}
		for name, text := range map[string]string{
			"file":       file,
			"crlf":       strings.ReplaceAll(file, "\n", "\r\n"),
			"diff":       each(func(_ int, r string) string { return "+" + r }),
			"yaml":       "tls:\n  key: |\n" + each(func(_ int, r string) string { return "    " + r }),
			"numbered":   each(func(i int, r string) string { return fmt.Sprintf("%6d\t%s", i+1, r) }),
			"quoted":     each(func(_ int, r string) string { return "> " + r }),
			"box":        each(func(_ int, r string) string { return "│ " + fmt.Sprintf("%-66s", r) + " │" }),
			"json":       `{"pem":"` + strings.ReplaceAll(file, "\n", `\n`) + `"}` + "\n",
			"json twice": `{"pem":"` + strings.ReplaceAll(file, "\n", `\\n`) + `"}` + "\n",
			"code":       each(func(_ int, r string) string { return `	"` + r + `\n" +` }),
			"no BEGIN":   strings.Join(rows[3:], "\n") + "\n$ \n",
			"no END":     strings.Join(rows[:7], "\n") + "\n",
			"one line":   strings.Join(rows, " ") + "\n",
			"colour":     each(func(_ int, r string) string { return "\x1b[32m+" + r + "\x1b[0m" }),
			"headers":    rows[0] + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n" + strings.Join(rows[1:], "\n") + "\n",
		} {
			for _, n := range []int{1, 50, len(text)} {
				got := inPieces(m, "before\n"+text+"after it\n", n)
				for _, row := range rows[1 : len(rows)-1] {
					if !strings.Contains(text, row) {
						continue
					}
					if w := survives(got, row); w != "" {
						t.Fatalf("%s, %s, pieces of %d: %q is left in\n%s", label, name, n, w, got)
					}
				}
				if !strings.HasPrefix(got, "before\n") || !strings.HasSuffix(got, "after it\n") {
					t.Errorf("%s, %s: text around it is gone:\n%s", label, name, got)
				}
			}
		}
	}
}

func TestT59_OrdinaryTextIsUntouched(t *testing.T) {
	m := New()
	sum, err := os.ReadFile(filepath.Join("..", "..", "..", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(sum), "\n")
	lines = append(lines,
		"commit "+random(20, 40, lowhex), "max_tokens: 4096", "Token::Ident(name) => self.ident(name),", "password: string",
		`"integrity": "sha512-`+random(21, 86, alnum)+`==",`, "    --hash=sha256:"+random(22, 64, lowhex)+" \\",
		"id 3f98e6ac-904c-448a-96f9-e95a7d96cd32", "const token = await getToken(user);", "PASS: TestTokenPassword1 (0.01s)",
		"--- PASS: TestAsSlice (0.00s)", "PWD=/home/dev/project2", `{"usage":{"input_tokens":5437,"cached_tokens":77005}}`,
		"password = os.environ['DB_PASSWORD2']", "api_key: ${API_KEY}", "Authorization: Bearer <token>", "primary_key=timber_id",
		"toolu_"+random(23, 24, alnum), "resp_"+random(24, 48, lowhex), "call_"+random(25, 24, alnum), "git@github.com:team/repo.git",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"+random(26, 43, alnum)+" me@host", "https://host.example:8443/a/b?page=2#access-tokens",
		"serverConfig.PrivateKey = testRSA2048PrivateKey", "if c.ClientAuth == NoClientCert {", "docker run -u 1000:1000 alpine",
		".sk-fading-circle .sk-circle12 { }", "next_page_token: "+random(27, 30, alnum), "x-amz-request-id: "+random(28, 16, alnum),
		"-----BEGIN CERTIFICATE-----", "MIID"+random(29, 60, alnum+"+/"), random(30, 64, alnum+"+/"), "-----END CERTIFICATE-----",
	)
	changed := 0
	for _, line := range lines {
		if got := m.Text(line); got != line {
			changed++
			t.Logf("%q becomes %q", line, got)
		}
	}
	if changed > 0 {
		t.Errorf("%d of %d lines changed", changed, len(lines))
	}
	if all := strings.Join(lines, "\n"); m.Text(all) != all {
		t.Error("joined they change")
	}
}

func TestT60_CommentsDoNotUnmask(t *testing.T) {
	m := New()
	key := "gh" + "p_" + random(31, 36, alnum)
	for _, mark := range []string{"# gitleaks:allow", "// nosec", "# EXAMPLE", "# pragma: allowlist secret", "# noqa, example only"} {
		for _, text := range []string{`x = "` + key + `" ` + mark, mark + "\nx = " + key, "EXAMPLE_KEY=" + key + " " + mark} {
			if got := m.Text(text); survives(got, key[4:]) != "" {
				t.Errorf("%q leaves %q", mark, got)
			}
		}
	}
}

func TestNothingToMaskCostsNothing(t *testing.T) {
	m := New(Secret("known-value-9-here"))
	line := `2026-11-30T10:00:00Z INFO server: accepted connection from 127.0.0.1:5432 path="/v1/items?page=2" status=200 took=12ms` + "\n"
	if n := testing.AllocsPerRun(200, func() {
		if m.Text(line) != line {
			t.Fatal("changed")
		}
	}); n != 0 {
		t.Errorf("%v allocations for a line without secrets", n)
	}
}

func TestU14_WhatUpstreamLogsInClear(t *testing.T) {
	m := New()
	pass := random(40, 14, alnum) + "7"
	for _, text := range []string{
		"jwt eyJ" + random(41, 30, alnum) + ".eyJ" + random(42, 60, alnum) + "." + random(43, 43, alnum),
		"postgres://app:" + pass + "@db.example:5432/x", "curl -u deploy:" + pass + " https://h", "DATABASE_URL=mysql://root:" + pass + "@h/x",
		"GITHUB_TOKEN=gh" + "p_" + random(44, 36, alnum), "git remote add o https://oauth2:" + pass + "@h/x.git",
		"xo" + "xb-" + random(45, 12, "0123456789") + "-" + random(46, 24, alnum), "glp" + "at-" + random(47, 20, alnum),
		"npm" + "_" + random(48, 36, alnum), "hf" + "_" + random(49, 34, alnum), "AI" + "za" + random(50, 35, alnum),
		"S" + "G." + random(51, 22, alnum) + "." + random(52, 43, alnum), "sk_" + "live_" + random(53, 24, alnum),
		"AWS_SECRET_ACCESS_KEY=" + random(54, 40, alnum+"/+"), "export DB_PASSWORD='" + pass + "'",
	} {
		got, changed := m.Changed(text)
		if !changed || !strings.Contains(got, "[masked:") {
			t.Errorf("%q is not masked", text)
		}
		if m.Text(got) != got {
			t.Errorf("masking twice: %q becomes %q", got, m.Text(got))
		}
	}
}

// TestFindIsWhereTextMasks: what stands between the places is what stays of the text.
func TestFindIsWhereTextMasks(t *testing.T) {
	m := New()
	text := "a " + anthropicKey(3) + "\r\nAuthorization: Bearer " + anthropicKey(4) + "\nplain\n" + strings.Repeat("x ", 50_000) + anthropicKey(5) + " end"
	var kept []string
	at := 0
	for _, r := range m.Find(text) {
		if r[0] < at || r[1] <= r[0] {
			t.Fatalf("ranges out of order: %v", r)
		}
		kept = append(kept, text[at:r[0]])
		at = r[1]
	}
	kept = append(kept, text[at:])
	rest := m.Text(text)
	for i, part := range kept {
		if !strings.HasPrefix(rest, part) {
			t.Fatalf("part %d is %.40q, the masked text goes on with %.40q", i, part, rest)
		}
		rest = rest[len(part):]
		rest = rest[markAt(rest):]
	}
	if len(kept) < 4 || rest != "" {
		t.Errorf("%d parts, and %q is left", len(kept), rest)
	}
	if len(m.Find("nothing here")) != 0 {
		t.Error("something was found in nothing")
	}
}
