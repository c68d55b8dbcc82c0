package redact

import "strings"

// announced handles words that announce a value by themselves: the schemes of an Authorization header anywhere, and
// one-letter flags of well-known commands. It returns where to go on, or 0.
func (s *scanner) announced(i, j int) int {
	t := s.t
	n := j - i
	if i > 0 && t[i-1] == '-' && (n <= 12 || i > 1 && t[i-2] == ' ') {
		if end := s.shortFlag(i, j); end > 0 {
			return end
		}
	}
	if j >= len(t) || t[j] != ' ' {
		return 0
	}
	w := t[i:j]
	switch {
	case n == 6 && strings.EqualFold(w, "bearer"), n == 9 && strings.EqualFold(w, "negotiate"),
		n == 4 && (strings.EqualFold(w, "ntlm") || strings.EqualFold(w, "ssws")):
		from := skipBlanks(t, j)
		v := t[from : from+bareEnd(t[from:], false)]
		if k := strings.IndexAny(v, ",;"); k >= 0 {
			v = v[:k]
		}
		if !placeholder(v) && !strings.Contains(v, "=\"") && (tokenLikeHeader(v) || len(v) >= 16 && looksRandom(v, 16)) {
			return s.mask(value{from: from, to: from + len(v), end: from + len(v)}, "bearer")
		}
	case w == "echo" || w == "printf":
		if rest := t[j:min(len(t), j+400)]; strings.Contains(rest, "stdin") && strings.Contains(rest, "|") {
			v := s.value(0, gap{kind: '=', at: skipBlanks(t, j)})
			if text := t[v.from:v.to]; looksRandom(text, 12) || looksHex(text, 24) {
				return s.mask(v, "password")
			}
		}
	case n == 5 && strings.EqualFold(w, "basic"):
		from := skipBlanks(t, j)
		if v := t[from : from+runOf(t[from:], 'b')]; userPair(v) {
			s.f.add(from, from+len(v), "basic-auth")
			return from + len(v)
		}
	}
	return 0
}

// tokenLikeHeader accepts what follows a scheme when it mixes letters and digits.
func tokenLikeHeader(v string) bool {
	return len(v) >= 10 && runOf(v, 'B') == len(v) && tokenLike(v, count(v)) && !code(v)
}

func skipBlanks(t string, i int) int {
	for i < len(t) && (t[i] == ' ' || t[i] == '\t') {
		i++
	}
	return i
}

// authorization handles the value of such a header: a scheme and credentials, or credentials alone.
func (s *scanner) authorization(g gap) int {
	t := s.t
	v := s.value(0, gap{kind: ':', at: g.at})
	from := v.from
	if !v.quoted {
		from = g.at
	}
	scheme := from
	for scheme < len(t) && (isWord(t[scheme]) || t[scheme] == '-') {
		scheme++
	}
	if scheme < len(t) && t[scheme] == ' ' && scheme-from <= 24 {
		from = skipBlanks(t, scheme)
		if strings.HasPrefix(t[from:], "Credential=") || strings.Contains(t[from:min(len(t), from+200)], "=\"") {
			return s.authParams(from)
		}
	}
	if rest := t[from:min(len(t), from+40)]; strings.HasPrefix(rest, "Credential=") || strings.HasPrefix(rest, "username=") {
		return s.authParams(from)
	}
	end := from
	for end < len(t) && (tokenByte(t[end]) || t[end] == ':') {
		end++
	}
	end = from + len(strings.TrimRight(t[from:end], ".:"))
	if v := t[from:end]; len(v) >= 8 && !placeholder(v) && (userPair(v) || tokenLikeHeader(v) || looksHex(v, 16)) {
		s.f.add(from, end, "authorization")
		return end
	}
	return 0
}

// authParams masks the response and signature parameters of Digest, OAuth 1 and AWS headers.
func (s *scanner) authParams(from int) int {
	t := s.t
	end := 0
	for i := max(from, s.listEnd); i < len(t); i++ {
		s.listEnd = i
		if t[i] != '=' {
			continue
		}
		k := i
		for k > from && (isWord(t[k-1]) || t[k-1] == '-') {
			k--
		}
		name := t[k:i]
		if !strings.EqualFold(name, "response") && !ends(strings.ToLower(name), "signature") && !ends(name, "token") {
			continue
		}
		v := s.value(k, gap{kind: '=', at: i + 1, tight: true})
		if v.to-v.from >= 16 && !strings.Contains(t[v.from:v.to], markOpen) {
			end = s.mask(v, "signature")
			i = max(i, end-1)
		}
	}
	return end
}

func cookieHeader(name string) bool {
	return len(name) == 6 && strings.EqualFold(name, "cookie") || len(name) == 10 && strings.EqualFold(name, "set-cookie")
}

