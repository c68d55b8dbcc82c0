package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

func TestT57_KnownValues(t *testing.T) {
	for _, v := range []string{
		`pa"ss&wo=rd%7 x'y`, `k{v}<t>;/+\9z#Q`, "plain7value-with.dots", "ünïcode-9-wörd", `Tr0ub4dor&3 $HOME "q"`,
	} {
		m := New(Secret(v))
		for name, form := range knownForms(t, v) {
			text := "> " + form + " <\n"
			if got := m.Text(text); strings.Contains(got, form) || survives(got, strings.TrimRight(form, "=")) != "" {
				t.Errorf("%q as %s: %q", v, name, got)
			}
		}
		for _, plain := range []string{"nothing of it here", "pass word plain value Tr0ub"} {
			if got := m.Text(plain); got != plain {
				t.Errorf("%q masks %q", v, got)
			}
		}
	}
	long := "line-one-is-9-long-enough\nline-two-is-7-long-enough\nshort"
	m := New(Secret(long))
	for _, text := range []string{long, strings.ReplaceAll(long, "\n", `\n`), strings.ReplaceAll(long, "\n", `\\n`), "x line-two-is-7-long-enough y"} {
		if got := m.Text(text); survives(got, "line-two-is-7-long-enough") != "" {
			t.Errorf("%q gives %q", text, got)
		}
	}
}

// knownForms makes the encodings that are promised, with the standard library and without the code under test.
func knownForms(t *testing.T, v string) map[string]string {
	t.Helper()
	inner := func(s string) string {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		out := strings.TrimSpace(b.String())
		return out[1 : len(out)-1]
	}
	marshalled, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"raw": v, "hex": hex.EncodeToString([]byte(v)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(v))),
		"base64":           base64.StdEncoding.EncodeToString([]byte(v)),
		"base64 + newline": base64.StdEncoding.EncodeToString([]byte(v + "\n")),
		"base64 of 1+v":    base64.StdEncoding.EncodeToString([]byte("x" + v + "yz")),
		"base64 of 2+v":    base64.StdEncoding.EncodeToString([]byte("ab" + v + "yz")),
		"base64url":        base64.RawURLEncoding.EncodeToString([]byte(v)),
		"query":            url.QueryEscape(v), "path": url.PathEscape(v), "query twice": url.QueryEscape(url.QueryEscape(v)),
		"json": inner(v), "json in json": inner(inner(v)), "json html": string(marshalled[1 : len(marshalled)-1]),
		"html": html.EscapeString(v), "go": strconv.Quote(v)[1 : len(strconv.Quote(v))-1],
		"shell": strings.ReplaceAll(v, "'", `'\''`), "half": v[:max(len(v)/2, 8)] + "\x00" + v[max(len(v)/2, 8):],
	}
}

func TestT58_CommonValuesAreNotKnown(t *testing.T) {
	text := "true dev a { localhost production /usr/local/bin 12345678 example.com aaaaaaaaaa password\n"
	var values []Secret
	for _, w := range append(strings.Fields(text), "", "\n", "{\n}\n") {
		values = append(values, Secret(w))
	}
	if got := New(values...).Text(text); got != text {
		t.Errorf("got %q", got)
	}
}
