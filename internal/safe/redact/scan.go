package redact

import (
	"cmp"
	"slices"
	"strings"
)

// scanner walks one line once. At each word it asks, in this order: is this a token by itself (rules), is it a name
// with a value beside it (name.go, value.go), is it a flag, scheme or header that announces one (announce.go).
type scanner struct {
	t     string
	f     *finding
	rules *ruleSet
	prev  context
	next  *context
	noEnd int // cached search for the END of a key block
	// listEnd is how far the parameters of a cookie or authorization header were looked at; kty caches whether the line
	// holds a JSON Web Key (1 yes, 2 no). Both keep the scan linear.
	listEnd int
	kty     int
}

// scan adds the credentials of t to f. prev is what the line before said, next what this one says to the following.
func scan(rules *ruleSet, t string, f *finding, prev context, next *context) {
	s := scanner{t: t, f: f, rules: rules, prev: prev, next: next, noEnd: -1}
	s.manifest()
	for i := 0; i < len(t); {
		switch c := t[i]; {
		case isWord(c):
			i = s.word(i)
		case c == '-' && strings.HasPrefix(t[i:], "----"):
			i = s.armour(i)
		case c == ':' && strings.HasPrefix(t[i:], "://"):
			i = s.url(i)
		case c == '@' && i > 0:
			i = s.dsn(i)
		case c == '[':
			i += max(1, markAt(t[i:]))
		case c == '%' && i+2 < len(t) && isHex(t[i+1]) && isHex(t[i+2]):
			i += 3
		case c == '\\':
			i += escapeLen(t[i:])
		default:
			i++
		}
	}
}

// escapeLen is the length of a backslash escape that stands for one character between words.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch s[1] {
	case 'n', 'r', 't', '"', '\'', '\\':
		return 2
	case 'u':
		if len(s) >= 6 && s[2] == '0' && s[3] == '0' {
			return 6
		}
	}
	return 1
}

// word handles the word that starts at i and returns where to go on.
func (s *scanner) word(i int) int {
	if end, kind := s.token(i, 2); end > 0 && !insideBlob(s.t, i) {
		s.f.add(i, end, kind)
		return end
	}
	j := i
	for j < len(s.t) && (isWord(s.t[j]) || s.t[j] == '-' && j+1 < len(s.t) && isWord(s.t[j+1])) {
		j++
		if s.t[j-1] == '-' {
			if end, kind := s.token(j, 4); end > 0 {
				s.f.add(j, end, kind)
				return end
			}
		}
	}
	if end, kind := s.rules.shape(s.t, i, j); end > 0 {
		s.f.add(i, end, kind)
		return end
	}
	if end := s.announced(i, j); end > 0 {
		return end
	}
	return max(j, s.named(i, j))
}

// insideBlob says whether i follows a slash or plus inside a long run of base64, where any prefix occurs by chance.
func insideBlob(t string, i int) bool {
	if i == 0 || t[i-1] != '/' && t[i-1] != '+' {
		return false
	}
	k := i
	for k > 0 && i-k < 64 && base64Byte(t[k-1]) {
		k--
	}
	c := count(t[k:i])
	return i-k >= 32 && c.words*4 < i-k && c.upper > 2 && c.lower > 2
}

// token matches a rule at i; prefixes shorter than least do not count.
func (s *scanner) token(i, least int) (end int, kind string) {
	r, n, ok := s.rules.match(s.t[i:], least)
	if !ok {
		return 0, ""
	}
	return i + n, r.kind
}

// url handles "://" at i: the password or token before the @, and addresses that are secret as a whole.
func (s *scanner) url(i int) int {
	t := s.t
	from := i + len("://")
	if n := webhook(t[from:]); n > 0 {
		end := from + n
		for end < len(t) && (tokenByte(t[end]) && t[end] != '=' || t[end] == ':' || t[end] == '@') {
			end++
		}
		if end-from-n >= 8 {
			s.f.add(from+n, end, "webhook")
			return end
		}
	}
	at, colon := authority(t[from:])
	if at <= 0 {
		return from
	}
	end := from + at
	if colon < 0 { // one word before the @: a user, or a token
		if v := t[from:end]; looksRandom(v, 16) || looksHex(v, 24) {
			s.f.add(from, end, "url-token")
			return end
		}
		return from
	}
	pass := t[from+colon+1 : end]
	if user := t[from : from+colon]; looksRandom(user, 16) || looksHex(user, 24) {
		s.f.add(from, from+colon, "url-token")
	} else if _, n, ok := s.rules.match(user, 2); ok && n == len(user) {
		s.f.add(from, from+colon, "url-token")
	}
	if len(pass) < 3 || placeholder(pass) || strings.Contains(pass, markOpen) {
		return from
	}
	s.f.add(from+colon+1, end, "url-password")
	for k := from; k < from+colon; { // the user may be a token as well
		if isWord(t[k]) {
			k = s.word(k)
		} else {
			k++
		}
		end = max(end, k)
	}
	return end
}

// dsn handles @ at i: user:password@tcp(host) of Go's MySQL drivers and user/password@ of Oracle's.
func (s *scanner) dsn(i int) int {
	t := s.t
	if t[i-1] == ']' {
		return i + 1
	}
	sep := byte(':')
	rest := t[i+1:]
	switch {
	case strings.HasPrefix(rest, "tcp("), strings.HasPrefix(rest, "unix("), strings.HasPrefix(rest, "udp("):
	case strings.Contains(t[max(0, i-120):i], "jdbc:oracle:"):
		sep = '/'
	default:
		return i + 1
	}
	for k := i - 1; k >= 0 && i-k < 120; k-- {
		switch c := t[k]; {
		case c == sep:
			if pass := t[k+1 : i]; len(pass) >= 3 && !placeholder(pass) && !strings.Contains(pass, markOpen) {
				s.f.add(k+1, i, "url-password")
			}
			return i + 1
		case c == ' ' || quoteByte(c):
			return i + 1
		}
	}
	return i + 1
}

