package redact

import (
	"slices"
	"strings"
	"sync"
)

// strength says how much a name tells about the value beside it, and so how random that value must look.
type strength int

const (
	nameNone   strength = iota
	nameWeak            // "key", or a secret word inside a longer name: only clearly random values
	nameStrong          // names a token, key or secret: values that are not words, numbers or code
	namePass            // names a password: nearly any value that is not code
)

const maxParts = 12

// nameParts is a name in lower case, split at case changes and at - _ and blanks.
type nameParts struct {
	buf  [96]byte
	ends [maxParts]int
	n    int
}

// splitName fills p from the last 96 bytes of w.
func (p *nameParts) split(w string) {
	if len(w) > len(p.buf) {
		w = w[len(w)-len(p.buf):]
	}
	n, size := 0, 0
	cut := func() {
		if size > 0 && (n == 0 || p.ends[n-1] < size) && n < maxParts {
			p.ends[n] = size
			n++
		}
	}
	for i := range len(w) {
		c := w[i]
		switch {
		case c == '_' || c == '-' || c == ' ' || c == '.':
			cut()
			continue
		case isUpper(c) && i > 0 && (isLower(w[i-1]) || i+1 < len(w) && isLower(w[i+1]) && isUpper(w[i-1])):
			cut()
		}
		p.buf[size] = c
		if isUpper(c) {
			p.buf[size] = c | 0x20
		}
		size++
	}
	cut()
	if n == maxParts {
		p.ends[n-1] = size
	}
	p.n = n
}

// part returns the i-th part from the end, at most its last 32 bytes (a string of that size needs no heap); empty
// beyond the first.
func (p *nameParts) part(back int) []byte {
	i := p.n - 1 - back
	if i < 0 {
		return nil
	}
	from := 0
	if i > 0 {
		from = p.ends[i-1]
	}
	return p.buf[max(from, p.ends[i]-32):p.ends[i]]
}

// letterSet is the set of letters of a word, without case: bit 1 is a.
func letterSet(w string) uint32 {
	var set uint32
	for i := range len(w) {
		if isAlnum(w[i]) && !isDigit(w[i]) {
			set |= 1 << (w[i] & 31)
		}
	}
	return set
}

// mayName is a quick test that drops most words: does w have the letters of any word that classify or paired know?
func mayName(w string) bool {
	if len(w) <= 2 || len(w) > 200 {
		return len(w) <= 2
	}
	set := letterSet(w[max(0, len(w)-96):])
	if set == 0 { // a number, as in "Unseal Key 1:"
		return true
	}
	for _, known := range nameLetters() {
		if set&known == known {
			return true
		}
	}
	return false
}

// nameLetters are the letter sets of the words that name secrets and of those that go with them, made once.
var nameLetters = sync.OnceValue(func() []uint32 {
	var sets []uint32
	for w := range strings.FieldsSeq("key ps pw pat pin api otp token secret auth cred sig sid salt sas seed jwt hmac bearer " +
		"cookie ticket mnemonic licen name value variable code xoxb kennwort wachtwoord haslo senha parola losenord heslo " +
		"contrasen motdepasse") {
		set := letterSet(w)
		if !slices.ContainsFunc(sets, func(s uint32) bool { return set&s == s }) {
			sets = append(sets, set)
		}
	}
	return sets
})

// classify tells how strongly a name announces a secret, and the kind to show for it.
func classify(w string) (strength, string) {
	if len(w) < 2 || len(w) >= 16 && randomName(w) {
		return nameNone, ""
	}
	var p nameParts
	p.split(w)
	for p.n > 1 && neutral(string(p.part(0))) {
		p.n--
	}
	last := string(p.part(0))
	switch {
	case p.n == 0 || w == "PASS" || w == "PWD" || w == "OLDPWD":
		return nameNone, "" // a test's result, the shell's folder
	case passwordWord(last):
		return namePass, "password"
	case tokenWord(last):
		if countingWord(string(p.part(1))) {
			return nameNone, ""
		}
		return nameStrong, "token"
	case secretWord(last):
		return nameStrong, "secret"
	case last == "key":
		return keyStrength(&p)
	case keyWord(last):
		return nameStrong, "key"
	case last == "id" && string(p.part(1)) == "key" && keyQualifier(string(p.part(2))),
		last == "id" && string(p.part(1)) == "secret":
		return nameStrong, "key"
	case last == "auth" && p.n > 1 && strings.ContainsAny(w, "_-"):
		return namePass, "password"
	case last == "auth" || last == "api" || last == "signing" || last == "hmac" || last == "authkey" || last == "license" || last == "salt" || last == "seed":
		return nameWeak, "secret"
	}
	return innerWord(&p)
}

// randomName says whether w is a token or an id rather than a name.
func randomName(w string) bool {
	c := count(w)
	return c.digits >= 2 && c.changes*4 >= min(len(w), 512)
}

// keyStrength judges names that end in "key" by the word before.
func keyStrength(p *nameParts) (strength, string) {
	before := string(p.part(1))
	switch {
	case before == "":
		return nameWeak, "key"
	case plainKey(before):
		return nameNone, ""
	}
	return nameStrong, "key"
}

// innerWord finds a secret word inside a name that ends with another one, unless the end says that the value is only
// about the secret.
func innerWord(p *nameParts) (strength, string) {
	last := string(p.part(0))
	if aboutWord(last) {
		return nameNone, ""
	}
	for back := 1; back < p.n; back++ {
		w := string(p.part(back))
		if passwordWord(w) || tokenWord(w) || secretWord(w) || keyWord(w) {
			return nameWeak, "secret"
		}
	}
	if last == "secrets" || last == "credentials" || last == "credential" || last == "creds" || last == "tokens" {
		return nameWeak, "secret"
	}
	return nameNone, ""
}

