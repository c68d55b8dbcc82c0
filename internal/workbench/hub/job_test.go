package hub_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

func TestJobLife(t *testing.T) {
	b := open(t, newDisk(), nil)
	a := b.start("hello")
	if a.Ref != wire.WorkbenchSessionID("/w").Ref("job-1") || a.Job.State != wire.StateStarting || a.Delivery != wire.DeliveryStarted {
		t.Fatalf("accepted %s as %s", a.Ref, a.Job.State)
	}
	o := b.launched()
	if o.Adopt || o.Conversation.ID != "codex-1" || *o.Run.Job != "job-1" {
		t.Fatalf("order %+v", o)
	}
	h := o.Run.Handle
	w := b.Runs().Wishes(h)
	if w.Turn == nil || w.Turn.Prompt != "hello" || w.Turn.Number != 1 || w.Turn.Cwd != "/w" || w.Turn.Mode != "on-risk" || w.Stop || w.Cancel != 0 {
		t.Fatalf("wishes %+v", w)
	}
	b.Runs().Life(h, row.Life{Kind: row.LifeStarted, PID: 7, At: time.Now()})
	b.report(h, row.Step{Kind: row.StepSession, Vendor: "v1"}, row.Step{Kind: row.StepTurnStarted, Turn: 1})
	if s := b.state(a); s != wire.StateWorking {
		t.Fatalf("state %s", s)
	}
	b.report(h, row.Step{Kind: row.StepActivity, Detail: "reads a file"})
	if d := detail(b.job(a)); d != "reads a file" {
		t.Fatalf("detail %q", d)
	}
	before := b.disk.stores
	if before != 1 {
		t.Fatalf("%d commits, want 1: being observed is none", before)
	}
	b.report(h, ended(1, wire.StateCompleted, "done"))
	b.wait(b.Runs().Saved(h))
	if j := b.disk.job("job-1"); j.State != wire.StateCompleted || j.Finished == 0 || b.disk.results["job-1"].Reply != "done" {
		t.Fatalf("on disk: %s", j.State)
	}
	b.leave(h)
	if n := b.disk.stores; n != 2 {
		t.Fatalf("%d commits for a job, want 2", n)
	}
	b.stop()
	if r := b.disk.runs[h]; r.Live || r.State != wire.StateCompleted {
		t.Fatalf("run on disk after the stop: live %v, %s", r.Live, r.State)
	}
	if got := b.disk.convs["codex-1"].Vendor; got != "v1" {
		t.Fatalf("vendor %q", got)
	}
}

// TestU1_StateAndReplyAreOneStep: whoever sees the final state sees the reply, in memory or on disk.
func TestU1_StateAndReplyAreOneStep(t *testing.T) {
	d := newDisk()
	b := open(t, d, nil)
	a := b.start("x")
	h := b.launched().Run.Handle
	release := d.hold()
	defer release()
	w := b.Watch()
	defer w.Close()
	_, _, gen := w.Next("", 0)
	b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 1}, ended(1, wire.StateCompleted, "the reply"))
	delta, _, _ := w.Next(b.Epoch(), gen)
	if len(delta.Jobs) != 1 || delta.Jobs[0].State != wire.StateCompleted {
		t.Fatalf("delta %+v", delta.Jobs)
	}
	if r, ok := b.Jobs().Result(a.Job.Session, "job-1"); !ok || r.Reply != "the reply" {
		t.Fatal("the final state is shown and its reply is not there")
	}
	<-d.entered
	release()
	b.wait(b.Runs().Saved(h))
	if _, ok := b.Jobs().Result(a.Job.Session, "job-1"); ok {
		t.Error("the reply is kept in memory although it is on disk")
	}
	if d.results["job-1"].Reply != "the reply" {
		t.Error("the reply is not on disk")
	}
	b.report(h, ended(1, wire.StateFailed, "")) // a final state never changes
	if s := b.state(a); s != wire.StateCompleted {
		t.Errorf("a final state became %s", s)
	}
}

