package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"scv/internal/session/tool"
	"scv/internal/wire"
)

func call(t *testing.T, s Settings, url string) tool.Result {
	t.Helper()
	args, err := json.Marshal(map[string]string{"url": url})
	if err != nil {
		t.Fatal(err)
	}
	f := Fetch(s)
	if _, err := f.Risk(args); err != nil {
		return tool.Failed(err)
	}
	return f.Run(t.Context(), args, tool.Env{Limit: 100_000})
}

func TestPublic_OnlyTheInternet(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "2606:4700::1111": true, "193.0.6.139": true,
		"127.0.0.1": false, "127.9.9.9": false, "10.1.2.3": false, "172.16.0.1": false, "172.32.0.1": true, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "224.0.0.1": false, "255.255.255.255": false,
		"198.18.0.1": false, "203.0.113.9": false, "240.0.0.1": false,
		"::1": false, "::": false, "::ffff:127.0.0.1": false, "::ffff:8.8.8.8": true, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false,
		"fd12::1": false, "ff02::1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001:db8::1": false, "::127.0.0.1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is public: %v", address, got)
		}
	}
}

// TestFetch_RefusesPrivateAddresses reaches a server of the loopback by every name that leads there.
func TestFetch_RefusesPrivateAddresses(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1"} {
		if r := call(t, Settings{}, "http://"+host+port); r.Error != wire.ToolDenied && (r.Error != wire.ToolErrorFailed || host != "127.1") {
			t.Errorf("%s: %q (%s)", host, r.Text, r.Error)
		}
	}
	if asked > 0 {
		t.Errorf("the server was asked %d times", asked)
	}
	for _, bad := range []string{"file:///etc/passwd", "ftp://x/", "http://", "http://me:pw@example.com/", "gopher://x", "::"} {
		if r := call(t, Settings{}, bad); r.Error != wire.ToolInvalidArguments {
			t.Errorf("%s: %q (%s)", bad, r.Text, r.Error)
		}
	}
}

func TestFetch_FollowsSomeRedirectsAndChecksEach(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		left, err := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
		switch {
		case r.URL.Path == "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case err != nil || left == 0:
			_, _ = w.Write([]byte("there"))
		default:
			http.Redirect(w, r, "/"+strconv.Itoa(left-1), http.StatusFound)
		}
	}))
	defer server.Close()
	s := Settings{Private: true, Redirects: 5}
	if r := call(t, s, server.URL+"/5"); r.Error != "" || !strings.HasSuffix(r.Text, "there") {
		t.Errorf("%q", r.Text)
	}
	for path, want := range map[string]string{"/6": "more than 5 times", "/file": "only http"} {
		if r := call(t, s, server.URL+path); r.Error != wire.ToolErrorFailed || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %q (%s)", path, r.Text, r.Error)
		}
	}
}

func TestFetch_BoundsAndKinds(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			_, _ = w.Write([]byte(strings.Repeat("x", 3<<20)))
		case "/png":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("\x89PNG"))
		case "/gone":
			http.Error(w, "gone", http.StatusGone)
		case "/slow":
			<-release
		case "/html":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<p>Hello <b>you</b></p>"))
		}
	}))
	defer server.Close()
	defer close(release)
	s := Settings{Private: true}
	if r := call(t, s, server.URL+"/large"); !r.Truncated || len(r.Text) > 100_000 || !strings.HasSuffix(r.Text, "[the rest is left out]") {
		t.Errorf("%d bytes, %v", len(r.Text), r.Truncated)
	}
	for path, want := range map[string]string{"/png": "no text", "/gone": "410"} {
		if r := call(t, s, server.URL+path); r.Error != wire.ToolErrorFailed || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %q", path, r.Text)
		}
	}
	if r := call(t, s, server.URL+"/html"); !strings.HasSuffix(r.Text, "]\nHello you") {
		t.Errorf("%q", r.Text)
	}
	s.Timeout = 50 * time.Millisecond
	if r := call(t, s, server.URL+"/slow"); r.Error != wire.ToolLimit {
		t.Errorf("%q (%s)", r.Text, r.Error)
	}
}

func TestFetch_TrustedHostsNeedNoQuestion(t *testing.T) {
	f := Fetch(Settings{Trusted: []string{"pkg.go.dev", "*.example.com"}})
	for url, want := range map[string]tool.Risk{
		"https://pkg.go.dev/x": tool.ReadOnly, "https://PKG.go.dev": tool.ReadOnly, "https://docs.example.com/": tool.ReadOnly,
		"https://example.com/": tool.Network, "https://evilexample.com/": tool.Network, "https://pkg.go.dev.evil.test/": tool.Network,
	} {
		if got, err := f.Risk(json.RawMessage(`{"url":"` + url + `"}`)); err != nil || got.Risk != want {
			t.Errorf("%s: %+v, %v", url, got, err)
		}
	}
}

func TestText_IsWhatAPersonReads(t *testing.T) {
	for page, want := range map[string]string{
		`<!DOCTYPE html><html><head><title>T</title><style>x{}</style></head><body><h1>A &amp; B</h1><p>one <a href="x>y">two</a>,three</p>`: "T\n\nA & B\n\none two,three",
		"<ul><li>a<li>b</ul><script>if (a</b) x()</script>end":                                                                               "- a\n- b\n\nend",
		"<pre>a\n  b</pre>c": "a\n  b\n\nc",
		"a<br>b<br/>c":       "a\nb\nc",
		"1 < 2 and <b":       "1 < 2 and",
		"<!-- <p>no -->yes":  "yes",
		"<script>never ends": "",
		"<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>": "a b\nc",
	} {
		if got := Text(page); got != want {
			t.Errorf("%s: %q", page, got)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("<p>a</p><script>x</script>&lt;")
	f.Add("<<a'>\"<pre>")
	f.Fuzz(func(t *testing.T, page string) {
		if got := Text(page); len(got) > 8*len(page)+8 {
			t.Errorf("%d bytes become %d", len(page), len(got))
		}
	})
}
