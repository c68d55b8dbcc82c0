package hub_test

import (
	"strings"
	"testing"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// line is a conversation with a running turn and three prompts behind it.
func line(t *testing.T, d *disk) (b *bench, all []hub.Accepted, o row.Order) {
	t.Helper()
	b = open(t, d, nil)
	all = append(all, b.start("1"))
	o = b.launched()
	for _, p := range []string{"2", "3", "4"} {
		all = append(all, b.send(all[0].Job, p))
	}
	return b, all, o
}

// order lets all turns run and returns the prompts in the order in which they were given.
func (b *bench) order(o row.Order, n int) string {
	b.t.Helper()
	var given []string
	for range n {
		finish(b, o, wire.StateCompleted)
		o = b.launched()
		given = append(given, b.Runs().Wishes(o.Run.Handle).Turn.Prompt)
	}
	return strings.Join(given, " ")
}

func (b *bench) move(a hub.Accepted, before, after *wire.JobID) (*hub.Ticket, error) {
	_, t, err := b.Jobs().Move(hub.MoveRequest{Session: a.Job.Session, Job: a.Job.Job.Job, Before: before, After: after})
	return t, err
}

func TestQueueIsReordered(t *testing.T) {
	for _, c := range []struct {
		name          string
		which         int
		before, after int
		want          string
	}{
		{"to the front", 3, 1, 0, "4 2 3"},
		{"behind the next", 1, 0, 2, "3 2 4"},
		{"to the end", 1, 0, 0, "3 4 2"},
		{"before itself", 2, 2, 0, "2 3 4"},
		{"where it is", 2, 3, 0, "2 3 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDisk()
			b, all, o := line(t, d)
			other := b.startAs(request("other")) // another conversation keeps its turn
			b.launched()
			id := func(i int) *wire.JobID {
				if i == 0 {
					return nil
				}
				return &all[i].Job.Job.Job
			}
			ticket, err := b.move(all[c.which], id(c.before), id(c.after))
			if err != nil {
				t.Fatal(err)
			}
			b.wait(ticket)
			b.stop()
			b = open(t, d, nil) // and stays so
			for range 2 {
				b.launched()
			}
			if got := b.order(o, 3); got != c.want {
				t.Errorf("given %s, want %s", got, c.want)
			}
			_ = other
		})
	}
}

// TestMoveBesideOneThatBegan: whoever read the queue a moment ago and moves a job before its first, or behind what ran
// then, means the first place.
func TestMoveBesideOneThatBegan(t *testing.T) {
	for name, behind := range map[string]bool{"before": false, "behind": true} {
		t.Run(name, func(t *testing.T) {
			b, all, o := line(t, newDisk())
			running, before, after := &all[0].Job.Job.Job, (*wire.JobID)(nil), (*wire.JobID)(nil)
			if before = running; behind {
				before, after = nil, running
			}
			for range 2 { // the second under the same key is done already
				_, ticket, err := b.Jobs().Move(hub.MoveRequest{
					Key: "m", Session: all[3].Job.Session, Job: all[3].Job.Job.Job, Before: before, After: after,
				})
				if err != nil {
					t.Fatal(err)
				}
				b.wait(ticket)
			}
			other := b.start("in another conversation")
			b.launched()
			if _, err := b.move(all[2], &other.Job.Job.Job, nil); reason(err) != wire.ReasonNotFound {
				t.Errorf("beside another conversation's: %v", err)
			}
			if got := b.order(o, 3); got != "4 2 3" {
				t.Errorf("given %s", got)
			}
		})
	}
}

func TestS3_EditIsKeptOrRefused(t *testing.T) {
	d := newDisk()
	b, all, o := line(t, d)
	edit := func(text, key string, revision uint64) (*hub.Ticket, error) {
		_, ticket, err := b.Jobs().Edit(hub.EditRequest{
			Key: key, Session: all[1].Job.Session, Job: all[1].Job.Job.Job, Revision: &revision, Prompt: row.Prompt{Text: text}, Task: text,
		})
		return ticket, err
	}
	edited := func(when string) {
		t.Helper()
		ticket, err := edit("two", "k", 0)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		b.wait(ticket)
	}
	edited("at first")
	if d.prompt("job-2") != "two" || d.job("job-2").Task != "two" || d.job("job-2").Revision != 1 {
		t.Fatalf("on disk: %q, %+v", d.prompt("job-2"), d.job("job-2"))
	}
	edited("the same key again, with nothing new to store")
	if _, err := edit("stale", "other", 0); reason(err) != wire.ReasonConflict {
		t.Errorf("a stale edit: %v", err)
	}
	d.fail(errFull)
	ticket, err := edit("never", "x", 1)
	if err != nil {
		t.Fatal(err)
	}
	moved, err := b.move(all[3], &all[1].Job.Job.Job, nil)
	if err == nil { // else the failure of the edit's write was there first
		err = moved.Wait(t.Context())
	}
	for _, err := range []error{ticket.Wait(t.Context()), err} {
		if reason(err) != wire.ReasonUnavailable {
			t.Fatalf("not on disk: %v", err)
		}
	}
	if _, err := edit("readonly", "y", 1); reason(err) != wire.ReasonUnavailable {
		t.Errorf("while the disk is full: %v", err)
	}
	d.fail(nil)
	b.wait(b.Runs().Saved(o.Run.Handle))
	if got := b.order(o, 3); got != "two 3 4" {
		t.Errorf("given %s", got)
	}
	if _, err := edit("late", "z", 1); reason(err) != wire.ReasonConflict {
		t.Errorf("after its start: %v", err)
	}
	edited("the same key after its start")
	var what []string
	for _, a := range d.accepted {
		what = append(what, a.What)
	}
	if got := strings.Join(what, " "); !strings.HasPrefix(got, "start send send send edit") {
		t.Errorf("accepted: %s", got)
	}
}