// TestAckAfterCommit: nothing is acknowledged, launched or wished before its row is on disk.
func TestAckAfterCommit(t *testing.T) {
	d := newDisk()
	b := open(t, d, nil)
	release := d.hold()
	a, ticket, err := b.Jobs().Start(request("x"))
	if err != nil {
		t.Fatal(err)
	}
	<-d.entered
	short, cancel := contextDone(t)
	defer cancel()
	if err := ticket.Wait(short); err == nil {
		t.Fatal("acknowledged before the commit")
	}
	if w := b.Runs().Wishes(*a.Job.Run); w.Turn != nil {
		t.Fatal("a wish that is not on disk was shown")
	}
	select {
	case <-b.crew.launched:
		t.Fatal("launched before the commit")
	default:
	}
	release()
	b.wait(ticket)
	if h := b.launched().Run.Handle; b.Runs().Wishes(h).Turn == nil {
		t.Fatal("the committed wish is not shown")
	}
}

func TestIdempotencyKey(t *testing.T) {
	d := newDisk()
	b := open(t, d, func(o *hub.Options) { o.Limits.FinishedListed = 1 })
	q := request("x")
	q.Key = "k1"
	first := b.startAs(q)
	again := b.startAs(q)
	if !again.Repeated || again.Ref != first.Ref {
		t.Fatalf("the same key made %s", again.Ref)
	}
	q.Task = "other"
	if _, _, err := b.Jobs().Start(q); reason(err) != wire.ReasonConflict {
		t.Fatalf("a key for another request: %v", err)
	}
	finish(b, b.launched(), wire.StateCompleted)
	b.start("y")
	finish(b, b.launched(), wire.StateCompleted)
	b.start("z")
	b.wait(b.Runs().Saved(b.launched().Run.Handle))
	if _, ok := b.Jobs().Find(first.Job.Session, "job-1"); ok {
		t.Fatal("job-1 is still in memory, so the archive is not tried")
	}
	q.Task = "x"
	if old := b.startAs(q); !old.Repeated || old.Ref != first.Ref {
		t.Fatalf("a key of the archive made %s", old.Ref)
	}
	b.stop()
	b = open(t, d, nil)
	if old := b.startAs(q); !old.Repeated || old.Ref != first.Ref {
		t.Fatalf("after a restart the key made %s", old.Ref)
	}
}

func finish(b *bench, o row.Order, s wire.AgentState) {
	b.report(o.Run.Handle, row.Step{Kind: row.StepTurnStarted, Turn: *o.Run.Turn}, ended(*o.Run.Turn, s, "r"))
	b.leave(o.Run.Handle)
}

func TestCancel(t *testing.T) {
	b := open(t, newDisk(), nil)
	a := b.start("x")
	o := b.launched()
	second := b.send(a.Job, "y")
	note, ticket, err := b.Jobs().Cancel(second.Ref, row.Principal{})
	if err != nil {
		t.Fatal(err)
	}
	b.wait(ticket)
	has(t, note, "before it started")
	if s := b.state(second); s != wire.StateCancelled {
		t.Fatalf("a queued job is %s", s)
	}
	b.report(o.Run.Handle, row.Step{Kind: row.StepTurnStarted, Turn: 1})
	for range 2 { // asking again changes nothing
		if _, ticket, err = b.Jobs().Cancel(a.Ref, row.Principal{}); err != nil {
			t.Fatal(err)
		}
		b.wait(ticket)
	}
	if h := <-b.crew.woken; h != o.Run.Handle {
		t.Fatalf("woke %s", h)
	}
	if w := b.Runs().Wishes(o.Run.Handle); w.Cancel != 1 {
		t.Fatalf("wishes %+v", w)
	}
	if s := b.state(a); s != wire.StateWorking {
		t.Fatalf("the turn is %s while it is being cancelled", s)
	}
	b.report(o.Run.Handle, ended(1, wire.StateInterrupted, ""))
	if s := b.state(a); s != wire.StateCancelled {
		t.Fatalf("state %s", s)
	}
	if _, _, err := b.Jobs().Cancel(a.Ref, row.Principal{}); reason(err) != wire.ReasonConflict {
		t.Fatalf("cancel of what has ended: %v", err)
	}
	if _, _, err := b.Jobs().Cancel("nowhere/job-9", row.Principal{}); reason(err) != wire.ReasonNotFound {
		t.Fatalf("cancel of nothing: %v", err)
	}
}

