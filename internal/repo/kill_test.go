package repo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/home"
	"scv/internal/repo/git"
	"scv/internal/run/proc"
)

// makerEnv makes the test's program a process that creates one worktree, to be killed: its value names the home, the
// intent follows on standard input.
const makerEnv = "SCV_TEST_MAKER"

func maker() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h, err := home.Open(os.Getenv(makerEnv))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var in Intent
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	trees := New(Options{Home: h, Environ: os.Environ(), Boot: "boot-1", Now: time.Now})
	if _, err := trees.Create(ctx, in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// stuck gives the owner a filter that tells when it runs and then waits until the test lets it go on.
func (l *lab) stuck() (started, release string) {
	started, release = filepath.Join(l.base, "started"), filepath.Join(l.base, "release")
	for _, fifo := range []string{started, release} {
		l.must(syscall.Mkfifo(fifo, 0o600))
	}
	l.write(l.top+"/.gitattributes", "slow filter=slow\n")
	l.write(l.top+"/slow", "text\n")
	l.commit(l.top, "slow")
	l.owner(l.top, "config", "--global", "filter.slow.smudge", "echo here > '"+started+"'; read x < '"+release+"'; cat")
	return started, release
}

func (l *lab) unstick() { l.owner(l.top, "config", "--global", "filter.slow.smudge", "cat") }

// cutOff starts a Create in another process, and kills that when git has begun to check files out.
func (l *lab) cutOff(in Intent, started string) {
	l.t.Helper()
	exe, err := os.Executable()
	l.must(err)
	cmd := exec.CommandContext(l.t.Context(), exe)
	cmd.Env = append([]string{makerEnv + "=" + l.home.Path()}, l.env...)
	data, err := json.Marshal(in)
	l.must(err)
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(data)), os.Stderr
	l.must(cmd.Start())
	l.read(started) // the filter runs
	l.must(cmd.Process.Kill())
	_ = cmd.Wait()
}

// gits are the git processes that still make a worktree.
func (l *lab) gits(in Intent) []proc.Identity {
	l.t.Helper()
	list, err := proc.Marked(git.MakingMark, in.Path)
	l.must(err)
	var ids []proc.Identity
	for _, p := range list {
		if id, err := proc.Of(p.PID); err == nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		l.t.Fatal("git does not run any more")
	}
	return ids
}

func TestR9_B2_KilledInTheMiddleOfACreate(t *testing.T) {
	for _, tc := range []struct {
		name string
		git  func(l *lab, ids []proc.Identity, release string)
	}{
		{"git goes on and ends by itself", func(l *lab, _ []proc.Identity, release string) { l.write(release, "go\n") }},
		{"git dies too", func(l *lab, ids []proc.Identity, _ string) {
			for _, id := range ids {
				_ = proc.Signal(id, syscall.SIGKILL)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(t)
			started, release := l.stuck()
			in, err := l.Plan(t.Context(), l.wish())
			l.must(err)
			l.cutOff(in, started)

			ids := l.gits(in)
			found, err := l.Reconcile(t.Context(), []Intent{in})
			l.must(err)
			if len(found) != 1 || found[0].Kind != HalfMade || *found[0].Intent != in {
				t.Errorf("reconcile found %+v", found)
			}
			l.refusal(l.Undo(t.Context(), in), "busy", "still makes worktree")

			tc.git(l, ids, release)
			for _, id := range ids {
				l.must(proc.Await(t.Context(), id))
			}
			l.must(l.Undo(t.Context(), in))
			l.nothing(in)
			l.must(l.Undo(t.Context(), in)) // again is no error

			l.unstick()
			m, err := l.Create(t.Context(), in) // the same start works again
			l.must(err)
			if l.read(m.Ref.Path+"/slow") != "text\n" {
				t.Error("the worktree is not whole")
			}
		})
	}
}

// TestR9_SecondCreateRepairs does not call Undo: the same intent finds what is left and begins anew.
func TestR9_SecondCreateRepairs(t *testing.T) {
	l := newLab(t)
	started, _ := l.stuck()
	in, err := l.Plan(t.Context(), l.wish())
	l.must(err)
	l.cutOff(in, started)
	for _, id := range l.gits(in) {
		_ = proc.Signal(id, syscall.SIGKILL)
		l.must(proc.Await(t.Context(), id))
	}
	l.unstick()
	_, err = l.Create(t.Context(), in)
	l.must(err)
	found, err := l.Reconcile(t.Context(), []Intent{in})
	l.must(err)
	if len(found) != 0 {
		t.Errorf("reconcile found %+v", found)
	}
}

func TestCancelledCreateLeavesNothing(t *testing.T) {
	l := newLab(t)
	started, _ := l.stuck()
	in, err := l.Plan(t.Context(), l.wish())
	l.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := l.Create(ctx, in)
		done <- err
	}()
	l.read(started)
	cancel()
	l.refusal(<-done, "unavailable", "git could not add the worktree")
	l.nothing(in)
}
