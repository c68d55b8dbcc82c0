package work

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"scv/internal/wire"
)

// What another git process has locked is waited for, then named; and then nothing is changed, whatever git did by then.
func TestOwnersLocksAreToldAndBreakNothing(t *testing.T) {
	for name, lock := range map[string]string{"index": ".git/index.lock", "branch": ".git/refs/heads/main.lock", "HEAD": ".git/HEAD.lock"} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			_, s := l.tree("work")
			l.write(s.At.Top+"/a", "mine\n")
			l.write(s.At.Top+"/new", "new\n")
			l.open(l.home, time.Millisecond)
			l.write(l.top+"/loose", "of the owner\n")
			before := l.owner(l.top, "rev-parse", "HEAD")
			l.write(filepath.Join(l.top, lock), "")
			for _, how := range []wire.ApplyHow{wire.ApplyMerge, wire.ApplySquash, wire.ApplyRebase} {
				_, err := l.Apply(t.Context(), s, Order{How: how, Message: "m"})
				l.refused(err, wire.ReasonBusy, "nothing was changed: another git process works there (it holds "+filepath.Join(l.top, lock)+")")
			}
			l.must(os.Remove(filepath.Join(l.top, lock)))
			if got := l.owner(l.top, "status", "--porcelain"); got != "?? loose" || l.owner(l.top, "rev-parse", "HEAD") != before {
				t.Errorf("the checkout has\n%s", got)
			}
			_, err := l.Apply(t.Context(), s, Order{How: wire.ApplyMerge, Message: "m"})
			l.must(err)
			if l.read(l.top+"/a") != "mine\n" || l.owner(l.top, "status", "--porcelain") != "?? loose" {
				t.Error("it did not come home once the lock was gone")
			}
		})
	}
}

// A lock that goes away in time is no failure: the command is given again, and then once only.
func TestLockThatGoesAwayIsWaitedFor(t *testing.T) {
	l := newLab(t)
	_, s := l.tree("work")
	real, err := exec.LookPath("git")
	l.must(err)
	lock, tries := filepath.Join(s.At.GitDir, "index.lock"), filepath.Join(l.base, "tries")
	l.must(os.Mkdir(l.base+"/bin", 0o700))
	l.must(os.WriteFile(l.base+"/bin/git", []byte("#!/bin/sh\ncase \" $* \" in *' add --all '*)\n\techo x >>'"+tries+"'\n\t[ \"$(wc -l <'"+tries+"')\" -lt 3 ] || rm -f '"+lock+"' ;;\nesac\nexec '"+real+"' \"$@\"\n"), 0o700))
	t.Setenv("PATH", l.base+"/bin:"+os.Getenv("PATH"))
	l.open(l.home, time.Hour)
	l.write(s.At.Top+"/a", "mine\n")
	l.write(lock, "")
	head, files, err := l.Commit(t.Context(), s, "m")
	if err != nil || files != 1 || head != l.owner(s.At.Top, "rev-parse", "HEAD") || l.read(tries) != "x\nx\nx\n" {
		t.Errorf("committed %d files as %s after %q: %v", files, head, l.read(tries), err)
	}
}