// TestU13_LateCancelKeepsSuccess: what ended by itself before the cancel took effect is told as it was.
func TestU13_LateCancelKeepsSuccess(t *testing.T) {
	for _, c := range []struct {
		end  row.End
		want wire.AgentState
	}{
		{row.End{State: wire.StateCompleted}, wire.StateCompleted},
		{row.End{State: wire.StateDeclined}, wire.StateDeclined},
		{row.End{State: wire.StateFailed, Class: "auth"}, wire.StateFailed},
		{row.End{State: wire.StateFailed, Class: "agent"}, wire.StateCancelled},
		{row.End{State: wire.StateInterrupted, Class: "lost"}, wire.StateCancelled},
		{row.End{State: wire.StateCancelled}, wire.StateCancelled},
	} {
		t.Run(fmt.Sprintf("%s %s", c.end.State, c.end.Class), func(t *testing.T) {
			b := open(t, newDisk(), nil)
			a := b.start("x")
			h := b.launched().Run.Handle
			b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 1})
			_, ticket, err := b.Jobs().Cancel(a.Ref, row.Principal{})
			if err != nil {
				t.Fatal(err)
			}
			b.wait(ticket)
			b.report(h, row.Step{Kind: row.StepTurnEnded, Turn: 1, End: &c.end})
			if s := b.state(a); s != c.want {
				t.Errorf("state %s, want %s", s, c.want)
			}
		})
	}
}

func TestCancelBeforeTheCommit(t *testing.T) {
	d := newDisk()
	b := open(t, d, nil)
	release := d.hold()
	a, ticket, err := b.Jobs().Start(request("x"))
	if err != nil {
		t.Fatal(err)
	}
	<-d.entered
	_, cancelled, err := b.Jobs().Cancel(a.Ref, row.Principal{})
	if err != nil {
		t.Fatal(err)
	}
	release()
	b.wait(ticket)
	b.wait(cancelled)
	if s := d.job("job-1").State; s != wire.StateCancelled {
		t.Fatalf("state %s", s)
	}
	if len(b.crew.launched) != 0 {
		t.Fatal("a withdrawn run was launched")
	}
}

func TestDismiss(t *testing.T) {
	d := newDisk()
	b := open(t, d, func(o *hub.Options) { o.Limits.FinishedListed = 1 })
	a := b.start("x")
	if _, _, err := b.Jobs().Dismiss(a.Ref, row.Principal{}); reason(err) != wire.ReasonBusy {
		t.Fatalf("dismiss of a running job: %v", err)
	}
	finish(b, b.launched(), wire.StateCompleted)
	second := b.start("y")
	finish(b, b.launched(), wire.StateCompleted)
	b.start("z")
	b.wait(b.Runs().Saved(b.launched().Run.Handle))
	for _, x := range []hub.Accepted{second, a} { // one of memory, one of the archive
		if _, ticket, err := b.Jobs().Dismiss(x.Ref, row.Principal{}); err != nil {
			t.Fatal(err)
		} else {
			b.wait(ticket)
		}
		if !d.job(x.Job.Job.Job).Dismissed {
			t.Errorf("%s is not dismissed on disk", x.Ref)
		}
		if _, _, err := b.Jobs().Dismiss(x.Ref, row.Principal{}); reason(err) != wire.ReasonNotFound {
			t.Errorf("dismissed twice: %v", err)
		}
	}
	for _, j := range b.Snapshot().Jobs {
		if j.Job != "job-3" {
			t.Errorf("%s is listed", j.Job)
		}
	}
}

