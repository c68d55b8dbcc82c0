//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"scv/internal/wire"
)

// TestS3_QueuedPromptsSurviveKills: prompts wait behind a turn, the daemon is killed after each one was accepted and
// again between the turns; each runs once, in their order, in one conversation.
func TestS3_QueuedPromptsSurviveKills(t *testing.T) {
	const waiting = 4
	l := newLab(t)
	open := l.gate()
	l.agent("codex", `while read -r line; do echo "$line" >>"$here/ran"; done
`+codexBegins+"\nread -r go <$here/gate\n"+codexSays("done")+"\n"+codexEnds)
	ids := []wire.JobID{l.start("--agent", "codex", "turn 1\n")}
	l.reaches(ids[0], wire.StateWorking)
	again := func() {
		l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
		l.ok("start")
	}
	for n := range waiting {
		code, out, errs := l.scv("jobs", "send", "-q", string(ids[0]), fmt.Sprintf("turn %d\n", n+2))
		if code != 9 {
			t.Fatalf("send %d: code %d: %s%s", n, code, out, errs)
		}
		ids = append(ids, wire.JobID(strings.TrimSpace(out)))
		again()
	}
	for n, id := range ids {
		j := l.reaches(id, wire.StateWorking)
		if *j.Conversation != "codex-1" {
			t.Errorf("%s is of %s", id, *j.Conversation)
		}
		view := l.until("the rest waits", func(v *wire.Snapshot) bool { return len(v.Jobs) == waiting+1 })
		for _, later := range ids[n+1:] {
			if got := job(view, later).State; got != wire.StateQueued {
				t.Errorf("while %s works %s is %s", id, later, got)
			}
		}
		again()
		open()
		l.until(string(id)+" has ended", func(v *wire.Snapshot) bool { return job(v, id).State.Final() })
	}
	var want []string
	for n, id := range ids {
		l.reaches(id, wire.StateCompleted)
		want = append(want, fmt.Sprintf("turn %d", n+1))
	}
	ran, err := os.ReadFile(filepath.Join(l.bin, "ran"))
	l.must(err)
	got := slices.DeleteFunc(strings.Split(string(ran), "\n"), func(s string) bool { return s == "" })
	if !slices.Equal(got, want) {
		t.Errorf("the agent was given %q, want %q", got, want)
	}
}
