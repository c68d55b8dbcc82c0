//go:build linux

package doctor

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/daemon/seat"
	"scv/internal/home"
	"scv/internal/run/control"
	"scv/internal/testkit/census"
	"scv/internal/testkit/need"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

func TestMain(m *testing.M) { os.Exit(census.Main(m)) }

// A ward is a home with a patient, on which faults are planted.
type ward struct {
	t *testing.T
	Patient
}

// The runs of a ward: one that is over, and one of which the ledger knows that it may be alive.
const (
	past = wire.RunHandle("codex-0000aa")
	live = wire.RunHandle("codex-0000bb")
)

// short is a folder whose path leaves room for that of a socket.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// newWard makes a sound home in which one run has ended and one may be alive.
func newWard(t *testing.T, dir string) *ward {
	t.Helper()
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	w := &ward{t, Patient{Home: h, Version: "2", Agents: []Agent{{Name: "codex", Path: "/usr/bin/codex"}}, Now: time.Now}}
	s, err := ledger.Open(t.Context(), h, nil)
	w.must(err)
	w.must(s.Store(t.Context(), row.Batch{
		Runs:     []row.Run{{Run: wire.Run{Handle: past, Agent: "codex"}, Ended: 1}, {Run: wire.Run{Handle: live, Agent: "codex", Live: true}}},
		Accepted: []row.Accepted{{}},
	}))
	w.must(s.Close(t.Context()))
	for _, run := range []wire.RunHandle{past, live} {
		root, err := h.CreateRun(run)
		w.must(err)
		w.must(root.Close())
	}
	w.must(control.WriteRecord(h.RunDir(past), control.SpecName, control.Spec{Version: control.Protocol, Run: string(past)}, false))
	w.must(control.WriteRecord(h.RunDir(past), control.ExitName, control.Exit{Version: control.Protocol}, false))
	return w
}

func (w *ward) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *ward) at(name string) string { return filepath.Join(w.Home.Path(), name) }

func (w *ward) write(name, text string) {
	w.t.Helper()
	w.must(os.WriteFile(w.at(name), []byte(text), 0o600))
}

// state is everything in the home, with what it holds.
func (w *ward) state() string {
	w.t.Helper()
	var b strings.Builder
	w.must(filepath.WalkDir(w.Home.Path(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, "-shm") || strings.HasSuffix(path, "-wal") { // of who reads the ledger
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			fmt.Fprintf(&b, "%x ", sha256.Sum256(data))
		}
		fmt.Fprintln(&b, path, info.Mode())
		return err
	}))
	return b.String()
}

// TestASoundHomeHasNoFinding beyond what is fine.
func TestASoundHomeHasNoFinding(t *testing.T) {
	w := newWard(t, short(t))
	for _, f := range Examine(t.Context(), w.Patient) {
		if f.Verdict != OK && f.Check != "disk" { // which is that of who runs the tests
			t.Errorf("%+v", f)
		}
	}
}

// listens puts a socket at a place, that of a process which lives or has left.
func (w *ward) listens(path string, lives bool) {
	w.t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	w.must(err)
	l.SetUnlinkOnClose(lives)
	if lives {
		w.t.Cleanup(func() { _ = l.Close() })
		return
	}
	w.must(l.Close())
}

// A fault is planted, and found by a check.
type fault struct {
	plant   func(w *ward)
	check   string
	verdict Verdict
	says    string
	fix     string
	mends   string // by doctor: "", "always", or "alone", while no daemon lives
}

// faultsAbove are those of the home as a whole and of its daemon.
func faultsAbove() map[string]fault {
	return map[string]fault{
		"a folder that others read": {
			func(w *ward) { w.must(os.Chmod(w.at("runs"), 0o755)) }, "modes", Problem, "runs can be opened by others (mode 0755)", "chmod 700 ", "always",
		},
		"a link in the home": {
			func(w *ward) { w.must(os.Symlink("/etc/passwd", w.at("config.toml"))) }, "modes", Problem, "is a link", "ls -l ", "",
		},
		"a daemon that does not answer": {
			func(w *ward) { w.Daemon = Daemon{Silent: true, PID: 7} }, "daemon", Problem, "(process 7) does not answer", "kill -9 7 && scv start", "",
		},
		"a daemon without the lock": {
			func(w *ward) { w.Daemon = Daemon{Running: true, PID: 7, Version: "2"} }, "daemon", Problem, "without holding the home's lock", "scv stop && scv start", "",
		},
		"a daemon of another release": {
			func(w *ward) { w.Daemon = Daemon{Running: true, PID: 7, Version: "1"} }, "version", Warn, "of release 1, this program of 2", "scv restart", "",
		},
		"what the daemon tells": {
			func(w *ward) {
				w.Daemon = Daemon{Running: true, PID: 7, Version: "2", Problems: []string{"the disk is full"}}
			}, "daemon", Warn, "the disk is full", "scv status", "",
		},
		"a lock and no socket": {
			func(w *ward) { w.locked() }, "daemon", Problem, "holds the home's lock and listens nowhere", "fuser ", "",
		},
		"the socket of a daemon that was killed": {
			func(w *ward) { w.listens(w.Home.Socket(), false) }, "daemon", Warn, "left its socket", "scv start", "alone",
		},
		"a ledger of nonsense": {
			func(w *ward) { w.write("state/ledger.db", strings.Repeat("nonsense", 4096)) }, "ledger", Problem, "not a database", "scv doctor --rebuild-ledger", "",
		},
	}
}