// TestNumbersAreNeverUsedAgain: of jobs, conversations and runs, over a restart too.
func TestNumbersAreNeverUsedAgain(t *testing.T) {
	d := newDisk()
	seen := map[any]bool{}
	for range 3 {
		b := open(t, d, nil)
		for range 5 {
			a := b.start("x")
			o := b.launched()
			for o.Adopt {
				o = b.launched()
			}
			for _, id := range []any{a.Ref, *a.Job.Conversation, *a.Job.Run} {
				if seen[id] {
					t.Fatalf("%v was used before", id)
				}
				seen[id] = true
			}
			if _, err := wire.ParseRunHandle(string(*a.Job.Run)); err != nil {
				t.Fatal(err)
			}
			finish(b, o, wire.StateCompleted)
		}
		b.stop()
	}
}

// TestU21_NoConversationIsForgotten: one that left memory long ago takes a further prompt.
func TestU21_NoConversationIsForgotten(t *testing.T) {
	b := open(t, newDisk(), func(o *hub.Options) { o.Limits.FinishedListed = 2; o.Limits.EndedListed = 2 })
	first := b.start("x")
	o := b.launched()
	b.report(o.Run.Handle, row.Step{Kind: row.StepSession, Vendor: "thread-1"})
	finish(b, o, wire.StateCompleted)
	for range 9 {
		b.start("y")
		finish(b, b.launched(), wire.StateCompleted)
	}
	b.start("z")
	b.wait(b.Runs().Saved(b.launched().Run.Handle))
	if n := len(b.Snapshot().Jobs); n != 3 {
		t.Fatalf("%d jobs in memory", n)
	}
	a := b.send(first.Job, "again")
	o = b.launched()
	if *a.Job.Conversation != "codex-1" || b.Runs().Wishes(o.Run.Handle).Turn.Vendor != "thread-1" || a.Job.Workspace != "/w" {
		t.Fatalf("job %+v", a.Job)
	}
	if o.Conversation.Turns != 2 {
		t.Errorf("turn %d of it", o.Conversation.Turns)
	}
	_, _, err := b.Jobs().Send(hub.SendRequest{Session: first.Job.Session, Conversation: "codex-99"})
	if reason(err) != wire.ReasonNotFound {
		t.Errorf("a conversation that never was: %v", err)
	}
}

// TestP23_TwoConversationsNeverShareATranscript: an agent that names one conversation twice gives the second none to go
// on with, and its job tells why.
func TestP23_TwoConversationsNeverShareATranscript(t *testing.T) {
	b := open(t, newDisk(), nil)
	first, second := b.start("x"), b.start("y")
	one, two := b.launched(), b.launched()
	for _, o := range []row.Order{one, two} {
		b.report(o.Run.Handle, row.Step{Kind: row.StepSession, Vendor: "s-1"}, row.Step{Kind: row.StepTurnStarted, Turn: 1})
	}
	finish(b, one, wire.StateCompleted)
	finish(b, two, wire.StateCompleted)
	for _, c := range []struct {
		job    row.Job
		vendor string
	}{{first.Job, "s-1"}, {second.Job, ""}} {
		b.send(c.job, "again")
		if got := b.Runs().Wishes(b.launched().Run.Handle).Turn.Vendor; got != c.vendor {
			t.Errorf("%s goes on with %q, want %q", *c.job.Conversation, got, c.vendor)
		}
	}
	if why := fmt.Sprint(b.job(second).Evidence); !strings.Contains(why, "which is that of codex-1") {
		t.Errorf("the job does not tell why its conversation begins anew: %s", why)
	}
}
