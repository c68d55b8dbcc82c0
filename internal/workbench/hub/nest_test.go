package hub_test

import (
	"testing"
	"testing/synctest"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// from starts a job from inside a run.
func (b *bench) from(h wire.RunHandle, mode wire.PermissionMode) (hub.Accepted, error) {
	b.t.Helper()
	q := request("below")
	q.From, q.Mode, q.Origin = h, string(mode), wire.OriginModel
	a, ticket, err := b.Jobs().Start(q)
	if err == nil {
		b.wait(ticket)
	}
	return a, err
}

// TestNesting_UpToTheAllowedDepth: a job started from inside knows its parent and level, may do no more than that one, and
// can start none itself at the allowed depth. Its tree is its own, over a restart too.
func TestNesting_UpToTheAllowedDepth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		b := open(t, d, func(o *hub.Options) { o.Limits.Depth = 3 })
		top := b.startAs(hub.StartRequest{Workspace: "/w", Agent: "codex", Prompt: row.Prompt{Text: "x"}, Mode: "always"})
		other := b.start("other")
		o, strange := b.launched(), b.launched()
		mid, err := b.from(o.Run.Handle, wire.ModeAuto)
		if err != nil {
			t.Fatal(err)
		}
		if j := b.job(mid); j.Parent == nil || *j.Parent != top.Ref || j.Depth != 1 || *j.Mode != wire.ModeAlways || j.StartedBy != wire.OriginModel {
			t.Fatalf("%+v", j.Job)
		}
		om := b.launched()
		low, err := b.from(om.Run.Handle, wire.ModeReadOnly)
		if err != nil {
			t.Fatal(err)
		}
		ol := b.launched()
		if w := b.Runs().Wishes(ol.Run.Handle).Turn; w.Depth != 2 || w.Mode != "read-only" || len(w.Above) != 2 ||
			w.Above[0] != string(top.Job.Session)+"/"+string(o.Run.Handle) || w.Above[1] != string(top.Job.Session)+"/"+string(om.Run.Handle) {
			t.Fatalf("%+v", w)
		}
		if _, err := b.from(ol.Run.Handle, ""); reason(err) != wire.ReasonRefused {
			t.Fatalf("at the last level: %v", err)
		}
		trees := func() {
			t.Helper()
			tree := hub.TreeOf(b.Hub, om.Run.Handle)
			s := top.Job.Session
			for _, c := range []struct {
				name      string
				got, want bool
			}{
				{"its own job", tree.HasJob(s, mid.Job.Job.Job), true},
				{"the job below", tree.HasJob(s, low.Job.Job.Job), true},
				{"the job above", tree.HasJob(s, top.Job.Job.Job), false},
				{"another's job", tree.HasJob(s, other.Job.Job.Job), false},
				{"the conversation below", tree.HasConversation(s, *low.Job.Conversation), true},
				{"the conversation above", tree.HasConversation(s, *top.Job.Conversation), false},
				{"its own run", tree.HasRun(om.Run.Handle), true},
				{"the run below", tree.HasRun(ol.Run.Handle), true},
				{"the run above", tree.HasRun(o.Run.Handle), false},
				{"another's run", tree.HasRun(strange.Run.Handle), false},
				{"a job that is not", tree.HasJob(s, "job-99"), false},
			} {
				if c.got != c.want {
					t.Errorf("%s: %v", c.name, c.got)
				}
			}
		}
		trees()
		b.stop()
		b = open(t, d, nil)
		trees()
	})
}