// faultsWithin are those of what lies in the home, and of what it needs.
func faultsWithin() map[string]fault {
	return map[string]fault{
		"no ledger": {
			func(w *ward) { w.must(os.Remove(w.at("state/ledger.db"))) }, "ledger", Problem, "is missing", "scv start", "",
		},
		"a copy of nonsense": {
			func(w *ward) { w.write("state/ledger.copy", strings.Repeat("nonsense", 4096)) }, "copy", Warn, "ledger.copy: ", "rm ", "",
		},
		"a line of nonsense among what was accepted": {
			func(w *ward) { w.write("state/accepted.jsonl", "nonsense\n") }, "accepted", Warn, "1 line of accepted.jsonl cannot be read, 0 lines can", "ls ", "",
		},
		"a half-made file": {
			func(w *ward) { w.write("state/ledger.copy.new", "half") }, "files", Warn, "ledger.copy.new was left half-made", "scv doctor --fix", "alone",
		},
		"a ledger that was set aside": {
			func(w *ward) { w.must(os.Mkdir(w.at("state/broken-1"), 0o700)) }, "files", Warn, "holds a ledger that was set aside", "rm -r ", "",
		},
		"a file among the runs": {
			func(w *ward) { w.write("runs/codex-0000cc", "") }, "runs", Problem, "codex-0000cc is no folder", "ls -l ", "",
		},
		"a run that the ledger does not know": {
			func(w *ward) { w.must(os.Mkdir(w.at("runs/codex-0000cc"), 0o700)) }, "runs", Warn, "1 folder of runs that the ledger does not know", "ls ", "",
		},
		"a run without its folder": {
			func(w *ward) { w.must(os.RemoveAll(w.Home.RunDir(live))) }, "runs", Problem, "the folder of codex-0000bb, which may be alive, is gone", "scv agents ps", "",
		},
		"raw text that was left": {
			func(w *ward) { w.must(os.Mkdir(filepath.Join(w.Home.RunDir(past), control.SpoolName), 0o700)) }, "spool", Warn, "unmasked text of codex-0000aa", "scv doctor --fix", "alone",
		},
		"the socket of a shim that is gone": {
			func(w *ward) { w.listens(w.Home.CtlSocket(past), false) }, "sockets", Warn, "was left by a shim that is gone", "scv doctor --fix", "alone",
		},
		"a folder among the sockets": {
			func(w *ward) { w.must(os.Mkdir(w.Home.CtlSocket(past), 0o700)) }, "sockets", Warn, "is a folder", "mv ", "",
		},
		"an agent that is missing": {
			func(w *ward) {
				w.Agents = []Agent{{Name: "claude", Problem: "claude was not found", Install: "npm install it"}}
			}, "agent claude", Warn, "claude was not found", "npm install it", "",
		},
		"no git": {
			func(w *ward) { w.t.Setenv("PATH", w.at("nowhere")) }, "git", Warn, "git was not found", "install git", "",
		},
	}
}

// TestEachFaultIsFoundAndSaid: what is wrong is found by its check, as bad as it is, in a sentence with what mends it.
// Looking changes nothing. Mending mends what is safe, and what could meet a daemon only while there is none.
func TestEachFaultIsFoundAndSaid(t *testing.T) {
	all := faultsAbove()
	maps.Copy(all, faultsWithin())
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			w := newWard(t, short(t))
			c.plant(w)
			before := w.state()
			found := w.finds(c.check, c.says)
			if found == nil {
				t.Fatalf("%q is not found among %+v", c.says, Examine(t.Context(), w.Patient))
			}
			if found.Verdict != c.verdict || !strings.Contains(found.Fix, c.fix) {
				t.Errorf("it is a %s, mended by %q, want %s, %q", found.Verdict, found.Fix, c.verdict, c.fix)
			}
			if after := w.state(); after != before {
				t.Errorf("looking has changed the home:\n%s\nwas\n%s", after, before)
			}
			w.mends(c.check, c.says, c.mends)
		})
	}
}