// cookies masks the values of cookies that carry a session, by name or by looks.
func (s *scanner) cookies(g gap) int {
	t := s.t
	if g.at < s.listEnd {
		return 0 // part of a list that was looked at
	}
	if n, _, _ := openQuote(t[g.at:]); n > 0 {
		g.at += n
	}
	end := 0
	for i := g.at; i < len(t); {
		s.listEnd = i
		for i < len(t) && (t[i] == ' ' || t[i] == ';' || t[i] == ',') {
			i++
		}
		k := i
		for k < len(t) && (isWord(t[k]) || strings.IndexByte("-.$:%", t[k]) >= 0) {
			k++
		}
		if k >= len(t) || t[k] != '=' {
			if k < len(t) && t[k] == ';' {
				i = k
				continue
			}
			break
		}
		v := k + 1
		e := v
		for e < len(t) && strings.IndexByte("; \"'`\\\t<>", t[e]) < 0 {
			e++
		}
		if text := t[v:e]; !placeholder(text) && !strings.Contains(text, markOpen) &&
			(sessionCookie(t[i:k]) && len(text) >= 8 && count(text).digits > 0 || looksRandom(text, 20) || looksHex(text, 32)) {
			s.f.add(v, e, "cookie")
			end = e
		}
		i = max(e, i+1)
	}
	return end
}

// sessionCookie says whether a cookie of that name identifies someone.
func sessionCookie(name string) bool {
	var p nameParts
	p.split(name)
	flat := string(p.buf[:min(32, p.ends[max(0, p.n-1)])])
	for _, w := range []string{"sess", "sid", "auth", "token", "jwt", "login", "remember", "csrf", "xsrf", "identity", "key"} {
		if strings.Contains(flat, w) {
			return true
		}
	}
	return false
}

// shortFlag handles one-letter flags whose value is a password, by command: curl -u user:pass, mysql -ppass,
// sshpass -p pass, redis-cli -a pass, ldapsearch -w pass.
func (s *scanner) shortFlag(i, j int) int {
	t := s.t
	if i == 0 || t[i-1] != '-' {
		return 0
	}
	dash := i - 1
	long := dash > 0 && t[dash-1] == '-'
	word := t[i:j]
	if !long && dash > 0 && t[dash-1] != ' ' && t[dash-1] != '"' && t[dash-1] != '\'' {
		return 0
	}
	cmd := t[max(0, dash-nearby):dash]
	switch {
	case !long && word == "u" || long && (word == "user" || word == "proxy-user" || word == "creds"), !long && word == "U":
		return s.userFlag(j)
	case long:
		return 0
	case word == "p" && (strings.Contains(cmd, "sshpass") || strings.Contains(cmd, "login") || strings.Contains(cmd, "mongo")),
		word == "a" && strings.Contains(cmd, "redis-cli"), word == "N" && strings.Contains(cmd, "ssh-keygen"), word == "w" && strings.Contains(cmd, "ldap"),
		word == "P" && (strings.Contains(cmd, "zip") || strings.Contains(cmd, "sqlcmd") || strings.Contains(cmd, "bcp")):
		return s.flagValue(skipEqual(t, j))
	case len(word) > 1 && word[0] == 'p' && (strings.Contains(cmd, "mysql") || strings.Contains(cmd, "mariadb") ||
		strings.Contains(cmd, "sshpass") || strings.Contains(cmd, "7z")):
		return s.flagValue(i + 1)
	}
	return 0
}

func skipEqual(t string, i int) int {
	if i < len(t) && t[i] == '=' {
		return i + 1
	}
	return skipBlanks(t, i)
}

// flagValue masks the password at i.
func (s *scanner) flagValue(i int) int {
	v := s.value(0, gap{kind: '=', at: i})
	if text := s.t[v.from:v.to]; len(text) >= 4 && !placeholder(text) && !strings.Contains(text, markOpen) &&
		!digitsOnly(text) && text[0] != '-' && (count(text).digits > 0 || len(text) >= 8) && !strings.Contains(text, "/") {
		return s.mask(v, "password")
	}
	return 0
}

// userFlag masks the password of user:password behind a flag.
func (s *scanner) userFlag(j int) int {
	v := s.value(0, gap{kind: '=', at: skipEqual(s.t, j)})
	text := s.t[v.from:v.to]
	k := strings.IndexAny(text, ":%")
	if k <= 0 || strings.Contains(text, "://") || placeholder(text) {
		return 0
	}
	pass := text[k+1:]
	c := count(pass)
	if c.digits == 0 && (c.upper == 0 || c.lower == 0) && c.other == 0 || pass[:min(1, len(pass))] == ":" {
		return 0
	}
	if len(pass) < 4 || placeholder(pass) || digitsOnly(pass) || strings.Contains(pass, markOpen) {
		return 0
	}
	v.from += k + 1
	return s.mask(v, "password")
}

// jwkMember names the private members of a JSON Web Key (RFC 7518).
func jwkMember(name string) bool {
	switch name {
	case "d", "p", "q", "dp", "dq", "qi", "k":
		return true
	}
	return false
}

// webKey says whether the line holds a JSON Web Key.
func (s *scanner) webKey() bool {
	if s.kty == 0 {
		s.kty = 2 - bit(strings.Contains(s.t, `"kty"`))
	}
	return s.kty == 1
}

// seedWords finds a recovery phrase at i: twelve or more lower-case words. to is 0 when there is none.
func seedWords(t string, i int) (from, to int) {
	if n, _, _ := openQuote(t[i:]); n > 0 {
		i += n
	}
	from = i
	words := 0
	for i < len(t) && words < 30 {
		k := i
		for k < len(t) && isLower(t[k]) {
			k++
		}
		if k-i < 3 || k-i > 8 {
			break
		}
		words++
		i = k
		if i < len(t) && t[i] == ' ' {
			i++
		}
	}
	if words < 12 {
		return from, 0
	}
	return from, i
}
