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
