package run

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/run/control"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// outsideText is in a file outside that links are laid to: whoever follows one changes or shows it.
const outsideText = "nobody's business\n"

// hostile are the ways in which a file of a run's directory may be other than it was written.
func hostile(name string) map[string]func(t *testing.T, dir, outside string) {
	put := func(make func(path, outside string) error) func(*testing.T, string, string) {
		return func(t *testing.T, dir, outside string) {
			t.Helper()
			path := filepath.Join(dir, name)
			if err := errors.Join(os.WriteFile(outside, []byte(outsideText), 0o600), os.RemoveAll(path), make(path, outside)); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := map[string]func(*testing.T, string, string){
		"missing":        put(func(string, string) error { return nil }),
		"empty":          put(func(path, _ string) error { return os.WriteFile(path, nil, 0o600) }),
		"garbage":        put(func(path, _ string) error { return os.WriteFile(path, []byte("\x00\xff{]"), 0o600) }),
		"a folder":       put(func(path, _ string) error { return os.Mkdir(path, 0o700) }),
		"a link":         put(func(path, outside string) error { return os.Symlink(outside, path) }),
		"a link to none": put(func(path, outside string) error { return os.Symlink(outside+"-none", path) }),
		"a pipe":         put(func(path, _ string) error { return syscall.Mkfifo(path, 0o600) }),
		"a socket":       put(makeSocket),
		"huge":           put(makeHuge),
	}
	if os.Geteuid() == 0 {
		all["of somebody else"] = put(func(path, _ string) error {
			return errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Chown(path, 12345, 12345))
		})
	}
	return all
}

func makeSocket(path, _ string) error {
	short := filepath.Join(filepath.Dir(filepath.Dir(path)), "s") // a socket's path is short, and it may be moved
	at, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return err
	}
	at.SetUnlinkOnClose(false)
	return errors.Join(os.Rename(short, path), at.Close())
}

func makeHuge(path, _ string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(1<<40), f.Close())
}

// TestHostileFilesOfARun: each file of a run's directory in turn is missing, empty, garbage, a folder, a link out of the
// home, a pipe, a socket, a terabyte, or somebody else's, while the run goes on behind its shim and after it was killed.
// The next daemon hangs at none of it, follows no link, and either says the run's end or says that it is unknown and why;
// what it said before is not lost for another's sake.
func TestHostileFilesOfARun(t *testing.T) {
	for _, file := range []string{
		control.ShimName, control.ExitName, noteName, "events.jsonl", "tail.jsonl", control.SpoolName,
		"spool/checkpoint", "spool/00000001.seg",
	} {
		for how, plant := range hostile(file) {
			t.Run(strings.ReplaceAll(file, "/", " ")+" is "+how, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, func(c *Config) { c.Timing.Backoff = 20 * time.Millisecond })
				h := b.launch("fake", "say half\ntool $ x\nhang\n")
				b.hub.await(t, h, "a tool call", func(r *hubRun) bool {
					return len(r.steps) > 0 && r.steps[len(r.steps)-1].Detail == "$ x"
				})
				b.leave()
				killShim(t, b, h)
				outside := filepath.Join(b.cwd, "outside")
				plant(t, b.home.RunDir(h), outside)
				b.again()
				r := b.hub.await(t, h, "an end, or a reason", func(r *hubRun) bool { return over(r) || life(row.LifeUnreachable)(r) })
				if r.lastLife().Detail == "" {
					t.Errorf("it says nothing: %+v", r.lastLife())
				}
				if e := r.end(); e != nil && e.State == wire.StateCompleted {
					t.Errorf("%+v", e)
				}
				if text, err := os.ReadFile(outside); err != nil || string(text) != outsideText {
					t.Errorf("a link was followed: %q, %v", text, err)
				}
				if _, err := os.Lstat(outside + "-none"); err == nil {
					t.Error("a link to nothing was followed")
				}
				made, _ := json.Marshal(r.steps)
				if strings.Contains(string(made), strings.TrimSpace(outsideText)) {
					t.Errorf("what lies outside is in %s", made)
				}
				b.leave()
				if err := os.RemoveAll(filepath.Join(b.home.RunDir(h), file)); err != nil { // so that the bench can end it
					t.Error(err)
				}
			})
		}
	}
}
