package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// shortestKnown is the least length, in bytes, of a value or a form of it that is looked for.
	shortestKnown = 8
	// longestKnown bounds one form; longer values are looked for by their first part.
	longestKnown = 4 << 10
	// shortestLine and shortestHalf: parts of a value that are looked for on their own.
	shortestLine = 16
	shortestHalf = 10
)

// knownSet finds exact values in one pass over the text, whatever their number: the first 8 bytes of each form are
// the key of a table behind a bit filter, and the forms with the same beginning are compared longest first.
type knownSet struct {
	filter [1 << 10]uint64
	forms  map[uint64][]string
	blanks bool // in one of the forms
}

// newKnownSet registers each value in the encodings tools print it in; nil when there is nothing to look for.
func newKnownSet(values []Secret) *knownSet {
	var forms []string
	for _, v := range values {
		forms = append(forms, encodings(strings.Trim(v.Reveal(), "\r\n"))...)
	}
	if len(forms) == 0 {
		return nil
	}
	k := &knownSet{forms: make(map[uint64][]string)}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	for _, f := range forms {
		k.blanks = k.blanks || strings.ContainsAny(f, " \t")
		key := first8(f)
		if !slices.Contains(k.forms[key], f) {
			k.forms[key] = append(k.forms[key], f)
			slot := filterSlot(key)
			k.filter[slot>>6] |= 1 << (slot & 63)
		}
	}
	return k
}

func first8(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 |
		uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func filterSlot(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 >> 48 }

// find adds a span for each known value in t.
func (k *knownSet) find(t string, f *finding) {
	if k == nil {
		return
	}
	for i := 0; i+shortestKnown <= len(t); {
		key := first8(t[i:])
		slot := filterSlot(key)
		if k.filter[slot>>6]&(1<<(slot&63)) != 0 {
			if n := longest(k.forms[key], t[i:]); n > 0 {
				f.add(i, i+n, "known")
				i += n
				continue
			}
		}
		i++
	}
}

func longest(forms []string, s string) int {
	for _, f := range forms {
		if strings.HasPrefix(s, f) {
			return len(f)
		}
	}
	return 0
}

// common says whether v is a value that ordinary text is full of, which must not be looked for.
func common(v string) bool {
	c := count(v)
	if len(v) < shortestKnown || c.distinct < 4 {
		return true
	}
	if strings.HasPrefix(v, "/") && !strings.ContainsAny(v, "=+") && c.changes < 3 || c.digits == len(v) {
		return true
	}
	words := c.digits == 0 && c.upper == 0 && c.other == 0 && len(v) < 12
	host := strings.Contains(v, ".") && c.lower+strings.Count(v, ".")+strings.Count(v, "-") == len(v)
	return words || host
}

// encodings returns the forms in which a tool may print v. Not covered, and published as such: base64 twice, other
// letter case, reversed, spaced.
func encodings(v string) []string {
	if common(v) {
		return nil
	}
	var out []string
	add := func(forms ...string) {
		for _, f := range forms {
			if len(f) > longestKnown {
				f = f[:longestKnown]
			}
			if len(f) >= shortestKnown {
				out = append(out, f)
			}
		}
	}
	lines := strings.FieldsFunc(v, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range lines {
		if len(lines) == 1 || len(line) >= shortestLine {
			add(forms(line)...)
		}
	}
	if len(lines) > 1 {
		add(strings.ReplaceAll(v, "\n", `\n`), strings.ReplaceAll(v, "\n", `\\n`), url.QueryEscape(v))
		add(aligned(v)...)
		add(hex.EncodeToString([]byte(v)))
		return out
	}
	if len(v) >= 2*shortestHalf {
		add(v[:len(v)/2], v[len(v)/2:])
	}
	return out
}

// forms returns one line in each encoding.
func forms(v string) []string {
	b := []byte(v)
	once := jsonInner(v)
	quoted := strconv.Quote(v)
	ascii := strconv.QuoteToASCII(v)
	path, query := url.PathEscape(v), url.QueryEscape(v)
	full := percent(v)
	out := []string{
		v, strings.ToUpper(hex.EncodeToString(b)), hex.EncodeToString(b),
		path, query, full, url.QueryEscape(path), url.QueryEscape(query), url.QueryEscape(full), strings.ToLower(query),
		once, jsonInner(once), jsonHTML(v), jsonInner(jsonHTML(v)),
		html.EscapeString(v), xml(v), strings.ReplaceAll(v, "&", "&amp;"),
		strings.ReplaceAll(v, `'`, `'\''`), strings.ReplaceAll(v, `'`, `'"'"'`), shellEscape(v),
		quoted[1 : len(quoted)-1], ascii[1 : len(ascii)-1], strings.ReplaceAll(v, `'`, `\'`),
	}
	return append(out, aligned(v)...)
}

// aligned returns base64 of v as it looks inside a longer text, at each of the three offsets, without the characters
// that also depend on the neighbours.
func aligned(v string) []string {
	var out []string
	for offset := range 3 {
		b := append(make([]byte, offset), v...)
		cut := (offset*8 + 5) / 6 // characters that hold bits of the bytes before
		whole := len(b) * 8 / 6   // characters that hold no bits of the bytes behind
		std := base64.RawStdEncoding.EncodeToString(b)[cut:whole]
		out = append(out, std, strings.NewReplacer("+", "-", "/", "_").Replace(std))
	}
	return out
}

// jsonInner returns v as in a JSON string, without quotes and without HTML escapes.
func jsonInner(v string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return v
	}
	s := strings.TrimSuffix(b.String(), "\n")
	return s[1 : len(s)-1]
}

// jsonHTML is jsonInner with <, > and & escaped, as many encoders do.
func jsonHTML(v string) string {
	b, err := json.Marshal(v)
	if err != nil {
		return v
	}
	return string(b[1 : len(b)-1])
}

func xml(v string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(v)
}

// percent escapes all but letters, digits and -_.~ as %XX (also the blank).
func percent(v string) string { return strings.ReplaceAll(url.QueryEscape(v), "+", "%20") }

// shellEscape puts a backslash before each sign, as printf %q does.
func shellEscape(v string) string {
	var b strings.Builder
	for i := range len(v) {
		if !isWord(v[i]) && strings.IndexByte("-./:=@%+,", v[i]) < 0 && v[i] < 0x80 {
			b.WriteByte('\\')
		}
		b.WriteByte(v[i])
	}
	return b.String()
}
