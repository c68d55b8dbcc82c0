package hub_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// A turn of a review is made together with the fact that it began, by whoever knows all facts so far. When that cannot be
// written neither is there, nothing is started, and the next one is made once it can.
func TestReview_TurnAndItsFactAreOneCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		b := open(t, d, nil)
		q := request("build it")
		q.Review = &row.Review{Request: wire.ReviewRequest{Rounds: 3, Quorum: 1}, Journal: "rev-1-abcdef"}
		q.Tree = &row.Tree{Ref: wire.WorktreeRef{Path: "/t", Branch: "scv/t", Repo: "/w"}, Cwd: "/t", Base: "1", Plan: "{}"}
		a := b.startAs(q)
		if open := b.Reviews().Open(); len(open) != 1 || open[0].Ref() != a.Ref || b.state(a) != wire.StateWorking {
			t.Fatalf("open: %+v", open)
		}
		turn := func(seen int) (row.Job, *hub.Ticket, error) {
			return b.Reviews().Turn(hub.ReviewTurn{
				Of: a.Ref, Seen: seen, Conversation: *a.Job.Conversation, Prompt: row.Prompt{Text: "p"}, Task: "builder: build it",
				Fact: wire.ReviewFact{What: wire.ReviewTurnStarted, Round: 1, Phase: wire.PhaseBuilder},
			})
		}
		if _, _, err := turn(1); !errors.Is(err, hub.ErrMoved) {
			t.Errorf("of a review that somebody knows too little of: %v", err)
		}
		d.fail(errFull)
		made, ticket, err := turn(0)
		if err == nil {
			err = ticket.Wait(t.Context())
		}
		if reason(err) != wire.ReasonUnavailable || len(b.job(a).Review.Facts) != 0 || len(b.crew.launched) != 0 {
			t.Errorf("refused: %v, facts %+v", err, b.job(a).Review.Facts)
		}
		if j, ok := b.Jobs().Find(made.Session, made.Job.Job); ok && !j.State.Final() {
			t.Errorf("the turn is %s", j.State)
		}
		d.fail(nil)
		w := b.Watch()
		for b.Snapshot().Storage != "" {
			w.Next(b.Epoch(), 0)
			<-w.Wake()
		}
		w.Close()
		made, ticket, err = turn(0)
		b.changed("", ticket, err)
		j := b.job(a)
		if o := b.launched(); *o.Run.Job != made.Job.Job || len(j.Review.Facts) != 1 || *j.Review.Facts[0].Job != made.Job.Job || *made.Parent != a.Ref {
			t.Errorf("begun: %+v of %+v", j.Review.Facts, made.Job)
		}
		b.stop()
	})
}

// A review that has ended takes no more facts but the owner's word on it, which changes its outcome and not its state.
func TestReview_OfOneThatHasEndedOnlyTheOutcomeChanges(t *testing.T) {
	b := open(t, newDisk(), nil)
	q := request("build it")
	q.Review = &row.Review{Request: wire.ReviewRequest{Rounds: 1, Quorum: 1}, Journal: "rev-1-abcdef"}
	q.Tree = &row.Tree{Ref: wire.WorktreeRef{Path: "/t", Branch: "scv/t", Repo: "/w"}, Cwd: "/t", Base: "1", Plan: "{}"}
	a := b.startAs(q)
	outcome := func(o wire.ReviewOutcome) wire.JobOutcome {
		return wire.JobOutcome{Job: a.Job.Job.Job, Review: wire.ReviewSummary{Outcome: o, Round: 1, Rounds: 1, Journal: "rev-1-abcdef"}}
	}
	ticket, err := b.Reviews().Finish(hub.ReviewEnd{
		Of: a.Ref, Fact: wire.ReviewFact{What: wire.ReviewFinished}, Outcome: outcome(wire.ReviewUnresolved), State: wire.StateCompleted, Detail: "unresolved",
		Result: row.Result{Reply: "built"},
	})
	b.changed("", ticket, err)
	if _, err := b.Reviews().Tell(a.Ref, 1, wire.ReviewFact{What: wire.ReviewRecorded}); reason(err) == "" {
		t.Errorf("a fact after its end: %v", err)
	}
	old := b.job(a)
	ticket, err = b.Reviews().Amend(old, wire.ReviewFact{What: wire.ReviewAccepted}, wire.ReviewStatus{Round: 1}, outcome(wire.ReviewApproved), "approved")
	b.changed("", ticket, err)
	if j := b.job(a); j.State != wire.StateCompleted || j.Review.Outcome.Review.Outcome != wire.ReviewApproved || len(j.Review.Facts) != 2 || detail(j) != "approved" {
		t.Errorf("accepted: %s, %+v", j.State, j.Review)
	}
	if _, err := b.Reviews().Amend(old, wire.ReviewFact{What: wire.ReviewAccepted}, wire.ReviewStatus{}, outcome(wire.ReviewApproved), ""); !errors.Is(err, hub.ErrMoved) {
		t.Errorf("accepted by one who knows too little: %v", err)
	}
}
