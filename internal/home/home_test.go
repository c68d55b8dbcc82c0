package home_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"scv/internal/home"
	"scv/internal/testkit/need"
	"scv/internal/wire"
)

func open(t *testing.T, path string) *home.Home {
	t.Helper()
	h, err := home.Open(path)
	if err != nil {
		t.Fatalf("open %s: %v", path, err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// refusal opens path and returns the refusal, which must be a sentence with a next step.
func refusal(t *testing.T, path string) *wire.Error {
	t.Helper()
	h, err := home.Open(path)
	if err == nil {
		h.Close()
		t.Fatalf("open %s: accepted", path)
	}
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		t.Fatalf("open %s: %v is no *wire.Error", path, err)
	}
	if e.Message == "" || e.Hint == "" || e.Reason == "" {
		t.Fatalf("open %s: %+v lacks a part", path, e)
	}
	return e
}

func perm(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestT47_HomeIsMadePrivateUnderAnyUmask(t *testing.T) {
	old := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(old) })
	path := filepath.Join(t.TempDir(), "a", "home")
	os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755)
	h := open(t, path)
	for _, name := range []string{"", "state", "state/ctl", "runs", "private"} {
		if got := perm(t, filepath.Join(h.Path(), name)); got != 0o700 {
			t.Errorf("%q has mode %04o", name, got)
		}
	}
	root, err := h.CreateRun("codex-3f9a2c")
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
	if got := perm(t, h.RunDir("codex-3f9a2c")); got != 0o700 {
		t.Errorf("run directory has mode %04o", got)
	}
	if _, err := h.CreateRun("codex-3f9a2c"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second run of the same handle: %v", err)
	}
}

func TestHomeOfUpstreamIsTightenedAndKept(t *testing.T) {
	path := t.TempDir()
	os.Chmod(path, 0o755)
	if err := os.Mkdir(filepath.Join(path, "state"), 0o755); err != nil {
		t.Fatal(err)
	}
	strange := filepath.Join(path, "state", "delegations")
	if err := os.WriteFile(strange, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, path)
	if perm(t, h.Path()) != 0o700 || perm(t, filepath.Join(h.Path(), "state")) != 0o700 {
		t.Error("modes were not tightened")
	}
	if data, err := os.ReadFile(strange); err != nil || string(data) != "x" {
		t.Errorf("upstream's entry: %q, %v", data, err)
	}
}

func TestT16_HomeOfOthersIsRefused(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T) string
		want string
	}{
		{"group-writable", func(t *testing.T) string {
			dir := t.TempDir()
			os.Chmod(dir, 0o770)
			return dir
		}, "can be written by other users"},
		{"link to a group-writable one", func(t *testing.T) string {
			dir := t.TempDir()
			target := filepath.Join(dir, "target")
			os.Mkdir(target, 0o700)
			os.Chmod(target, 0o777)
			link := filepath.Join(dir, "link")
			os.Symlink(target, link)
			return link
		}, "can be written by other users"},
		{"below a directory that everybody may write to", func(t *testing.T) string {
			dir := t.TempDir()
			os.Chmod(dir, 0o777)
			return filepath.Join(dir, "home")
		}, "everybody may write"},
		{"a file", func(t *testing.T) string {
			name := filepath.Join(t.TempDir(), "file")
			os.WriteFile(name, nil, 0o600)
			return name
		}, "not a directory"},
		{"state is a link", func(t *testing.T) string {
			dir := t.TempDir()
			os.Symlink(t.TempDir(), filepath.Join(dir, "state"))
			return dir
		}, "is a link"},
		{"runs is a file", func(t *testing.T) string {
			dir := t.TempDir()
			os.WriteFile(filepath.Join(dir, "runs"), nil, 0o600)
			return dir
		}, "is not a directory"},
		{"a loop of links", func(t *testing.T) string {
			name := filepath.Join(t.TempDir(), "loop")
			os.Symlink(name, name)
			return name
		}, "leads to itself"},
		{"below a file", func(t *testing.T) string {
			name := filepath.Join(t.TempDir(), "file")
			os.WriteFile(name, nil, 0o600)
			return filepath.Join(name, "home")
		}, "not a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if e := refusal(t, tt.make(t)); !strings.Contains(e.Message, tt.want) {
				t.Errorf("said %q, want %q", e.Message, tt.want)
			}
		})
	}
}

func TestT16_HomeOfAnotherUserIsRefused(t *testing.T) {
	need.Root(t)
	dir := t.TempDir()
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if e := refusal(t, dir); !strings.Contains(e.Message, "belongs to another user (uid 12345") {
		t.Errorf("said %q", e.Message)
	}
	below := filepath.Join(dir, "home")
	os.Mkdir(below, 0o700)
	if e := refusal(t, below); !strings.Contains(e.Message, "could replace it") {
		t.Errorf("said %q", e.Message)
	}
}

func TestT18_SocketPathBound(t *testing.T) {
	base := t.TempDir()
	fill := func(n int) string {
		return filepath.Join(base, strings.Repeat("d", n-len(base)-1-len("/state/server.sock")))
	}
	if h := open(t, fill(107)); h.Check() != nil {
		t.Errorf("107 bytes: %v", h.Check())
	}
	err := open(t, fill(108)).Check()
	e, ok := errors.AsType[*wire.Error](err)
	if !ok || !strings.Contains(e.Message, "108 bytes") || !strings.Contains(e.Message, "at most 107") || e.Hint == "" {
		t.Errorf("108 bytes: %v", err)
	}
}

func TestT31_RunHandlesStayInside(t *testing.T) {
	h := open(t, t.TempDir())
	for _, handle := range []wire.RunHandle{"", ".", "..", "../state", "/etc", "a/b", "a\x00b"} {
		if root, err := h.RunRoot(handle); err == nil {
			root.Close()
			t.Errorf("%q was opened", handle)
		}
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(h.Path(), "runs", "codex-aaaaaa")); err != nil {
		t.Fatal(err)
	}
	if root, err := h.RunRoot("codex-aaaaaa"); err == nil {
		root.Close()
		t.Error("a link out of the home was followed")
	}
}

func TestLocate(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(key string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == key {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, tt := range []struct {
		path   string
		getenv func(string) string
		want   string
	}{
		{"/a/b", env("SCV_HOME", "/c"), "/a/b"},
		{"", env("SCV_HOME", "/c", "HOME", "/h"), "/c"},
		{"", env("HOME", "/h"), "/h/.scv"},
	} {
		if got, err := home.Locate(tt.path, tt.getenv); got != tt.want || err != nil {
			t.Errorf("Locate(%q) = %q, %v; want %q", tt.path, got, err, tt.want)
		}
	}
	if _, err := home.Locate("", env()); err == nil {
		t.Error("no home at all was accepted")
	}
}

func TestPretty(t *testing.T) {
	t.Setenv("HOME", "/home/you")
	for in, want := range map[string]string{
		"/home/you/.scv": "~/.scv", "/home/you": "~", "/home/younger": "/home/younger", "/x": "/x",
	} {
		if got := home.Pretty(in); got != want {
			t.Errorf("Pretty(%q) = %q, want %q", in, got, want)
		}
	}
}
