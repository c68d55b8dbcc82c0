package redact

import (
	"strings"
	"testing"
)

// letters of each alphabet of the table, for made-up tails.
func letters(alphabet byte) string {
	switch alphabet {
	case 'h', 'x':
		return lowhex
	case 'u':
		return "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	case 'l':
		return "abcdefghijklmnopqrstuvwxyz0123456789"
	}
	return alnum
}

func TestTableIsWellFormed(t *testing.T) {
	all := parseRules(prefixTable)
	n := 0
	for line := range strings.Lines(prefixTable) {
		if !strings.HasPrefix(line, "#") {
			n++
		}
	}
	if len(all) != n || n < 250 {
		t.Errorf("%d of %d lines are rules", len(all), n)
	}
	seen := map[string]bool{}
	for _, r := range all {
		id := r.prefix + " " + string(r.alphabet)
		if seen[id] || len(r.prefix) < 2 || r.least < 12 || r.source == "" || r.kind == "" || strings.ContainsAny(r.kind, " ]") {
			t.Errorf("rule %+v is double or incomplete", r)
		}
		seen[id] = true
		if !inAlphabet(letters(r.alphabet)[0], r.alphabet) {
			t.Errorf("rule %+v has no such alphabet", r)
		}
	}
}

func TestEachRuleHasAPositiveAndANearMiss(t *testing.T) {
	m, set := New(), rules()
	for i, r := range parseRules(prefixTable) {
		tail := random(uint64(500+i), r.least, letters(r.alphabet))
		if r.alphabet == 'p' {
			tail = tail[:r.least-3] + "%2B"
		}
		if r.least > 30 || r.most > 0 || !strings.ContainsAny(tail, "0123456789") {
			tail = tail[:len(tail)-1] + "7"
		}
		token := r.prefix + tail
		for _, text := range []string{token, "use " + token + " here", `"` + token + `"`, "x: " + token + ",", `a\n` + token + `\nb`} {
			if got := m.Text(text); survives(got, tail) != "" {
				t.Errorf("%s: %q gives %q", r.prefix, text, got)
			}
		}
		misses := []string{r.prefix + tail[:r.least-1], r.prefix + strings.Repeat("x", r.least), r.prefix + "<" + tail}
		if r.most > 0 {
			misses = append(misses, token+strings.Repeat(letters(r.alphabet)[:1], r.most))
		}
		for _, miss := range misses {
			if got, _, ok := set.match(miss, 2); ok && *got == r {
				t.Errorf("%s: the near miss %q matches", r.prefix, miss)
			}
		}
		if prose := "a word like " + r.prefix + " or \"" + r.prefix + "\", and (" + r.prefix + ")\n"; m.Text(prose) != prose {
			t.Errorf("%s: prose changes: %q", r.prefix, m.Text(prose))
		}
	}
}