// TestP13_QueueAfterALostTurn: three wait; daemon and shim die in turn 1. All three are still there and paused, none is
// sent until the owner says so, the interrupted prompt is shown and not sent again, and each can be edited and dropped.
func TestP13_QueueAfterALostTurn(t *testing.T) {
	d := newDisk()
	b, all, o := line(t, d)
	b.stop()
	b = open(t, d, nil)
	b.launched()
	b.Runs().Life(o.Run.Handle, row.Life{Kind: row.LifeLost})
	for _, a := range all[1:] {
		has(t, detail(b.job(a)), "is paused: job-1 was interrupted; to go on: scv jobs queue resume codex-1")
	}
	if j := b.job(all[0]); j.State != wire.StateInterrupted || !j.Resumable || j.Task != "1" {
		t.Errorf("the interrupted one: %+v", j.Job)
	}
	b.changed(b.Jobs().Drop(all[1].Job.Session, "job-2", row.Principal{}))
	b.changed(b.Jobs().Edit(hub.EditRequest{Session: all[2].Job.Session, Job: "job-3", Prompt: row.Prompt{Text: "three"}, Task: "three"}))
	into := hub.SendRequest{Session: all[0].Job.Session, Conversation: *all[0].Job.Conversation, Prompt: row.Prompt{Text: "5"}, Mode: wire.SendSteer}
	if _, _, err := b.Jobs().Send(into); reason(err) != wire.ReasonNotSteerable || !strings.Contains(err.Error(), "2 prompts wait already") {
		t.Errorf("into a turn, where none runs and others wait: %v", err)
	}
	fifth := b.send(all[0].Job, "5")
	has(t, detail(fifth.Job), "is paused")
	select {
	case o := <-b.crew.launched:
		t.Fatalf("%s was started unasked", *o.Run.Job)
	default:
	}
	note, ticket, err := b.Conversations().GoOn(all[0].Job.Session, "codex-1", row.Principal{})
	b.changed(note, ticket, err)
	has(t, note, "3 prompts wait")
	o = b.launched()
	if got := b.Runs().Wishes(o.Run.Handle).Turn.Prompt; got != "three" {
		t.Fatalf("given %q", got)
	}
	if got := b.order(o, 2); got != "4 5" {
		t.Errorf("then %s", got)
	}
}

func TestPauseAndGoOn(t *testing.T) {
	d := newDisk()
	b, all, o := line(t, d)
	session := all[0].Job.Session
	b.changed(b.Conversations().Pause(session, "codex-1", row.Principal{Who: "owner", Way: "cli"}))
	finish(b, o, wire.StateCompleted)
	has(t, detail(b.job(all[1])), "is paused: owner paused it through cli")
	b.stop()
	b = open(t, d, nil)
	has(t, detail(b.job(all[1])), "is paused")
	b.changed(b.Conversations().Pause(session, "codex-1", row.Principal{})) // again is no error
	b.changed(b.Conversations().GoOn(session, "codex-1", row.Principal{}))
	b.launched()
	if _, _, err := b.Conversations().GoOn(session, "codex-9", row.Principal{}); reason(err) != wire.ReasonNotFound {
		t.Errorf("of none: %v", err)
	}
}

func TestB1_WhoWaitsIsToldForWhat(t *testing.T) {
	b := open(t, newDisk(), nil)
	first := b.start("1")
	h := b.launched().Run.Handle
	b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 1}, row.Step{Kind: row.StepActivity, Turn: 1, Detail: "$ sleep 120"})
	has(t, b.send(first.Job, "stop").Note, "$ sleep 120. To end that turn: scv jobs cancel job-1.")
}
