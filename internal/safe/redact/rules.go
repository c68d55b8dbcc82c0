package redact

import (
	"cmp"
	_ "embed"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// prefixTable is the data: one rule a line, five columns and the source of the rule. Its head explains the columns.
//
//go:embed prefixes.tsv
var prefixTable string

// rule is one token format: a prefix and how its tail looks.
type rule struct {
	prefix   string
	alphabet byte
	least    int // shortest tail, in bytes
	most     int // longest tail; 0 for no bound
	kind     string
	source   string
}

// ruleSet holds the rules by the first byte of their prefix, longest prefix first.
type ruleSet struct {
	first  [128][]rule
	second [128][2]uint64 // which second bytes occur
}

// rules reads the table once, when the first Masker is made.
var rules = sync.OnceValue(func() *ruleSet {
	set := &ruleSet{}
	for _, r := range parseRules(prefixTable) {
		set.first[r.prefix[0]&0x7f] = append(set.first[r.prefix[0]&0x7f], r)
		set.second[r.prefix[0]&0x7f][r.prefix[1]>>6&1] |= 1 << (r.prefix[1] & 63)
	}
	for i := range set.first {
		slices.SortFunc(set.first[i], func(a, b rule) int {
			return cmp.Or(cmp.Compare(len(b.prefix), len(a.prefix)), cmp.Compare(a.prefix, b.prefix))
		})
	}
	return set
})

// parseRules reads the table; a line that is not a rule is left out (a test refuses such a line).
func parseRules(table string) []rule {
	var out []rule
	for line := range strings.Lines(table) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 6 || f[0] == "" || strings.HasPrefix(f[0], "#") || len(f[1]) != 1 {
			continue
		}
		least, err := strconv.Atoi(f[2])
		most, err2 := strconv.Atoi(f[3])
		if err != nil || err2 != nil {
			continue
		}
		out = append(out, rule{f[0], f[1][0], least, most, f[4], f[5]})
	}
	return out
}

// inAlphabet says whether c may stand in the tail of a rule with that alphabet letter.
func inAlphabet(c, alphabet byte) bool {
	switch alphabet {
	case 'h':
		return isDigit(c) || c >= 'a' && c <= 'f'
	case 'x':
		return isHex(c) || c == '-'
	case 'a':
		return isAlnum(c)
	case 'u':
		return isUpper(c) || isDigit(c)
	case 'l':
		return isLower(c) || isDigit(c)
	case 'w':
		return isWord(c) || c == '-'
	case 'd':
		return isWord(c) || c == '-' || c == '.'
	case 'b':
		return base64Byte(c)
	case 'p':
		return base64Byte(c) || c == '%'
	case 'B':
		return base64Byte(c) || isWord(c) || strings.IndexByte("-.~:%,", c) >= 0
	}
	return false
}

// match returns the rule that fits the start of s and the length of the token.
// Prefixes shorter than least are left out.
func (set *ruleSet) match(s string, least int) (*rule, int, bool) {
	if len(s) < 14 || s[0] >= 128 || s[1] >= 128 || set.second[s[0]][s[1]>>6]&(1<<(s[1]&63)) == 0 {
		return nil, 0, false
	}
	bucket := set.first[s[0]]
	for i := range bucket {
		r := &bucket[i]
		if len(r.prefix) < least || len(s) < len(r.prefix)+r.least || s[1] != r.prefix[1] || !strings.HasPrefix(s, r.prefix) {
			continue
		}
		if n := r.tail(s[len(r.prefix):]); n > 0 {
			return r, len(r.prefix) + n, true
		}
	}
	return nil, 0, false
}

// tail returns how much of s is the tail of the rule's token; 0 when it is not one.
func (r *rule) tail(s string) int {
	n := runOf(s[:min(len(s), longestGuess)], r.alphabet)
	for n > 0 && (s[n-1] == '.' || s[n-1] == ':' || s[n-1] == ',') {
		n--
	}
	if n < r.least || r.most > 0 && n > r.most {
		return 0
	}
	if r.alphabet == 'p' && !strings.Contains(s[:n], "%") {
		return 0
	}
	c := count(s[:n])
	if c.distinct < 5 || c.digits == 0 && (c.upper < 2 || c.lower < 2) {
		return 0
	}
	if len(r.prefix) <= 3 && c.hex < n && (c.identifier(n) || c.changes*6 < min(n, 512)) {
		return 0
	}
	if len(r.prefix) == 2 && c.digits < 2 {
		return 0
	}
	if c.other > 0 && c.changes < 2 && c.digits < 4 {
		return 0 // words joined by hyphens
	}
	if n >= longestGuess-1 {
		n += runOf(s[n:], r.alphabet)
	}
	return n
}

