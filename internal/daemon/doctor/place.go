package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"scv/internal/home"
)

// Bounds of free space, in bytes: below the first a warning, below the second a problem.
const (
	lowSpace  = 512 << 20
	fullSpace = 64 << 20
)

// readOnly is the flag of a file system that cannot be written: ST_RDONLY on Linux, MNT_RDONLY on macOS.
const readOnly = 1

// modes looks whether folders and files of the home are the owner's alone.
func modes(_ context.Context, p Patient) (out []Finding) {
	for name, want := range map[string]fs.FileMode{
		".": home.DirMode, "state": home.DirMode, "state/ctl": home.DirMode, "runs": home.DirMode, "private": home.DirMode,
		"config.toml": home.FileMode, "state/ledger.db": home.FileMode, "state/accepted.jsonl": home.FileMode,
		"state/daemon.log": home.FileMode, "state/server.lock": home.FileMode,
	} {
		info, err := p.Home.Root().Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		path := home.Pretty(p.Home.Path() + "/" + name)
		switch {
		case err != nil:
			out = append(out, Finding{Check: "modes", Verdict: Problem, Text: err.Error(), Fix: "ls -ld " + path})
		case info.Mode()&fs.ModeSymlink != 0:
			out = append(out, Finding{Check: "modes", Verdict: Problem, Text: path + " is a link, and SCV follows none there", Fix: "ls -l " + path})
		case info.Mode().Perm()&0o077 != 0:
			out = append(out, Finding{
				Check: "modes", Verdict: Problem, Text: fmt.Sprintf("%s can be opened by others (mode %04o)", path, info.Mode().Perm()),
				Fix: fmt.Sprintf("chmod %o %s", want, path), mend: func() error { return p.Home.Root().Chmod(name, want) },
			})
		}
	}
	if len(out) == 0 {
		return ok("modes", "the home is its owner's alone")
	}
	return out
}

// place looks whether the home can hold a daemon at all.
func place(_ context.Context, p Patient) []Finding {
	if err := p.Home.Check(); err != nil {
		return one(Finding{Check: "home", Verdict: Problem, Text: err.Error(), Fix: "export SCV_HOME=/home/you/.scv"})
	}
	return ok("home", home.Pretty(p.Home.Path()))
}

// daemonState compares lock, socket and what answers.
func daemonState(_ context.Context, p Patient) []Finding {
	d := p.Daemon
	held, err := lockHeld(p.Home.LockPath())
	_, socketErr := os.Lstat(p.Home.Socket())
	switch {
	case d.Silent:
		who := "the daemon"
		fix := "wait, then: scv status"
		if d.PID > 0 {
			who, fix = fmt.Sprintf("the daemon (process %d)", d.PID), fmt.Sprintf("kill -9 %d && scv start   Runs survive that", d.PID)
		}
		return one(Finding{Check: "daemon", Verdict: Problem, Text: who + " does not answer", Fix: fix})
	case d.Running:
		out := []Finding{{Check: "daemon", Verdict: OK, Text: fmt.Sprintf("process %d answers", d.PID)}}
		if err == nil && !held {
			out[0] = Finding{
				Check: "daemon", Verdict: Problem, Text: fmt.Sprintf("process %d answers without holding the home's lock", d.PID),
				Fix: "scv stop && scv start",
			}
		}
		if d.Version != p.Version {
			out = append(out, Finding{
				Check: "version", Verdict: Warn, Text: "the daemon is of release " + d.Version + ", this program of " + p.Version, Fix: "scv restart",
			})
		}
		for _, text := range d.Problems {
			out = append(out, Finding{Check: "daemon", Verdict: Warn, Text: text, Fix: "scv status"})
		}
		return out
	case err != nil:
		return one(Finding{Check: "daemon", Verdict: Problem, Text: "the lock cannot be looked at: " + err.Error(), Fix: "ls -l " + home.Pretty(p.Home.LockPath())})
	case held:
		return one(Finding{
			Check: "daemon", Verdict: Problem, Text: "a process holds the home's lock and listens nowhere",
			Fix: "find it: fuser " + home.Pretty(p.Home.LockPath()) + "   Runs survive its end",
		})
	case socketErr == nil:
		return one(Finding{
			Check: "daemon", Verdict: Warn, Text: "no daemon runs; one that was killed left its socket", Fix: "scv start", alone: true,
			mend: func() error { return os.Remove(p.Home.Socket()) },
		})
	}
	return ok("daemon", "no daemon runs; commands start it: scv start")
}

// lockHeld looks at a lock for an instant, without taking it from anybody.
func lockHeld(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

func disk(_ context.Context, p Patient) []Finding {
	var st unix.Statfs_t
	if err := unix.Statfs(p.Home.Path(), &st); err != nil {
		return one(Finding{Check: "disk", Verdict: Problem, Text: "the home's disk cannot be looked at: " + err.Error(), Fix: "df " + home.Pretty(p.Home.Path())})
	}
	free := uint64(st.Bavail) * uint64(st.Bsize)
	f := Finding{Check: "disk", Verdict: OK, Text: fmt.Sprintf("%d MiB free", free>>20)}
	switch {
	case st.Flags&readOnly != 0:
		f.Verdict, f.Text, f.Fix = Problem, "the home's disk is read-only", "mount -o remount,rw its file system"
	case free < fullSpace:
		f.Verdict, f.Fix = Problem, "free some space: df -h "+home.Pretty(p.Home.Path())
	case free < lowSpace:
		f.Verdict, f.Fix = Warn, "free some space: df -h "+home.Pretty(p.Home.Path())
	}
	return one(f)
}
