package redact

import (
	"encoding/base64"
	"strings"
)

// named handles the word t[i:j] as a name: what stands between it and a value, and whether that value is a secret.
// It returns where to go on, or 0.
func (s *scanner) named(i, j int) int {
	name := s.t[i:j]
	if !mayName(name) && s.prev.yaml != yamlData {
		return 0
	}
	g, ok := s.gap(i, j)
	if !ok {
		return 0
	}
	by, kind := classify(name)
	switch g.kind {
	case ':', '=':
		by, kind = phrase(s.t, i, j, by, kind)
		if end := s.paired(name, g, by); end > 0 {
			return end
		}
		if by == nameNone {
			by, kind = s.byState(name, i)
		}
		if cookieHeader(name) { // its values were judged one by one
			return 0
		}
	case '|', '>', ',', '(', ' ':
	}
	if by == nameNone {
		return 0
	}
	return s.valueAt(i, g, by, kind)
}

// gap is what stands between a name and its value.
type gap struct {
	kind  byte // ':', '=', '|' (table), '>' (element), ',' and '(' (arguments), ' ' (nothing)
	at    int  // where the value begins
	tight bool // no blank on either side
	flag  bool
}

// gap recognises the separators; ok is false when the word is no name.
func (s *scanner) gap(i, j int) (gap, bool) {
	t := s.t
	p := j
	for p < len(t) && p-j < 8 && strings.IndexByte("\"'`]\\*)", t[p]) >= 0 && !strings.HasPrefix(t[p:], `\u`) {
		p++
	}
	closed := p > j && strings.ContainsAny(t[j:p], "\"'`")
	if n := quoteEntity(t[p:]); n > 0 {
		p, closed = p+n, true
	}
	q := p
	for q < len(t) && (t[q] == ' ' || t[q] == '\t') && q-p < 80 {
		q++
	}
	g := gap{tight: q == j, flag: i > 0 && t[i-1] == '-'}
	if q >= len(t) {
		return g, false
	}
	rest := t[q:]
	switch c := rest[0]; {
	case strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, ":/") && strings.HasPrefix(rest, "://"):
		return g, false
	case strings.HasPrefix(rest, ":="), strings.HasPrefix(rest, "=>"), strings.HasPrefix(rest, "=="),
		strings.HasPrefix(rest, "?=") && c == '?', strings.HasPrefix(rest, "+="), strings.HasPrefix(rest, "!="):
		g.kind, g.at = '=', q+2
		if strings.HasPrefix(rest, "===") || strings.HasPrefix(rest, "!==") {
			g.at++
		}
	case strings.HasPrefix(rest, "%3D"), strings.HasPrefix(rest, "%3d"), strings.HasPrefix(rest, "%3A"):
		g.kind, g.at = '=', q+3
	case strings.HasPrefix(rest, `\u003d`):
		g.kind, g.at = '=', q+6
	case c == '=' || c == ':':
		g.kind, g.at = c, q+1
	case c == '|' || strings.HasPrefix(rest, "│"):
		g.kind, g.at = '|', q+1
		if c != '|' {
			g.at = q + len("│")
		}
	case c == '>' && i > 0 && t[i-1] == '<':
		g.kind, g.at = '>', q+1
	case c == ',' && closed:
		g.kind, g.at = ',', q+1
	case c == '(' && q == j:
		g.kind, g.at = '(', q+1
	case q > p:
		g.kind, g.at = ' ', q
	default:
		return g, false
	}
	for g.at < len(t) && (t[g.at] == ' ' || t[g.at] == '\t') {
		g.at++
		g.tight = false
	}
	return g, g.at < len(t)
}

// valueAt masks the value behind the gap when it is a secret. It returns where to go on, or 0.
func (s *scanner) valueAt(i int, g gap, by strength, kind string) int {
	v := s.value(i, g)
	text := s.t[v.from:v.to]
	switch g.kind {
	case ' ':
		if by == namePass && looksRandom(text, 10) {
			break
		}
		if by = s.loose(i, g, by); by == nameNone {
			return 0
		}
	case ',', '(':
		if !v.quoted {
			return 0
		}
		c := count(text)
		if c.digits < 2 || len(text) < 12 || c.upper == 0 && c.hex < len(text) ||
			by < namePass && !looksRandom(text, 16) && !looksHex(text, 24) {
			return 0
		}
	case ':':
		if i > 0 && s.t[i-1] == ':' { // arn:aws:...:secret:name
			return 0
		}
	}
	if end := s.wrapped(v, by); end > 0 {
		return end
	}
	if !believable(text, v.quoted, by) {
		if by >= nameStrong && v.to >= len(s.t) && v.to > v.from && !placeholder(text) && g.kind != ' ' {
			s.f.tail = v.from
		}
		return 0
	}
	return s.mask(v, kind)
}