// prefixOf returns the rule whose whole prefix stands at the start of s, whatever its tail.
func (set *ruleSet) prefixOf(s string) (*rule, bool) {
	if len(s) < 3 || s[0] >= 128 {
		return nil, false
	}
	bucket := set.first[s[0]]
	for i := range bucket {
		if r := &bucket[i]; strings.HasPrefix(s, r.prefix) && len(r.prefix) > 2 {
			return r, true
		}
	}
	return nil, false
}

// shape recognises tokens by their layout. The word is t[i:j]; the token may be longer.
func (set *ruleSet) shape(t string, i, j int) (end int, kind string) {
	w := t[i:j]
	if len(w) < 5 {
		if len(w) == 1 && isDigit(w[0]) {
			return dottedShape(t, i, j)
		}
		return 0, ""
	}
	switch c := w[0]; {
	case strings.HasPrefix(w, "eyJ"):
		return webToken(t, i)
	case isDigit(c):
		if n := leadingDigits(w); n >= 8 && n <= 10 && n == len(w) && strings.HasPrefix(t[j:], ":AA") {
			if end = j + 1 + runOf(t[j+1:], 'w'); end-j-1 >= 34 {
				return end, "telegram-token"
			}
		}
	case c == 'L' && strings.HasPrefix(w, "LS0tLS1CRUdJTi"):
		end = i + runOf(t[i:], 'b')
		head, _ := base64.StdEncoding.DecodeString(t[i:min(end, i+64)][:min(end-i, 64)/4*4])
		if strings.Contains(string(head), "PRIVATE KEY") {
			return end, keyKind
		}
		return 0, ""
	}
	if kind = wordShape(w); kind != "" {
		return j, kind
	}
	if end, kind = dottedShape(t, i, j); end > 0 {
		return end, kind
	}
	if tail := namedToken(w); tail > 0 {
		return i + tail + runOf(t[i+tail:], 'w'), "token"
	}
	return 0, ""
}