// TestNesting_WhatFollowsStaysInItsTree: a further prompt, a retry and a fork that an agent asks for lie as deep as a job
// that it starts, give no more leave than it has, and are a model's; a prompt behind its own turn lies where that turn is.
func TestNesting_WhatFollowsStaysInItsTree(t *testing.T) {
	b := open(t, newDisk(), func(o *hub.Options) { o.Limits.Depth, o.Limits.Running = 2, 9 })
	top := b.startAs(hub.StartRequest{Workspace: "/w", Agent: "codex", Prompt: row.Prompt{Text: "x"}, Mode: "on-risk"})
	o := b.launched()
	below, err := b.from(o.Run.Handle, wire.ModeAlways)
	if err != nil {
		t.Fatal(err)
	}
	ob := b.launched()
	look := func(name string, a hub.Accepted, ticket *hub.Ticket, err error, parent *wire.JobRef, depth uint32, mode wire.PermissionMode) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b.wait(ticket)
		j := b.job(a)
		if (j.Parent == nil) != (parent == nil) || parent != nil && *j.Parent != *parent || j.Depth != depth || *j.Mode != mode || j.StartedBy != wire.OriginModel {
			t.Errorf("%s: parent %v, depth %d, mode %s, by %s", name, j.Parent, j.Depth, *j.Mode, j.StartedBy)
		}
	}
	send := func(from wire.RunHandle, of hub.Accepted) (hub.Accepted, *hub.Ticket, error) {
		return b.Jobs().Send(hub.SendRequest{
			Session: of.Job.Session, Conversation: *of.Job.Conversation, Prompt: row.Prompt{Text: "more"}, Mode: wire.SendQueue, From: from,
		})
	}
	a, ticket, err := send(ob.Run.Handle, below)
	look("behind its own turn", a, ticket, err, &top.Ref, 1, wire.ModeAlways)
	a, ticket, err = send(o.Run.Handle, top)
	look("behind the first turn", a, ticket, err, nil, 0, wire.ModeOnRisk)
	a, ticket, err = send(o.Run.Handle, below)
	look("to the conversation below", a, ticket, err, &top.Ref, 1, wire.ModeAlways)
	if _, _, err := send(ob.Run.Handle, top); reason(err) != wire.ReasonRefused {
		t.Errorf("from the last level into another conversation: %v", err)
	}
	b.report(ob.Run.Handle, row.Step{Kind: row.StepTurnStarted, Turn: 1}, row.Step{Kind: row.StepTurnEnded, Turn: 1, End: &row.End{State: wire.StateCompleted}})
	ended := b.job(below)
	ended.Mode = new(wire.ModeAuto) // as a row of an older build might say
	for _, how := range []hub.Following{hub.Retrying, hub.Forking} {
		a, ticket, err := b.Jobs().Follow(hub.FollowRequest{How: how, Of: ended, Prompt: row.Prompt{Text: "again"}, Task: "again", From: o.Run.Handle})
		look(string(how), a, ticket, err, &top.Ref, 1, wire.ModeAlways)
	}
	if _, _, err := b.Jobs().Follow(hub.FollowRequest{How: hub.Retrying, Of: ended, Prompt: row.Prompt{Text: "again"}, From: "codex-000000"}); reason(err) != wire.ReasonRefused {
		t.Errorf("from no run: %v", err)
	}
}

// TestNesting_OffMeansNone: with a depth of no more than the owner's own jobs, none starts another.
func TestNesting_OffMeansNone(t *testing.T) {
	b := open(t, newDisk(), func(o *hub.Options) { o.Limits.Depth = -1 })
	b.start("x")
	for _, h := range []wire.RunHandle{b.launched().Run.Handle, "codex-000000"} {
		if _, err := b.from(h, ""); reason(err) != wire.ReasonRefused {
			t.Fatalf("from %s: %v", h, err)
		}
	}
}

// TestNesting_CancelTakesTheTreeAlong: what was started from inside is cancelled with its job, queued or running; the end of
// a job leaves it alone.
func TestNesting_CancelTakesTheTreeAlong(t *testing.T) {
	b := open(t, newDisk(), func(o *hub.Options) { o.Limits.Depth, o.Limits.Running = 3, 3 })
	top := b.start("x")
	o := b.launched()
	mid, _ := b.from(o.Run.Handle, "")
	om := b.launched()
	low, err := b.from(om.Run.Handle, "")
	if err != nil {
		t.Fatal(err)
	}
	b.launched()
	queued, _ := b.from(o.Run.Handle, "")
	note, ticket, err := b.Jobs().Cancel(top.Ref, row.Principal{Who: "owner"})
	if err != nil {
		t.Fatal(err)
	}
	b.wait(ticket)
	has(t, note, "The 2 jobs that it started are cancelled too.")
	if s := b.state(queued); s != wire.StateCancelled {
		t.Errorf("what waited is %s", s)
	}
	for _, a := range []hub.Accepted{mid, low} {
		if j := b.job(a); !j.Cancelled {
			t.Errorf("%s goes on", j.Job.Job)
		}
	}
	b = open(t, newDisk(), nil)
	b.start("y")
	oy := b.launched()
	below, err := b.from(oy.Run.Handle, "")
	if err != nil {
		t.Fatal(err)
	}
	finish(b, oy, wire.StateCompleted)
	if j := b.job(below); j.Cancelled || j.State.Final() {
		t.Errorf("the end of its parent ended %s", j.Job.Job)
	}
}