// mask adds the value and returns where to go on. Of a bare value only the first step was measured to judge it, so
// that looking at many that are none costs little; the rest of it is masked too.
func (s *scanner) mask(v value, kind string) int {
	for step := v.to - v.from; !v.quoted && step >= bareStep-8; {
		step = bareEnd(s.t[v.to:], false)
		v.to, v.end = v.to+step, v.to+step
	}
	s.f.add(v.from, v.to, kind)
	return v.end
}

// wrapped masks the string inside a constructor: Some("..."), SecretString("..."), b64("...").
func (s *scanner) wrapped(v value, by strength) int {
	if v.quoted || by < nameStrong {
		return 0
	}
	text := s.t[v.from:v.to]
	k := strings.IndexByte(text, '(')
	if k < 0 {
		k = len(text)
	}
	if v.from+k+1 >= len(s.t) || s.t[v.from+k:v.from+k+1] != "(" || k > 40 {
		return 0
	}
	in := s.value(v.from, gap{kind: '(', at: v.from + k + 1})
	if !in.quoted || !looksRandom(s.t[in.from:in.to], 16) && !looksHex(s.t[in.from:in.to], 32) {
		return 0
	}
	s.f.add(in.from, in.to, "secret")
	return in.end
}

// nearby is how far around a word its command or line is looked at, in bytes.
const nearby = 256

// loose judges a name and a value with only blanks between: after a flag it is a value like any other, in a netrc or
// Dockerfile line too; elsewhere it is prose, where only random values count.
func (s *scanner) loose(i int, g gap, by strength) strength {
	before := strings.TrimSpace(s.t[max(0, i-nearby):i])
	after := s.t[g.at:min(len(s.t), g.at+nearby)]
	switch {
	case by == nameNone:
		return nameNone
	case g.flag && i > 1 && (s.t[i-2] == '-' || s.t[i-2] == ' '):
		return by
	case by == namePass && (strings.HasPrefix(before, "machine ") || strings.Contains(before, "login ") ||
		before == "" && count(after).digits > 0 && !strings.Contains(strings.TrimRight(after, " \r"), " ")):
		return by
	case before == "ENV" || before == "set -x" || before == "setx" || before == "set -gx" || before == "setenv":
		return by
	}
	return nameWeak
}

// value measures the value behind the gap.
func (s *scanner) value(i int, g gap) value {
	t, at := s.t, g.at
	if g.kind == ' ' {
		if strings.HasPrefix(t[at:], "for ") {
			if k := strings.IndexByte(t[at+4:min(len(t), at+40)], ' '); k > 0 {
				at += 4 + k + 1
			}
		}
		for _, filler := range []string{"is ", "was ", "to ", "of ", "value ", "<<< ", "= "} {
			if strings.HasPrefix(t[at:], filler) {
				at += len(filler)
				break
			}
		}
	}
	if strings.HasPrefix(t[at:], "!!") { // YAML type
		if k := strings.IndexByte(t[at:min(len(t), at+16)], ' '); k > 0 {
			at += k + 1
		}
	}
	if g.kind == '=' && g.tight && t[at] == '{' { // ODBC: password={...}
		if k := strings.IndexAny(t[at+1:min(len(t), at+128)], "} :{"); k > 0 && t[at+1+k] == '}' && count(t[at+1:at+1+k]).digits > 0 {
			return value{from: at + 1, to: at + 1 + k, end: at + 2 + k}
		}
	}
	if n, quote, level := openQuote(t[at:]); n > 0 {
		from := at + n
		m, closing := quotedEnd(t[from:], quote, level)
		return value{from: from, to: from + m, quoted: true, end: from + m + closing}
	}
	inURL := g.tight && i > 0 && (t[i-1] == '?' || t[i-1] == '&')
	n := bareEnd(t[at:], inURL)
	if g.kind == '>' {
		n = max(0, strings.Index(t[at:min(len(t), at+4096)], "</"))
	}
	return value{from: at, to: at + n, end: at + n}
}

