package redact

import "strings"

// value is one value beside a name: t[from:to] without its quotes.
type value struct {
	from, to int
	quoted   bool
	end      int // where to go on: behind the closing quote
}

// longestGuess bounds how much of a value is looked at to decide about it, in bytes.
const longestGuess = 256

// bareStep is how much of an unquoted value is measured before it is judged, in bytes.
const bareStep = 96

// openQuote measures what opens a string at the start of s: a quote with the backslashes before it, a language's
// string letters, or the quote as an entity. level is the number of backslashes.
func openQuote(s string) (n int, quote byte, level int) {
	if n := quoteEntity(s); n > 0 {
		return n, '&', 0
	}
	i := 0
	for i < 2 && i+1 < len(s) && strings.IndexByte("brfuBRFU@$L", s[i]) >= 0 && quoteByte(s[i+1]) {
		i++
	}
	for i < len(s) && s[i] == '\\' && i < 8 {
		i, level = i+1, level+1
	}
	if i >= len(s) || !quoteByte(s[i]) {
		return 0, 0, 0
	}
	quote = s[i]
	for i < len(s) && s[i] == quote && level == 0 {
		i++
		n++
		if n == 3 {
			break
		}
	}
	if n == 2 { // empty string
		return i - 1, quote, 0
	}
	if level > 0 {
		i++
	}
	return i, quote, level
}

// quoteEntity returns the length of a quote written as an entity or escape at the start of s, or 0.
func quoteEntity(s string) int {
	if s == "" || s[0] != '&' && s[0] != '\\' && s[0] != '%' {
		return 0
	}
	for _, e := range []string{"&quot;", "&#34;", "&#39;", `\u0022`, "%22"} {
		if strings.HasPrefix(s, e) {
			return len(e)
		}
	}
	return 0
}