// finds looks for a finding.
func (w *ward) finds(check, says string) *Finding {
	w.t.Helper()
	for _, f := range Examine(w.t.Context(), w.Patient) {
		if f.Check == check && strings.Contains(f.Text, says) {
			return &f
		}
	}
	return nil
}

// mends has the doctor mend all that it finds, first beside a daemon, and wants one fault to be gone then or not.
func (w *ward) mends(check, says, when string) {
	w.t.Helper()
	beside := func() bool {
		defer w.locked()()
		all := Examine(w.t.Context(), w.Patient)
		Mend(w.Patient, all)
		return w.finds(check, says) == nil
	}
	if check != "daemon" { // which sees the lock
		if gone := beside(); gone != (when == "always") {
			w.t.Errorf("beside a daemon it is mended: %v", gone)
		}
	}
	all := Examine(w.t.Context(), w.Patient)
	Mend(w.Patient, all)
	if gone := w.finds(check, says) == nil; gone != (when != "") {
		w.t.Errorf("with no daemon it is mended: %v", gone)
	}
	for _, f := range all {
		if f.Check == check && strings.Contains(f.Text, says) && f.Fixed != (when == "alone") {
			w.t.Errorf("mended and said to be: %+v", f)
		}
	}
}

// locked takes the home's lock, as a daemon does, until the test's end or until it is called.
func (w *ward) locked() (release func()) {
	w.t.Helper()
	lock, err := seat.TakeLock(w.Home)
	w.must(err)
	release = func() { _ = lock.Release() } // a second time does nothing
	w.t.Cleanup(release)
	return release
}

// TestASocketThatAnswersIsLeft: a shim that lives keeps its socket, whatever else is mended.
func TestASocketThatAnswersIsLeft(t *testing.T) {
	w := newWard(t, short(t))
	w.listens(w.Home.CtlSocket(live), true)
	w.listens(w.Home.CtlSocket(past), false)
	Mend(w.Patient, Examine(t.Context(), w.Patient))
	if _, err := os.Lstat(w.Home.CtlSocket(past)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket of a shim that is gone: %v", err)
	}
	if _, err := os.Lstat(w.Home.CtlSocket(live)); err != nil {
		t.Errorf("the socket of a shim that lives: %v", err)
	}
}

// TestRawTextOfARunThatIsNotOverIsLeft: the ledger may say that a run has ended while its shim holds the lock.
func TestRawTextOfARunThatIsNotOverIsLeft(t *testing.T) {
	w := newWard(t, short(t))
	spool := filepath.Join(w.Home.RunDir(past), control.SpoolName)
	w.must(os.Mkdir(spool, 0o700))
	lock, err := os.Open(filepath.Join(w.Home.RunDir(past), control.SpecName))
	w.must(err)
	defer lock.Close()
	w.must(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	Mend(w.Patient, Examine(t.Context(), w.Patient))
	if _, err := os.Stat(spool); err != nil {
		t.Error(err)
	}
}

// TestTheDiskIsLookedAt: little room is told before there is none, and a disk that cannot be written at all.
func TestTheDiskIsLookedAt(t *testing.T) {
	dir := short(t)
	need.Disk(t, dir, "600m")
	w := newWard(t, dir)
	for _, c := range []struct {
		option, says string
		verdict      Verdict
	}{
		{"size=600m", "MiB free", OK}, {"size=300m", "MiB free", Warn}, {"size=32m", "MiB free", Problem}, {"ro", "read-only", Problem},
	} {
		need.Remount(t, dir, c.option)
		if f := w.finds("disk", c.says); f == nil || f.Verdict != c.verdict || (f.Fix == "") != (c.verdict == OK) {
			t.Errorf("%s: %+v", c.option, f)
		}
	}
	need.Remount(t, dir, "size=600m") // for the end
}

// TestALedgerOfALaterLayoutIsLeft to the program that wrote it: both numbers are told, and nothing is offered that would
// touch it.
func TestALedgerOfALaterLayoutIsLeft(t *testing.T) {
	w := newWard(t, short(t))
	path := w.at("state/ledger.db")
	data, err := os.ReadFile(path)
	w.must(err)
	if n := bytes.Count(data, []byte("layout1")); n != 1 {
		t.Fatalf("the layout stands there %d times", n)
	}
	w.must(os.WriteFile(path, bytes.Replace(data, []byte("layout1"), []byte("layout9"), 1), 0o600))
	if f := w.finds("ledger", "layout 9"); f == nil || f.Verdict != Problem || !strings.Contains(f.Text, "up to 1") || f.Fix != "use the newer scv" {
		t.Errorf("%+v", f)
	}
}
