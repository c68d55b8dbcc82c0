package hub_test

import (
	"testing"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

func (b *bench) follow(how hub.Following, of row.Job, same bool, failed *wire.JobRef) (hub.Accepted, error) {
	b.t.Helper()
	a, ticket, err := b.Jobs().Follow(hub.FollowRequest{
		How: how, Of: of, Same: same, Prompt: row.Prompt{Text: string(how) + " of " + of.Task}, Task: of.Task, Failed: failed,
	})
	if err == nil {
		b.wait(ticket)
	}
	return a, err
}

// TestResume: an interrupted job is gone on with before what waits behind it; only once, unless that came to nothing.
func TestResume(t *testing.T) {
	d := newDisk()
	b, all, o := line(t, d)
	b.report(o.Run.Handle, row.Step{Kind: row.StepTurnStarted, Turn: 1})
	if _, err := b.follow(hub.Resuming, b.job(all[0]), true, nil); reason(err) != wire.ReasonBusy {
		t.Fatalf("of a running job: %v", err)
	}
	b.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeLost})
	again, err := b.follow(hub.Resuming, b.job(all[0]), true, nil)
	if err != nil {
		t.Fatal(err)
	}
	old := b.job(all[0])
	if old.ResumedAs == nil || *old.ResumedAs != again.Ref || old.Resumable || *b.job(again).Resumes != old.Ref() {
		t.Fatalf("the chain: %+v, %+v", old.Job, b.job(again).Job)
	}
	o = b.launched()
	if got := b.Runs().Wishes(o.Run.Handle).Turn.Prompt; got != "resume of 1" {
		t.Fatalf("given %q", got)
	}
	if _, err := b.follow(hub.Resuming, old, true, nil); reason(err) != wire.ReasonConflict {
		t.Fatalf("a second time: %v", err)
	}
	b.stop() // the chain survives
	b = open(t, d, nil)
	b.launched()
	b.report(o.Run.Handle, row.Step{Kind: row.StepTurnStarted, Turn: 2, Pos: row.Pos{Frame: 100}},
		row.Step{Kind: row.StepTurnEnded, Turn: 2, Pos: row.Pos{Frame: 101}, End: &row.End{State: wire.StateFailed, Class: "session"}})
	b.leave(o.Run.Handle)
	if old = b.job(all[0]); !old.Resumable {
		t.Fatal("a resume that came to nothing cannot be tried again")
	}
	o = b.launched() // what waited behind it
	third, err := b.follow(hub.Resuming, old, false, old.ResumedAs)
	if err != nil {
		t.Fatal(err)
	}
	if *b.job(third).Conversation == *old.Conversation || *b.job(all[0]).ResumedAs != third.Ref {
		t.Errorf("the third: %+v", b.job(third).Job)
	}
	if _, err := b.follow(hub.Resuming, b.job(again), true, nil); reason(err) != wire.ReasonConflict {
		t.Errorf("of a failed job: %v", err)
	}
}

func TestRetryAndFork(t *testing.T) {
	d := newDisk()
	b := open(t, d, func(o *hub.Options) { o.Limits.FinishedListed = 1 })
	q := request("1")
	q.Model, q.Mode = "m", "always"
	first := b.startAs(q)
	finish(b, b.launched(), wire.StateFailed)
	old := b.job(first)
	b.start("2")
	finish(b, b.launched(), wire.StateCompleted) // the first is in the archive only
	retry, err := b.follow(hub.Retrying, old, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if j := b.job(retry); *j.Conversation == *old.Conversation || *j.Retries != old.Ref() || j.Model != "m" || string(*j.Mode) != "always" {
		t.Errorf("the retry: %+v", j)
	}
	b.launched()
	same, err := b.follow(hub.Retrying, old, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if j := b.job(same); *j.Conversation != *old.Conversation {
		t.Errorf("the retry in the same: %+v", j.Job)
	}
	b.launched()
	fork, ticket, err := b.Jobs().Follow(hub.FollowRequest{How: hub.Forking, Key: "k", Of: old, Agent: "live", Prompt: row.Prompt{Text: "p"}, Task: "p"})
	if err != nil {
		t.Fatal(err)
	}
	b.wait(ticket)
	if j := b.job(fork); j.Agent != "live" || j.Model != "" || *j.Forks != old.Ref() {
		t.Errorf("the fork: %+v", j)
	}
	again, _, err := b.Jobs().Follow(hub.FollowRequest{How: hub.Forking, Key: "k", Of: old, Agent: "live", Prompt: row.Prompt{Text: "p"}, Task: "p"})
	if err != nil || again.Ref != fork.Ref {
		t.Errorf("the same key again: %+v, %v", again, err)
	}
}