func TestNamesTellWhatTheyHold(t *testing.T) {
	for name, want := range map[string]strength{
		"password": namePass, "DB_PASSWORD": namePass, "mysqlRootPassword": namePass, "PGPASSWORD": namePass, "db-pass": namePass,
		"passwd": namePass, "pwd": namePass, "REDIS_AUTH": namePass, "X-Authtoken": nameStrong, "sessiontoken": nameStrong,
		"clientSecret": nameStrong, "X-Secretaccesskey": nameStrong, "api_key": nameStrong, "apiKey": nameStrong, "APIKey": nameStrong,
		"AZURE_STORAGE_ACCOUNT_KEY": nameStrong, "TS_AUTHKEY": nameStrong, "googleMapsKey": nameStrong, "AWS_ACCESS_KEY_ID": nameStrong,
		"private_key_id": nameStrong, "SONAR_TOKEN_2": nameStrong, "azure_devops_ext_pat": nameStrong, "client-key-data": nameStrong,
		"tf-token-app-terraform-io": nameWeak, "AWS_BEARER_TOKEN_BEDROCK": nameWeak, "key": nameWeak, "STRIPE_SIGNING": nameWeak,
		"primary_key": nameNone, "publicKey": nameNone, "tokenLimit": nameNone, "token_count": nameNone,
		"next_page_token": nameNone, "nextPageToken": nameNone, "secret_name": nameNone, "password_file": nameNone, "token_url": nameNone,
		"author": nameNone, "keyboard": nameNone, "monkey": nameNone, "compass": nameNone, "PWD": nameNone, "PASS": nameNone, "x": nameNone,
		"password-policy": nameNone, "tokens": nameWeak, "eos_token": nameNone, "partition_key": nameNone, "": nameNone, "___": nameNone,
	} {
		if got, _ := classify(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

func TestValuesBesideNames(t *testing.T) {
	m := New()
	v := random(60, 14, alnum) + "9xQ"
	w := random(61, 32, alnum)
	for _, text := range []string{
		"API_KEY=" + w, "api_key: '" + w + "'", `{"apiKey":"` + w + `"}`, `{\"apiKey\": \"` + w + `\"}`, "--api-key " + w, "--api-key=" + w,
		"| API_KEY | " + w + " |", "<apiKey>" + w + "</apiKey>", `<add key="ApiKey" value="` + w + `"/>`, "- name: API_KEY\n  value: " + w,
		`{"name":"API_KEY","value":"` + w + `"}`, `os.environ["API_KEY"] = "` + w + `"`, `["--token","` + w + `"]`, `x.setToken("` + w + `")`,
		"ENV API_TOKEN " + w, "x?a=b&api_key=" + w + "&c=d", "apikey%3D" + w + "%26x%3D1", "&quot;apiKey&quot;:&quot;" + w + "&quot;",
		`\u0022apiKey\u0022:\u0022` + w + `\u0022`, "machine h login u password " + v, "the password is " + v + ".", "Server=x;Password=" + v + ";A=b;",
		"jdbc:sqlserver://h;password={" + v + "};a=b", "user:" + v + "@tcp(127.0.0.1:3306)/db", "jdbc:oracle:thin:scott/" + v + "@h:1/x",
		"mysql -p" + v + " db", "sshpass -p " + v + " ssh h", "redis-cli -a " + v, "curl -u u:" + v + " h", "echo " + v + " | docker login --password-stdin",
		"Authorization: Basic " + "dXNlcjpodW50ZXI5OTk5OQ==", "Authorization: Splunk " + w, `Authorization: Digest username="u", response="` + random(62, 32, lowhex) + `"`,
		"Cookie: a=b; sessionid=" + w + "; c=d", "Set-Cookie: JSESSIONID=" + random(63, 32, "0123456789ABCDEF") + "; Path=/", `"auth": "` + "dXNlcjpodW50ZXI5OTk5OQ==" + `"`,
		"Unseal Key 1: " + random(64, 43, alnum) + "=", "https://hooks.slack.com/services/" + "T0AB12CD3/B0EF45GH6/" + random(65, 24, alnum),
		"kind: Secret\ndata:\n  x: " + random(66, 20, alnum) + "9=\n", "mnemonic: " + strings.Repeat("witch collapse practice ", 4),
		`{"kty":"EC","d":"` + random(67, 43, alnum) + `"}`, "PuTTY-User-Key-File-3: x\nPrivate-Lines: 1\n" + random(68, 64, alnum) + "\n",
		"token: \x1b[33m" + w[:9] + "\x1b[0m" + w[9:], "api_key=" + w[:7] + "\u200b" + w[7:] + "\n", "\x1b]8;;https://u:" + v + "@h\x1b\\link\x1b]8;;\x1b\\",
	} {
		got := m.Text(text)
		if !strings.Contains(got, markOpen) || strings.Contains(got, v[2:12]) || strings.Contains(got, w[10:20]) {
			t.Errorf("%q gives %q", text, got)
		}
		if again := m.Text(got); again != got {
			t.Errorf("masking twice: %q becomes %q", got, again)
		}
	}
}

func TestWrappedValues(t *testing.T) {
	m := New()
	key := anthropicKey(70)
	lead := "token: "
	for _, width := range []int{60, 72, 80, 100, 120} {
		text := lead + key
		var rows []string
		for len(text) > width {
			rows, text = append(rows, text[:width]), text[width:]
		}
		rows = append(rows, text, "next line of text")
		got := m.Text(strings.Join(rows, "\n") + "\n")
		if w := survives(got, key[13:]); w != "" || !strings.Contains(got, "next line of text") {
			t.Errorf("width %d: %q left in %q", width, w, got)
		}
	}
	after := "GITHUB_TOKEN=gh" + "p_" + random(71, 36, alnum) + "\nNODE_ENV=production\nlevel: 3\n"
	if got := m.Text(after); !strings.Contains(got, "\nNODE_ENV=production\nlevel: 3\n") {
		t.Errorf("the line behind a whole token is gone: %q", got)
	}
}
