package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"scv/internal/client"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/testkit/census"
	"scv/internal/wire"
)

func TestMain(m *testing.M) { os.Exit(census.Main(m)) }

// options are those of a daemon in a new home with a short path.
func options(t testing.TB) Options {
	t.Helper()
	dir, err := os.MkdirTemp("", "scv")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return optionsAt(t, filepath.Join(dir, "h"))
}

func optionsAt(t testing.TB, path string) Options {
	t.Helper()
	h, err := home.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	c, err := config.Load(h, nil, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	return Options{Home: h, Config: c, Version: "9.9", Exe: "/bin/false", Foreground: true, Stderr: io.Discard}
}

// started is a daemon that a test started.
type started struct {
	t      testing.TB
	opt    Options
	cancel context.CancelFunc
	ended  chan error
}

// start runs a daemon until the test stops it, and waits until it answers.
func start(t testing.TB, opt Options) *started {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &started{t: t, opt: opt, cancel: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- Run(ctx, opt) }()
	t.Cleanup(cancel)
	for {
		c, err := r.dial()
		if err == nil {
			c.Close()
			return r
		}
		select {
		case err := <-r.ended:
			t.Fatalf("the daemon ended: %v", err)
		default:
		}
	}
}

func (r *started) dial() (*client.Conn, error) {
	return client.Dial(r.t.Context(), client.Target{Socket: r.opt.Home.Socket()}, wire.PeerInfo{Name: "scv-cli", Version: "t"})
}

func (r *started) call(cmd wire.Command) *wire.DaemonStatus {
	r.t.Helper()
	c, err := r.dial()
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	st, err := c.Call(r.t.Context(), cmd)
	if err != nil {
		r.t.Fatalf("%s: %v", cmd.Action(), err)
	}
	return st
}

func (r *started) stop() {
	r.t.Helper()
	r.cancel()
	if err := <-r.ended; err != nil {
		r.t.Errorf("the daemon ended with %v", err)
	}
}

func TestLifeOfADaemon(t *testing.T) {
	opt := options(t)
	r := start(t, opt)
	st := r.call(wire.StatusCommand{})
	if st.Version != "9.9" || st.PID != uint32(os.Getpid()) || st.Home == nil || *st.Home == "" {
		t.Errorf("status: %+v", st)
	}
	idle, err := r.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	r.stop()
	if _, err := idle.Call(t.Context(), wire.StatusCommand{}); !errors.Is(err, client.ErrBroken) {
		t.Errorf("a client of a stopped daemon gets %v", err)
	}
	if _, err := r.dial(); !errors.Is(err, client.ErrNoDaemon) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := os.Lstat(opt.Home.Socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
	if _, err := os.Lstat(opt.Home.LockPath()); err != nil {
		t.Errorf("the lock file went: %v", err)
	}
	again := start(t, opt)
	if home := again.call(wire.StatusCommand{}).Home; *home != *st.Home {
		t.Errorf("the home's id changed from %s to %s", *st.Home, *home)
	}
	again.call(wire.DaemonStop{})
	if err := <-again.ended; err != nil {
		t.Errorf("ended on request with %v", err)
	}
}

func TestSecondDaemonIsRefusedAndSaysWhere(t *testing.T) {
	opt := options(t)
	r := start(t, opt)
	err := Run(t.Context(), opt)
	we, ok := errors.AsType[*wire.Error](err)
	if !ok || we.Reason != wire.ReasonBusy || !strings.Contains(we.Message, fmt.Sprint(os.Getpid())) ||
		!strings.Contains(we.Message, "server.sock") || we.Hint == "" {
		t.Errorf("a second daemon: %v", err)
	}
	r.call(wire.StatusCommand{})
	r.stop()
}

// Of many that start at once, one serves and the others say so.
func TestManyStartsAtOnce(t *testing.T) {
	opt := options(t)
	ctx, cancel := context.WithCancel(context.Background())
	const n = 8
	ended := make(chan error, n)
	for range n {
		go func() { ended <- Run(ctx, opt) }()
	}
	for range n - 1 {
		if we, ok := errors.AsType[*wire.Error](<-ended); !ok || we.Reason != wire.ReasonBusy {
			t.Errorf("a late daemon: %v", we)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the one that served: %v", err)
	}
}

func TestBackgroundLogIsPrivateAndBounded(t *testing.T) {
	opt := options(t)
	path := opt.Home.LogPath()
	if err := os.WriteFile(path, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := openLog(opt.Home.Root())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	line := []byte(strings.Repeat("x", 999) + "\n")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				if _, err := l.Write(line); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, name := range []string{path, path + ".1"} {
		info, err := os.Stat(name)
		if err != nil || info.Size() > maxLog+int64(len(line)) || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		data, _ := os.ReadFile(name)
		if !bytes.HasSuffix(data, line) || bytes.Count(data, []byte("\n"))*1000 < len(data)-1000 {
			t.Errorf("%s holds torn lines", name)
		}
	}
	opt.Foreground = false
	start(t, opt).stop()
	if data, _ := os.ReadFile(path); !bytes.Contains(data, []byte("msg=listening")) || !bytes.Contains(data, []byte("msg=ended")) {
		t.Errorf("log: %s", data)
	}
}

func TestSecretsOfTheEnvironmentAreMasked(t *testing.T) {
	m := newMasker([]string{"OPENAI_API_KEY=plain-but-secret-value-42", "My_Token=another-secret-value-77", "PATH=/usr/bin/and/some/more", "EMPTY_TOKEN="})
	got := m.Text("plain-but-secret-value-42 another-secret-value-77 /usr/bin/and/some/more")
	if strings.Contains(got, "plain-but") || strings.Contains(got, "another") || !strings.Contains(got, "/usr/bin/and/some/more") {
		t.Errorf("masked to %q", got)
	}
}

// TestT62_TheLogHidesWhatTheSettingsHide: whatever an error of an agent, a server or a service repeats, the daemon's log
// holds none of the credentials that the owner's files give them, from the first line on and after a change of the files.
func TestT62_TheLogHidesWhatTheSettingsHide(t *testing.T) {
	opt := options(t)
	var log bytes.Buffer
	opt.Stderr = &log
	settings := func(text string) {
		t.Helper()
		if err := os.WriteFile(opt.Home.ConfigPath(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(opt.Home, nil, config.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		opt.Config = c
	}
	settings(`[agents.codex.env]
CODEX_API_KEY = "plain-words-of-an-agent"
COLOUR = "green-as-the-grass"
[providers.mine]
api_key = "plain-words-of-a-service"
[providers.mine.headers]
X-Auth-Token = "plain-words-of-a-header"
[mcp.issues]
url = "https://issues.example"
[mcp.issues.headers]
Authorization = "Bearer plain-words-behind-bearer"
[mcp.notes]
command = "notes"
[mcp.notes.env]
NOTES_TOKEN = "plain-words-of-a-server"
`)
	logger, done, err := opt.logger()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	hidden := []string{
		"plain-words-of-an-agent", "plain-words-of-a-service", "plain-words-of-a-header", "plain-words-behind-bearer", "plain-words-of-a-server",
	}
	for _, secret := range hidden {
		logger.Warn("it left", "error", fmt.Errorf("it said last: \"%s\" green-as-the-grass", secret))
	}
	settings("[mcp.notes]\ncommand = \"notes\"\n[mcp.notes.env]\nNOTES_TOKEN = \"plain-words-that-came-later\"\n")
	newSettings(opt, &hubPort{}, logger)
	logger.Warn("it left", "why", "plain-words-that-came-later")
	for _, secret := range append(hidden, "plain-words-that-came-later") {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
	if n := strings.Count(log.String(), "green-as-the-grass"); n != len(hidden) {
		t.Errorf("of %d words that are no secret %d are left:\n%s", len(hidden), n, log.String())
	}
}

func TestAgentsAreListed(t *testing.T) {
	opt := options(t)
	list := Agents(opt)
	var names []string
	for _, a := range list {
		names = append(names, a.Name)
	}
	if got := strings.Join(names, " "); got != "claude codex demo demo-live gemini opencode scv" {
		t.Fatalf("agents: %s", got)
	}
	for _, a := range list {
		if a.Command == "" || a.Transport == "" || a.Mode == "" || len(a.Passed) == 0 || (a.Path == "") != (a.Problem != "") {
			t.Errorf("agent %+v", a)
		}
	}
}