func quoteByte(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// quotedEnd returns the length of the string text at the start of s and of what closes it.
func quotedEnd(s string, quote byte, level int) (n, closing int) {
	slashes := 0
	for i := range len(s) {
		c := s[i]
		switch {
		case quote == '&' && (c == '&' || c == '\\' || c == '%' || c == '<' || c == ' '):
			return i, 0
		case c == quote && slashes <= level:
			return i - slashes, slashes + 1
		case c == quote && level > 0 && slashes < level:
			return i - slashes, slashes + 1
		}
		if c == '\\' {
			slashes++
		} else {
			slashes = 0
		}
	}
	return len(s), 0
}

// bareEnd returns the length of an unquoted value. In an address it ends at &; elsewhere a separator ends it only
// when another name=value follows or nothing does.
func bareEnd(s string, inURL bool) int {
	n := 0
loop:
	for n < len(s) && n < bareStep {
		switch c := s[n]; c {
		case ' ', '\t', '"', '\'', '`', '\\', '<', '\r':
			break loop
		case '&', '#', ';', ',', '|':
			if inURL && c != ',' && c != '|' || n > 0 && pairFollows(s[n+1:]) {
				break loop
			}
		case '%':
			if strings.HasPrefix(s[n:], "%26") || strings.HasPrefix(s[n:], "%22") {
				break loop
			}
		case '[':
			if markAt(s[n:]) > 0 {
				break loop
			}
		case 0xe2:
			if strings.HasPrefix(s[n:], "│") {
				break loop
			}
		}
		n++
	}
	return len(strings.TrimRight(s[:n], ",;)]}|:."))
}

// pairFollows says whether s goes on with a name and an equals sign, or an entity or colon that ends a value.
func pairFollows(s string) bool {
	i := 0
	for i < len(s) && i < 40 && (isWord(s[i]) || s[i] == '-' || s[i] == '.' || s[i] == ' ') {
		i++
	}
	return i > 0 && i < len(s) && (s[i] == '=' || s[i] == ':' || s[i] == ';') || strings.HasPrefix(s, `"`)
}

// believable says whether v, beside a name of that strength, is a secret.
func believable(v string, quoted bool, by strength) bool {
	if len(v) > longestGuess {
		v = v[:longestGuess]
	}
	if len(v) < 6 || placeholder(v) || strings.Contains(v, "://") || strings.Contains(v, markOpen) {
		return false
	}
	c := count(v)
	if strings.ContainsAny(v, " \t") || c.distinct < 4 {
		return false
	}
	if by == nameWeak {
		return looksRandom(v, 20) && !publicKey(v)
	}
	if !quoted && code(v) || measure(v) || filePath(v, c) {
		return false
	}
	if by == namePass {
		return len(v) >= 6 && passwordLike(v, c, quoted)
	}
	return len(v) >= 8 && tokenLike(v, c)
}

// publicKey says whether v begins as a DER public key or certificate does.
func publicKey(v string) bool {
	for _, p := range []string{"MFkwEwYHKoZI", "MIIBIjANBgkq", "MIICIjANBgkq", "MCowBQYDK2Vw", "AAAAB3NzaC1y", "AAAAC3NzaC1l", "MIGfMA0GCSqG"} {
		if strings.HasPrefix(v, p) {
			return true
		}
	}
	return false
}

// passwordLike accepts values with a digit or a sign beside letters.
func passwordLike(v string, c counts, quoted bool) bool {
	letters := c.lower + c.upper
	switch {
	case c.digits == len(v):
		return len(v) >= 8
	case c.digits == 0 && c.other == 0 && c.identifier(len(v)):
		return false
	case letters == 0:
		return c.digits > 0 && len(v) >= 8
	case c.digits > 0:
		return true
	case strings.ContainsAny(v, "!@#$%^&*+=~?"):
		return quoted && len(v) >= 8 || len(v) >= 10
	}
	return c.lower >= 3 && c.upper >= 3 && c.changes*6 >= len(v) && c.run <= 5 && len(v) >= 10
}

// tokenLike accepts values that mix classes the way random text does.
func tokenLike(v string, c counts) bool {
	letters := c.lower + c.upper
	switch {
	case c.digits == len(v) || letters == 0:
		return len(v) >= 24 && c.digits < len(v)
	case c.hex == len(v) && len(v) >= 16:
		return c.digits >= 2
	case c.identifier(len(v)) && (c.other == 0 || !strings.ContainsAny(v, "!@#$%^&*+=~?")):
		return false
	case strings.HasPrefix(v, "sha256") || strings.HasPrefix(v, "sha512") || strings.HasPrefix(v, "sha1-"):
		return false
	case c.digits == 0:
		return len(v) >= 16 && c.upper >= 3 && c.lower >= 3 && c.changes*4 >= len(v)
	case c.digits < 2 && (c.upper == 0 && len(v) < 20 || len(v) < 16):
		return false
	}
	return c.changes >= 3 || c.changes >= 2 && c.digits >= 3 && c.upper > 0 && c.lower > 0 && len(v) >= 10
}

// looksRandom accepts only values that could hardly be anything but random: three classes, changing often.
func looksRandom(v string, least int) bool {
	if len(v) < least || len(v) > 4096 {
		return false
	}
	for i := range len(v) {
		if !tokenByte(v[i]) {
			return false
		}
	}
	c := count(v)
	n := min(len(v), 512)
	return c.digits >= 2 && c.upper >= 2 && c.lower >= 2 && c.changes*4 >= n && c.run <= 8 && c.other*6 <= n+6 &&
		!strings.HasPrefix(v, "sha") && !strings.HasPrefix(v, "h1:")
}

// looksHex says whether v is lower- or upper-case hexadecimal of at least that length with digits and letters.
func looksHex(v string, least int) bool {
	c := count(v)
	return len(v) >= least && c.hex == len(v) && c.digits > 1 && c.digits < len(v)
}

// placeholder says whether v stands for a value: a variable, a template, a mask, an ellipsis, a pattern, one repeated sign.
func placeholder(v string) bool {
	if v == "" {
		return true
	}
	switch v[0] {
	case '<', '{', '*', '[':
		return true
	case '!':
		return len(v) > 1 && code(v[1:])
	case '$':
		return variable(v[1:])
	case '&':
		return strings.HasPrefix(v, "&lt;")
	case '%':
		return len(v) < 3 || v[1] == '(' || v[1] == 's' || v[1] == 'v' || ends(v, "%")
	case '@':
		return len(v) > 1 && (v[1] == '{' || v[1] == '[')
	case '#':
		return len(v) > 1 && v[1] == '{'
	}
	if strings.Contains(v, "...") || strings.Contains(v, "…") || strings.Contains(v, "{{") || strings.Contains(v, "***") ||
		substituted(v, "${", '}') || substituted(v, "$(", ')') || strings.Contains(v, "(?") || strings.Contains(v, "[0-9") ||
		strings.Contains(v, "[a-z") || strings.Contains(v, "[A-Z") || strings.Contains(v, "[^") {
		return true
	}
	return count(v).distinct <= 2
}

// variable says whether rest, behind a $, is a reference: a name that ends there or goes on as a path or index.
func variable(rest string) bool {
	if rest == "" || rest[0] == '{' || rest[0] == '(' || rest[0] == '$' {
		return true
	}
	n := 0
	for n < len(rest) && isWord(rest[n]) {
		n++
	}
	return n > 0 && !isDigit(rest[0]) && identifier(rest[:n]) && (n == len(rest) || strings.IndexByte(":@/.,;)\"'-[{", rest[n]) >= 0)
}

// substituted says whether v holds a reference like ${NAME} or $(command).
func substituted(v, open string, closing byte) bool {
	k := strings.Index(v, open)
	if k < 0 {
		return false
	}
	k += len(open)
	return k < len(v) && isWord(v[k]) && strings.IndexByte(v[k:], closing) > 0
}

// identifier says whether v is one word of a program.
func identifier(v string) bool {
	for i := range len(v) {
		if !isWord(v[i]) && v[i] != '.' {
			return false
		}
	}
	c := count(v)
	return c.digits < 3 || c.changes < 4
}

// code says whether an unquoted v is an expression: a call, a path of names, a type, a constant.
func code(v string) bool {
	n := 0
	for n < len(v) && (isWord(v[n]) || v[n] == '.') {
		n++
	}
	switch {
	case n == len(v) && count(v).lower == 0 && strings.Count(v, "_") >= 2:
		return true
	case n > 1 && n < len(v) && !isDigit(v[0]) && (v[n] == '(' && (n < 24 || strings.Contains(v[:n], ".")) || v[n] == '-' && strings.HasPrefix(v[n:], "->")):
		return true
	case strings.ContainsAny(v, "(){}[]<>") && !strings.ContainsAny(v, "!@#$%^&*"):
		return true
	case strings.Contains(v, "::"), v[0] == '&', v[0] == '*', v[0] == '(':
		return true
	case !strings.ContainsAny(v, ".>?"), isDigit(v[0]):
		return false
	}
	parts := 0
	for more := true; more; { // not SplitSeq, whose closure would put every scan on the heap
		var part string
		part, v, more = strings.Cut(v, ".")
		if part == "" || isDigit(part[0]) {
			return false
		}
		if c := count(part); strings.Count(part, "_") < 2 &&
			(!identifier(strings.TrimRight(part, "!?,;")) || len(part) > 32 || c.digits >= 2 && c.changes >= 4) {
			return false
		}
		parts++
	}
	return parts > 1
}

// measure says whether v is a number with a unit, a version, a date, an address or another everyday value.
func measure(v string) bool {
	c := count(v)
	if c.lower+c.upper+c.other == 0 {
		return len(v) < 8
	}
	if h := strings.TrimPrefix(v, "-"); strings.HasPrefix(h, "0x") && len(h) <= 18 {
		return true
	}
	if !isDigit(v[0]) && !(v[0] == 'v' && len(v) > 1 && isDigit(v[1])) {
		return false
	}
	return c.lower+c.upper <= 3 && c.digits+c.other >= len(v)-3 && (c.other > 0 || c.digits <= 6) && c.changes <= 3
}

// filePath says whether v names a file rather than being base64 with slashes.
func filePath(v string, c counts) bool {
	if !strings.ContainsAny(v, `/\`) && !strings.HasPrefix(v, "~") || strings.HasSuffix(v, "=") {
		return false
	}
	mixed := c.digits >= 2 && c.upper >= 2 && c.lower >= 2 && len(v) >= 16
	if strings.HasPrefix(v, "/") || strings.HasPrefix(v, ".") || strings.HasPrefix(v, "~/") || len(v) > 2 && v[1] == ':' {
		return !(mixed && c.changes*6 >= len(v) && c.run <= 8)
	}
	return !mixed && (c.run >= 3 || len(v) < 16)
}