func leadingDigits(s string) int {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

// runOf returns the length of the run of that alphabet at the start of s.
func runOf(s string, alphabet byte) int {
	n := 0
	for n < len(s) && inAlphabet(s[n], alphabet) {
		n++
	}
	return n
}

// webToken recognises a JSON web token (RFC 7519) or encrypted one: base64url parts, the first two at least.
func webToken(t string, i int) (end int, kind string) {
	end = i
	for part := range 5 {
		n := runOf(t[end:], 'w')
		if part == 0 && n < 12 || part == 1 && n < 8 {
			return 0, ""
		}
		end += n
		if end+1 >= len(t) || t[end] != '.' || part == 4 || !isWord(t[end+1]) && t[end+1] != '-' && t[end+1] != '.' {
			break
		}
		if part == 0 && !strings.HasPrefix(t[end+1:], "eyJ") && runOf(t[end+1:], 'w') < 16 {
			return 0, ""
		}
		end++
	}
	if !strings.Contains(t[i:end], ".") {
		return 0, ""
	}
	return end, "jwt"
}

// wordShape recognises tokens that are one word of a fixed layout.
func wordShape(w string) string {
	switch {
	case len(w) == 40 && strings.HasSuffix(w, "NRAL") && count(w[:32]).hex >= 30:
		return "newrelic-key"
	case len(w) > 35 && len(w) <= 37 && strings.HasPrefix(w[32:], "-us") && digitsOnly(w[35:]) && runOf(w, 'h') == 32:
		return "mailchimp-key"
	case len(w) == 50 && runOf(w, 'x') == 50 && w[32] == '-' && w[41] == '-':
		return "mailgun-key"
	case len(w) == 50 && w[10:13] == "msh" && strings.Contains(w, "jsn"):
		return "rapidapi-key"
	}
	return ""
}

// dottedShape recognises tokens of several words with dots or tildes between.
func dottedShape(t string, i, j int) (end int, kind string) {
	n := j - i
	if j >= len(t) {
		return 0, ""
	}
	switch {
	case t[j] == '.' && n >= 23 && n <= 28 && strings.IndexByte("MNO", t[i]) >= 0:
		a := runOf(t[j+1:], 'w')
		b := j + 2 + a
		if a >= 5 && a <= 7 && b < len(t) && t[b-1] == '.' && runOf(t[b:], 'w') >= 27 {
			return b + runOf(t[b:], 'w'), "discord-token"
		}
	case t[j] == '.' && n >= 12 && n <= 20 && strings.HasPrefix(t[j:], ".atlasv1."):
		if m := runOf(t[j+9:], 'w'); m >= 40 {
			return j + 9 + m, "terraform-token"
		}
	case t[j] == ':' && n == 11 && strings.HasPrefix(t[i:], "AAAA") && strings.HasPrefix(t[j:], ":APA91b"):
		return j + 1 + runOf(t[j+1:], 'w'), "firebase-key"
	case t[j] == '.' && n == 17 && strings.HasPrefix(t[i:], "pat") && runOf(t[j+1:], 'h') >= 60:
		return j + 1 + runOf(t[j+1:], 'h'), "airtable-token"
	case t[j] == '~' && n >= 5 && t[j-1] == 'Q' && isDigit(t[j-2]):
		k := j
		for k < len(t) && (isWord(t[k]) || strings.IndexByte("-.~", t[k]) >= 0) {
			k++
		}
		if k-j >= 28 {
			return k, "azure-secret"
		}
	case t[j] == '/' && n == 1 && isDigit(t[i]):
		d := leadingDigits(t[j+1:])
		if k := j + 1 + d; d >= 13 && k < len(t) && t[k] == ':' && runOf(t[k+1:], 'h') >= 32 {
			return k + 1 + runOf(t[k+1:], 'h'), "asana-token"
		}
	}
	return 0, ""
}

// namedToken recognises tokens of services that are not in the table by the way such tokens are built today: a short
// prefix of lower-case words, one of which says key or token or the environment, and a random tail (acme_live_...).
// It returns where in w the tail begins, or 0.
func namedToken(w string) int {
	telling := false
	start := 0
	for i := 0; i < len(w) && i < 40; i++ {
		if w[i] != '_' && w[i] != '-' {
			continue
		}
		segment := w[start:i]
		if len(segment) > 12 || publicWord(segment) || count(segment).upper > 0 && !telling {
			break
		}
		telling = telling || tellingWord(segment)
		start = i + 1
		tail := w[start:]
		c := count(tail)
		n := min(len(tail), 512)
		switch {
		case len(tail) < 20:
			return 0
		case c.digits < 2 || c.other*8 > n || c.run > 8:
		case telling && c.changes*4 >= n && (c.upper > 0 || c.hex < n || len(tail) >= 32):
			return start
		case i >= 2 && i <= 10 && start == i+1 && c.other == 0 && len(tail) >= 36 && c.digits >= 3 && c.upper >= 4 &&
			c.lower >= 4 && c.changes*3 >= n && !idPrefix(segment) && singleSegment(w[:i]):
			return start
		}
	}
	return 0
}

func singleSegment(s string) bool {
	for i := range len(s) {
		if s[i] == '_' || s[i] == '-' {
			return false
		}
	}
	return true
}

// tellingWord is a part of a prefix that names what the token is for.
func tellingWord(w string) bool {
	switch w {
	case "sk", "rk", "pat", "api", "key", "apikey", "token", "tok", "tkn", "secret", "sec", "live", "prod", "auth", "oauth",
		"sat", "pw", "srv", "svc", "admin", "access", "refresh", "personal", "private", "priv", "service", "bot", "webhook",
		"whsec", "rt", "at", "ak", "cli", "agent", "deploy", "runner", "uat", "aat", "client":
		return true
	}
	return len(w) > 3 && len(w) <= 10 && (ends(w, "key") || ends(w, "token") || ends(w, "secret") || ends(w, "pat"))
}

// publicWord is a part of a prefix of tokens that are meant to be seen.
func publicWord(w string) bool {
	switch w {
	case "pk", "pub", "public", "publishable", "id", "ids", "hash", "sha", "sha1", "sha256", "sha512", "md5", "digest",
		"etag", "commit", "cache", "build", "chunk", "index", "main", "style", "job", "run", "session", "trace", "req",
		"request", "span", "event", "node", "pod", "image", "layer", "file", "test", "tests", "font", "asset", "vendor":
		return true
	}
	return false
}

// idPrefix words begin the ids that agents and services print all day.
func idPrefix(w string) bool {
	if len(w) > 3 && w[:3] == "sha" {
		return true
	}
	switch w {
	case "chatcmpl", "resp", "msg", "call", "file", "asst", "thread", "run", "toolu", "req", "item", "rs", "fc", "cus", "pi",
		"price", "ses", "step", "batch", "vs", "org", "proj", "user", "evt", "ws", "cmpl", "gen", "task", "job", "part",
		"prt", "rollout", "sub", "in", "ch", "acct", "prod", "cs", "seti", "pm", "tx", "h1", "chunk":
		return true
	}
	return publicWord(w)
}