// neutral words at the end of a name do not change what it names.
func neutral(w string) bool {
	switch w {
	case "data", "value", "val", "string", "str", "text", "b64", "base64", "hex", "prod", "production", "dev",
		"test", "staging", "stage", "live", "old", "new", "primary", "secondary", "default", "raw", "plain", "plaintext",
		"env", "current", "previous", "prev", "backup", "local", "main", "encoded", "base", "my":
		return true
	}
	return digitsOnly(w) || len(w) == 2 && (w[0] == 'v' || w[0] == 'p') && isDigit(w[1])
}

func passwordWord(w string) bool {
	switch w {
	case "pass", "pw", "pwd", "psw", "psk", "pword", "passwort", "kennwort", "wachtwoord", "haslo", "senha",
		"contrasena", "contraseña", "motdepasse", "userpass", "dbpass", "parola", "losenord", "salasana", "heslo":
		return true
	}
	return ends(w, "password") || ends(w, "passwd") || ends(w, "passphrase") || ends(w, "passcode") ||
		ends(w, "dbpwd") || ends(w, "mysqlpwd") || ends(w, "sshpass")
}

func tokenWord(w string) bool {
	switch w {
	case "pat", "jwt", "bearer", "cookie", "sas", "ticket", "sessionid", "sessid", "apitoken", "xoxb", "otp", "totp":
		return true
	}
	return ends(w, "token")
}

func secretWord(w string) bool {
	return ends(w, "secret") || w == "mnemonic" || w == "pepper"
}

// keyWord recognises keys written as one word: apikey, secretaccesskey.
func keyWord(w string) bool {
	if !ends(w, "key") || len(w) < 5 {
		return false
	}
	stem := w[:len(w)-3]
	for _, q := range []string{
		"api", "secret", "access", "auth", "private", "master", "encryption", "signing", "account", "admin", "app",
		"maps", "license", "licence", "hmac", "aes", "deploy", "service", "session", "shared", "subscription",
		"storage", "client", "consumer", "crypto", "cipher", "unseal", "recovery", "webhook", "global", "token",
		"security", "ssh", "application", "integration", "decryption", "jwt", "seal", "project", "write", "ingest",
	} {
		if ends(stem, q) {
			return true
		}
	}
	return false
}

// keyQualifier words before "key id" make the id a credential of its own.
func keyQualifier(w string) bool { return w == "access" || w == "private" || w == "secret" }

// countingWord before "token" means a piece of text or a place in a list, not a credential.
func countingWord(w string) bool {
	switch w {
	case "next", "page", "continuation", "cursor", "sync", "pad", "eos", "bos", "unk", "mask", "sep", "cls", "stop",
		"start", "end", "begin", "max", "min", "num", "total", "per", "prompt", "completion", "input", "output",
		"cached", "reasoning", "cancellation", "cancel", "last", "first", "unexpected", "expected", "special", "want",
		"got", "peek", "lookahead", "pagination", "resume", "decimal", "erc20", "design", "syntax", "invalid", "color",
		"missing":
		return true
	}
	return false
}

// plainKey words before "key" make it a key of a table, a cache or a keyboard, or one that is public.
func plainKey(w string) bool {
	switch w {
	case "primary", "foreign", "partition", "sort", "public", "pub", "cache", "row", "object", "index", "map",
		"lookup", "hash", "group", "dedupe", "dedup", "idempotency", "routing", "shard", "range", "composite", "unique",
		"natural", "surrogate", "join", "context", "translation", "message", "label", "order", "column", "field",
		"bucket", "config", "host", "query", "store", "state", "dict", "json", "yaml", "item", "entry", "node",
		"parent", "child", "registry", "redis", "react", "arrow", "hot", "short", "shortcut", "enter", "escape", "tab",
		"any", "a", "the", "this", "that", "each", "for", "by", "of", "no", "non", "not", "is", "has", "if", "in",
		"sorting", "grouping", "answer", "publishable", "verify", "verification", "verifying", "anon", "i18n",
		"locale", "ssh-rsa", "known", "s3", "file", "metric", "trace", "log", "property", "option", "setting",
		"feature", "flag", "etag", "checksum", "integrity", "minisign", "expected", "duplicate", "missing", "unknown",
		"unexpected", "invalid", "new", "old", "same", "prefix", "suffix", "event", "topic", "queue", "document":
		return true
	}
	return false
}

// aboutWord at the end of a name says that the value is about a secret, not one.
func aboutWord(w string) bool {
	switch w {
	case "name", "names", "url", "uri", "urls", "path", "paths", "file", "files", "filename", "id", "ids", "type",
		"types", "count", "counts", "limit", "limits", "size", "length", "len", "policy", "expiry", "expires", "expiration",
		"expiresat", "ttl", "ref", "arn", "header", "prefix", "suffix", "field", "fields", "property", "param", "params",
		"var", "version", "versions", "attempts", "bucket", "index", "format", "regex", "pattern", "label", "title",
		"hint", "description", "error", "message", "status", "required", "enabled", "manager", "provider", "service",
		"store", "rotation", "endpoint", "location", "scope", "scopes", "algorithm", "alg", "issuer", "audience",
		"fingerprint", "digest", "checksum", "sha256", "usage", "used", "created", "updated", "at", "by", "in", "out",
		"for", "from", "to", "is", "class", "kind", "mode", "source", "target", "user", "username", "host", "port",
		"page", "group", "role", "list", "set", "map", "time", "date", "age", "rate", "lookup", "server", "client",
		"email", "number", "num", "budget", "window", "stats":
		return true
	}
	return false
}

func ends(w, tail string) bool {
	return len(w) >= len(tail) && w[len(w)-len(tail):] == tail
}