// phrase judges names of several words before a colon: "Unseal Key 1:", "Secret access key:", "Root Token:".
func phrase(t string, i, j int, by strength, kind string) (strength, string) {
	if by > nameWeak || i == 0 || t[i-1] != ' ' || j-i > 12 {
		return by, kind
	}
	word := t[i:j]
	if !digitsOnly(word) && !strings.EqualFold(word, "key") && !strings.EqualFold(word, "id") &&
		!strings.EqualFold(word, "value") {
		return by, kind
	}
	from := i
	for range 3 {
		k := from - 1
		for k > 0 && isWord(t[k-1]) {
			k--
		}
		if k == from-1 || k < 0 {
			break
		}
		from = k
		if k == 0 || t[k-1] != ' ' {
			break
		}
	}
	if from == i {
		return by, kind
	}
	var p nameParts
	p.split(t[from:j])
	for p.n > 1 && neutral(string(p.part(0))) {
		p.n--
	}
	if last := string(p.part(0)); last == "key" && !phraseKey(string(p.part(1))) {
		return by, kind
	}
	if longer, name := classify(t[from:j]); longer > by {
		return longer, name
	}
	return by, kind
}

// phraseKey words make "... key:" in prose a credential.
func phraseKey(w string) bool {
	switch w {
	case "api", "access", "secret", "private", "unseal", "auth", "signing", "encryption", "master", "license",
		"account", "recovery", "service", "shared", "preshared", "session", "app", "deploy", "webhook", "storage",
		"subscription", "admin", "root":
		return true
	}
	return false
}

// paired handles fields that only together name a secret: name=API_KEY value=..., in one line or the next; cookies
// and authorization headers. It returns where to go on, or 0.
func (s *scanner) paired(name string, g gap, by strength) int {
	switch {
	case len(name) == 3 && strings.EqualFold(name, "key") || len(name) == 4 && strings.EqualFold(name, "name") ||
		len(name) == 8 && strings.EqualFold(name, "variable"):
		v := s.value(0, gap{kind: g.kind, at: g.at})
		if inner, _ := classify(strings.TrimSpace(s.t[v.from:v.to])); inner > nameWeak {
			s.next.name = inner
			return v.end
		}
	case len(name) >= 13 && strings.EqualFold(name[len(name)-13:], "authorization"):
		return s.authorization(g)
	case cookieHeader(name):
		return s.cookies(g)
	case len(name) == 4 && strings.EqualFold(name, "auth"), name == "_auth":
		v := s.value(0, g)
		if text := s.t[v.from:v.to]; userPair(text) || name == "_auth" && believable(text, v.quoted, namePass) {
			return s.mask(v, "auth")
		}
	case len(name) == 4 && name == "code" && g.tight && g.kind == '=':
		v := s.value(1, g)
		if looksRandom(s.t[v.from:v.to], 20) {
			return s.mask(v, "code")
		}
	case len(name) <= 2 && g.kind == ':' && jwkMember(name) && s.webKey():
		v := s.value(0, g)
		if v.quoted && v.to-v.from >= 20 && runOf(s.t[v.from:v.to], 'w') == v.to-v.from {
			return s.mask(v, "jwk")
		}
	case len(name) >= 6 && (strings.EqualFold(name, "phrase") || len(name) >= 8 && strings.EqualFold(name[len(name)-8:], "mnemonic")):
		if from, to := seedWords(s.t, g.at); to > 0 {
			s.f.add(from, to, "recovery-phrase")
			return to
		}
	case by == nameNone && (strings.EqualFold(name, "sig") || strings.EqualFold(name, "X-Amz-Signature") ||
		strings.EqualFold(name, "X-Goog-Signature") || name == "Signature"):
		v := s.value(1, g)
		if text := s.t[v.from:v.to]; g.tight && (looksHex(text, 32) || strings.Contains(text, "%2") || strings.Contains(text, "%3D") || looksRandom(text, 20)) {
			return s.mask(v, "signature")
		}
	}
	return 0
}

// byState judges a name that says nothing itself by what came before: the name field of a pair, a Secret manifest.
func (s *scanner) byState(name string, i int) (strength, string) {
	if s.next.name > nameWeak && strings.EqualFold(name, "value") {
		return s.next.name, "secret"
	}
	if s.prev.name > nameWeak && strings.EqualFold(name, "value") {
		return s.prev.name, "secret"
	}
	if s.prev.yaml == yamlData && i > 0 {
		return namePass, "secret"
	}
	return nameNone, ""
}

// userPair says whether v is base64 of user:password.
func userPair(v string) bool {
	if len(v) < 8 {
		return false
	}
	raw, err := base64.StdEncoding.DecodeString(v)
	if err != nil {
		if raw, err = base64.RawStdEncoding.DecodeString(v); err != nil {
			return false
		}
	}
	colon := false
	for _, c := range raw {
		if c < 0x20 || c > 0x7e {
			return false
		}
		colon = colon || c == ':'
	}
	return colon
}
