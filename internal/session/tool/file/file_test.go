package file_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"scv/internal/session/tool"
	"scv/internal/session/tool/file"
	"scv/internal/wire"
)

// A bench is a workspace with its tools by name, and a folder beside it that no tool may see.
type bench struct {
	t            *testing.T
	dir, outside string
	tools        map[string]tool.Tool
}

func newBench(t *testing.T, bounds file.Bounds) bench {
	t.Helper()
	b := bench{t, t.TempDir(), t.TempDir(), map[string]tool.Tool{}}
	b.write(b.outside, "secret", "do not read")
	w, err := file.Open(b.dir, bounds)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, one := range w.Tools(true) {
		b.tools[one.Spec().Name] = one
	}
	return b
}

func (b bench) write(dir, name, content string) {
	b.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		b.t.Fatal(err)
	}
}

func (b bench) has(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// run calls a tool as the loop does: its risk first. A call that is refused there is the same as one that fails.
func (b bench) run(name string, args map[string]any) tool.Result {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	assessed, err := b.tools[name].Risk(raw)
	if err != nil {
		return tool.Failed(err)
	}
	if assessed.Summary == "" || assessed.Risk == "" {
		b.t.Errorf("%s %s is assessed as %+v", name, raw, assessed)
	}
	return b.tools[name].Run(b.t.Context(), raw, tool.Env{Dir: b.dir, Limit: 64 << 10})
}

func (b bench) expect(name string, args map[string]any, kind wire.ToolErrorKind, pattern string) tool.Result {
	b.t.Helper()
	r := b.run(name, args)
	if r.Error != kind || !regexp.MustCompile(pattern).MatchString(r.Text) {
		b.t.Errorf("%s %v: %q (%s), want %q (%s)", name, args, r.Text, r.Error, pattern, kind)
	}
	return r
}

type args = map[string]any

func TestFile_NothingLeadsOut(t *testing.T) {
	b := newBench(t, file.Bounds{})
	if err := os.Symlink(b.outside, filepath.Join(b.dir, "door")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(b.outside, "secret"), filepath.Join(b.dir, "key")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../x", "/etc/passwd", b.outside + "/secret", "door/secret", "key", "a/../../x", "pipe", ".", "x\x00y"} {
		for _, name := range []string{"read", "write", "edit"} {
			a := args{"path": path}
			switch name {
			case "write":
				a["content"] = "taken"
			case "edit":
				a["old"], a["new"] = "read", "taken"
			}
			if r := b.run(name, a); r.Error == "" || strings.Contains(r.Text, "do not read") {
				t.Errorf("%s %q: %q", name, path, r.Text)
			}
		}
	}
	for _, path := range []string{"..", "door", "/"} {
		if r := b.run("list", args{"path": path}); r.Error == "" || strings.Contains(r.Text, "secret") {
			t.Errorf("list %q: %q", path, r.Text)
		}
	}
	b.expect("search", args{"pattern": "do not"}, "", "^Nothing matches")
	if data, err := os.ReadFile(filepath.Join(b.outside, "secret")); err != nil || string(data) != "do not read" {
		t.Errorf("the file outside holds %q, %v", data, err)
	}
	// An absolute path into the workspace is the same file.
	b.expect("write", args{"path": filepath.Join(b.dir, "a.txt"), "content": "x"}, "", "Wrote a.txt")
}

func TestFile_ReadInParts(t *testing.T) {
	b := newBench(t, file.Bounds{Read: 100})
	b.write(b.dir, "a.txt", strings.Repeat("é", 100))
	first := b.expect("read", args{"path": "a.txt", "limit": 5}, "", `^\[a.txt: bytes 0 to 4 of 200\]\néé$`)
	if !first.Truncated {
		t.Error("a part passes for the whole")
	}
	b.expect("read", args{"path": "a.txt", "offset": 3, "limit": 4}, "", `bytes 3 to \d+ of 200\]\né$`)
	b.expect("read", args{"path": "a.txt"}, "", `bytes 0 to 100 of 200`)
	b.expect("read", args{"path": "a.txt", "offset": 1000}, "", `bytes 1000 to 1000 of 200\]\n$`)
	b.write(b.dir, "b.bin", "a\x00b")
	b.expect("read", args{"path": "b.bin"}, wire.ToolErrorFailed, "not UTF-8")
	b.expect("read", args{"path": "gone"}, wire.ToolErrorFailed, "^gone does not exist")
	b.expect("read", args{"path": "a.txt", "offset": -1}, wire.ToolInvalidArguments, "negative")
	b.expect("read", args{"file": "a.txt"}, wire.ToolInvalidArguments, "unknown field")
}

func TestFile_WriteKeepsWhatChangedMeanwhile(t *testing.T) {
	b := newBench(t, file.Bounds{Write: 20})
	b.expect("write", args{"path": "new/dir/a.txt", "content": "one", "expected_hash": "none"}, "", "^Wrote new/dir/a.txt, 3 bytes")
	b.expect("write", args{"path": "new/dir/a.txt", "content": "two", "expected_hash": "none"}, wire.ToolErrorFailed, "exists already")
	hash := regexp.MustCompile(`hash ([0-9a-f]{16})`).FindStringSubmatch(b.run("read", args{"path": "new/dir/a.txt"}).Text)[1]
	b.write(b.dir, "new/dir/a.txt", "theirs")
	b.expect("write", args{"path": "new/dir/a.txt", "content": "two", "expected_hash": hash}, wire.ToolErrorFailed, "has changed")
	if got := b.has("new/dir/a.txt"); got != "theirs" {
		t.Errorf("it holds %q", got)
	}
	b.expect("write", args{"path": "gone.txt", "content": "x", "expected_hash": hash}, wire.ToolErrorFailed, "does not exist any more")
	b.expect("write", args{"path": "a", "content": strings.Repeat("x", 21)}, wire.ToolLimit, "larger than")
	if err := os.Chmod(filepath.Join(b.dir, "new/dir/a.txt"), 0o750); err != nil {
		t.Fatal(err)
	}
	b.expect("write", args{"path": "new/dir/a.txt", "content": "three"}, "", "Wrote")
	info, err := os.Stat(filepath.Join(b.dir, "new/dir/a.txt"))
	if err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	left, err := filepath.Glob(filepath.Join(b.dir, "new/dir/.scv-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestFile_EditOnePlace(t *testing.T) {
	b := newBench(t, file.Bounds{})
	b.write(b.dir, "a.go", "aa bb aa")
	b.expect("edit", args{"path": "a.go", "old": "aa", "new": "c"}, wire.ToolErrorFailed, "stands 2 times")
	b.expect("edit", args{"path": "a.go", "old": "zz", "new": "c"}, wire.ToolErrorFailed, "does not stand")
	b.expect("edit", args{"path": "a.go", "old": "", "new": "c"}, wire.ToolInvalidArguments, "old must be")
	b.expect("edit", args{"path": "a.go", "old": "bb", "new": "x$1"}, "", "Changed 1 places")
	b.expect("edit", args{"path": "a.go", "old": "aa", "new": "c", "all": true}, "", "Changed 2 places")
	if got := b.has("a.go"); got != "c x$1 c" {
		t.Errorf("it holds %q", got)
	}
}

func TestFile_ListAndSearch(t *testing.T) {
	b := newBench(t, file.Bounds{})
	for _, name := range []string{"a.go", "dir/b.go", "dir/deep/c.txt", ".git/config"} {
		b.write(b.dir, name, "first\nneedle "+name+"\n")
	}
	b.write(b.dir, "blob", "needle\x00")
	b.expect("list", args{}, "", `^\.git/\na\.go\nblob\ndir/\n$`)
	b.expect("list", args{"path": "dir", "depth": 3}, "", `^b\.go\ndeep/\ndeep/c\.txt\n$`)
	b.expect("list", args{"depth": 5}, "", `dir/deep/c\.txt`)
	if r := b.run("list", args{"depth": 5}); strings.Contains(r.Text, ".git/config") {
		t.Errorf("%q", r.Text)
	}
	b.expect("list", args{"path": "gone"}, wire.ToolErrorFailed, "does not exist")
	b.expect("list", args{"depth": 6}, wire.ToolInvalidArguments, "depth")
	b.expect("search", args{"pattern": "ne+dle"}, "", `^a\.go:2: needle a\.go\ndir/b\.go:2: .*\ndir/deep/c\.txt:2: .*\n$`)
	b.expect("search", args{"pattern": "needle", "glob": "*.txt"}, "", `^dir/deep/c\.txt:2: needle dir/deep/c\.txt\n$`)
	b.expect("search", args{"pattern": "needle", "path": "dir/b.go"}, "", `^dir/b\.go:2`)
	b.expect("search", args{"pattern": "("}, wire.ToolInvalidArguments, "no regular expression")
	b.expect("search", args{"pattern": "x", "glob": "["}, wire.ToolInvalidArguments, "glob")
	b.write(b.dir, "many", strings.Repeat("needle\n", 500))
	if r := b.expect("search", args{"pattern": "needle", "path": "many"}, "", "only the first 200 lines"); !r.Truncated {
		t.Error("it passes for all")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := b.tools["search"].Run(ctx, json.RawMessage(`{"pattern":"x"}`), tool.Env{Dir: b.dir}); r.Error != wire.ToolCancelled {
		t.Errorf("%+v", r)
	}
}

func TestFile_RiskOfPlacesThatProgramsBelieve(t *testing.T) {
	b := newBench(t, file.Bounds{})
	for path, want := range map[string]tool.Risk{"a.txt": tool.Filesystem, ".git/hooks/pre-commit": tool.Process, "sub/.scv/setup": tool.Process} {
		raw, err := json.Marshal(args{"path": path, "content": "x"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.tools["write"].Risk(raw); err != nil || got.Risk != want {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
	if w, err := file.Open(b.dir, file.Bounds{}); err != nil || len(w.Tools(false)) != 3 || w.Close() != nil {
		t.Errorf("%v", err)
	}
}