// authority finds the @ that ends the user part of an address, and the colon in that part; -1 for none.
func authority(s string) (at, colon int) {
	at, colon = -1, -1
	slash := -1
	for i := 0; i < len(s) && i < 1024; i++ {
		switch c := s[i]; c {
		case ' ', '\t', '"', '\'', '`', '<', '>', '\\', '|', '(', ')':
			return at, colon
		case '@':
			if slash < 0 || at < 0 && colon >= 0 && colon < slash && !digitsOnly(s[colon+1:slash]) {
				at = i
			}
		case ':':
			if colon < 0 && slash < 0 && at < 0 {
				colon = i
			}
		case '/', '?', '#':
			if slash < 0 {
				slash = i
			}
			if at >= 0 {
				return at, colon
			}
		case '[':
			if n := markAt(s[i:]); n > 0 {
				i += n - 1
			}
		}
	}
	return at, colon
}

// webhook returns the length of the readable beginning of an address whose path is the secret, or 0.
func webhook(s string) int {
	for _, p := range []string{
		"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/",
		"outlook.office.com/webhook/", "hooks.zapier.com/hooks/catch/", "hook.eu1.make.com/", "hook.us1.make.com/",
		"discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "canary.discord.com/api/webhooks/",
		"ptb.discord.com/api/webhooks/", "open.feishu.cn/open-apis/bot/v2/hook/",
		"open.larksuite.com/open-apis/bot/v2/hook/", "hc-ping.com/", "webhook.site/", "maker.ifttt.com/trigger/",
		"hooks.airtable.com/workflows/", "events.pagerduty.com/integration/", "ntfy.sh/", "api.telegram.org/bot",
	} {
		if len(s) > len(p) && strings.EqualFold(s[:len(p)], p) {
			if strings.Contains(p, "discord") {
				return len(p) + skipDigits(s[len(p):])
			}
			return len(p)
		}
	}
	host, path, ok := strings.Cut(s[:min(len(s), 300)], "/")
	if ok && strings.HasSuffix(host, ".webhook.office.com") && strings.HasPrefix(path, "webhookb2/") {
		return len(host) + 1 + len("webhookb2/")
	}
	if ok && strings.HasSuffix(host, ".logic.azure.com") {
		return 0 // the signature parameter is the secret
	}
	return 0
}

// skipDigits returns the length of a number and a slash at the start of s.
func skipDigits(s string) int {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i < len(s) && s[i] == '/' {
		return i + 1
	}
	return 0
}

// finding is what the scan of one line found.
type finding struct {
	spans []span
	// tail is where a value begins that a name announced and that reaches the end of the line unmasked, or 0.
	tail int
	// end says that the line ends a private key that it did not begin.
	end bool
}

func (f *finding) add(from, to int, kind string) {
	if to > from {
		f.spans = append(f.spans, span{from, to, kind})
	}
}

// settle sorts the spans and merges those that overlap; the one that begins first names the kind.
func (f *finding) settle() {
	if len(f.spans) < 2 {
		return
	}
	slices.SortFunc(f.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(a.kind, b.kind))
	})
	out := f.spans[:1]
	for _, s := range f.spans[1:] {
		if last := &out[len(out)-1]; s.from < last.to {
			last.to = max(last.to, s.to)
			continue
		}
		out = append(out, s)
	}
	f.spans = out
}

// open says whether the last token of text[:to] may go on in the next row: it is masked up to there, or it is the
// beginning of something that would be.
func (f *finding) open(r *ruleSet, text string, to int) bool {
	if n := len(f.spans); n > 0 && f.spans[n-1].to == to {
		return true
	}
	if f.tail > 0 && to > f.tail {
		return true
	}
	_, ok := partial(r, text[:to])
	return ok
}

// partial returns where a known prefix begins that the end of text cuts off before its value is long enough.
func partial(r *ruleSet, text string) (int, bool) {
	from := len(text)
	for from > 0 && len(text)-from < 600 && tokenByte(text[from-1]) && text[from-1] != '=' && text[from-1] != '/' {
		from--
	}
	if from == len(text) || from > 0 && isAlnum(text[from-1]) {
		return 0, false
	}
	rule, ok := r.prefixOf(text[from:])
	return from, ok && len(text)-from >= len(rule.prefix)+1
}

// addPartial masks a token that the end of the text cut off, so that no beginning of one is left: a known prefix with
// at least 4 further characters that look random, 8 in all.
func (f *finding) addPartial(r *ruleSet, text string) {
	from, ok := partial(r, text)
	if !ok {
		return
	}
	rule, _ := r.prefixOf(text[from:])
	tail := text[from+len(rule.prefix):]
	c := count(tail)
	if runOf(tail, rule.alphabet) < len(tail) || c.identifier(len(tail)) && c.digits == 0 {
		return
	}
	if len(text)-from >= 8 && len(tail) >= 4 && (c.digits > 0 || c.upper > 0 && c.lower > 0 || len(tail) >= 12) &&
		!strings.HasPrefix(tail, "-") {
		f.add(from, len(text), rule.kind)
	}
}
