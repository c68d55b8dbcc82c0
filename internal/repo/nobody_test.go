package repo

import (
	"os/exec"
	"sync"
	"testing"
)

// TestP26_OurOwnGitIsNobody: a git process that this one starts in a worktree is nobody who works there, also in the
// instant before it has become git.
func TestP26_OurOwnGitIsNobody(t *testing.T) {
	l := newLab(t)
	in, _ := l.made(l.wish())
	stop := make(chan struct{})
	var starts sync.WaitGroup
	for range 2 {
		starts.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				cmd := exec.Command("git", "--version")
				cmd.Dir = in.Path
				if err := cmd.Run(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 100 {
		if err := nobodyIn(in.Path); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	starts.Wait()
}
