package hub_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

func owner() row.Principal { return row.Principal{Who: "owner", Way: "cli"} }

// asks is a step on a request of an agent.
func asks(id, command string) row.Step {
	return row.Step{Kind: row.StepApprovalAsked, Turn: 1, Asked: &row.Asked{
		ID: wire.ApprovalID(id), Request: "req-" + id, Name: "shell", Tool: "shell", Risk: "process", Summary: command, Command: command,
	}}
}

func closes(id, status string) row.Step {
	return row.Step{Kind: row.StepApprovalClosed, Turn: 1, Closed: wire.ApprovalID(id), Status: status}
}

// working starts a job whose agent can ask, in a turn that runs.
func (b *bench) working(prompt string) (hub.Accepted, wire.RunHandle) {
	b.t.Helper()
	q := request(prompt)
	q.Agent = "live"
	a := b.startAs(q)
	h := b.launched().Run.Handle
	b.report(h, row.Step{Kind: row.StepReady}, row.Step{Kind: row.StepTurnStarted, Turn: 1})
	return a, h
}

func (b *bench) answer(id string, approved bool) (string, error) {
	b.t.Helper()
	note, ticket, err := b.Approvals().Answer(hub.AnswerRequest{ID: wire.ApprovalID(id), Approved: approved, Principal: owner()})
	if err == nil {
		b.wait(ticket)
	}
	return note, err
}

func (b *bench) find(id string) row.Approval {
	b.t.Helper()
	a, ok, err := b.Approvals().Find(wire.ApprovalID(id))
	if err != nil || !ok {
		b.t.Fatalf("%s: %v %v", id, ok, err)
	}
	return a
}

// TestP17_U3_AnApprovalIsRecordedWatchedOrNot: it is on disk and listed though nobody looks, and waits ten minutes and
// more.
func TestP17_U3_AnApprovalIsRecordedWatchedOrNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		b := open(t, d, nil)
		a, h := b.working("x")
		b.report(h, asks("ap-1", "make test"))
		synctest.Wait()
		if x := d.approval("ap-1"); x.State != wire.ApprovalOpen || x.Num != 1 || x.Job != "job-1" || x.Command != "make test" {
			t.Fatalf("on disk: %+v", x)
		}
		<-time.After(10 * time.Minute)
		list := b.Snapshot().Approvals
		if len(list) != 1 || list[0].ExpiresUnixSeconds != wire.NoDeadline || list[0].SinceUnixSeconds == 0 || list[0].Digest == nil {
			t.Fatalf("listed: %+v", list)
		}
		if j := b.job(a); j.State != wire.StateAwaitingInput || detail(j) != "make test" {
			t.Errorf("the job is %s, %q", j.State, detail(j))
		}
		if s := b.Snapshot().Sessions[0]; s.State != wire.StateAwaitingInput {
			t.Errorf("the session is %s", s.State)
		}
	})
}

func TestP14_T42_OneAnswerWinsAndIsDeliveredOnce(t *testing.T) {
	d := newDisk()
	b := open(t, d, nil)
	a, h := b.working("x")
	b.report(h, asks("ap-1", "make test"))
	note, err := b.answer("ap-1", true)
	if err != nil {
		t.Fatal(err)
	}
	has(t, note, "ap-1 was approved")
	if got := <-b.crew.woken; got != h {
		t.Errorf("woke %s", got)
	}
	if w := b.Runs().Wishes(h).Answers; len(w) != 1 || w[0].Request != "req-ap-1" || !w[0].Approved || w[0].By != "owner" {
		t.Errorf("the wishes are %+v", w)
	}
	if s := b.state(a); s != wire.StateWorking || len(b.Snapshot().Approvals) != 0 {
		t.Errorf("the job is %s", s)
	}
	_, err = b.answer("ap-1", false)
	if reason(err) != wire.ReasonConflict {
		t.Errorf("the second answer: %v", err)
	}
	has(t, err.Error(), "already approved by owner by cli")
	b.report(h, closes("ap-1", row.ClosedAnswered))
	if w := b.Runs().Wishes(h).Answers; len(w) != 0 || b.find("ap-1").State != wire.ApprovalDelivered {
		t.Errorf("after the delivery: %+v", w)
	}
	if _, err = b.answer("ap-1", true); reason(err) != wire.ReasonConflict {
		t.Errorf("an answer after the delivery: %v", err)
	}
	if _, err = b.answer("ap-9", true); reason(err) != wire.ReasonNotFound {
		t.Errorf("an answer to nothing: %v", err)
	}
}

func TestT44_AnAnswerToOtherBytesIsRefused(t *testing.T) {
	b := open(t, newDisk(), nil)
	_, h := b.working("x")
	b.report(h, asks("ap-1", "ls"), asks("ap-2", "ls"), asks("ap-3", "rm -rf /"))
	list := b.Snapshot().Approvals
	if len(list) != 3 || *list[0].Digest != *list[1].Digest || *list[0].Digest == *list[2].Digest {
		t.Fatalf("the digests: %+v", list)
	}
	_, _, err := b.Approvals().Answer(hub.AnswerRequest{ID: "ap-3", Approved: true, Digest: *list[0].Digest, Principal: owner()})
	if reason(err) != wire.ReasonConflict || b.find("ap-3").State != wire.ApprovalOpen {
		t.Errorf("the answer to another text: %v", err)
	}
	note, ticket, err := b.Approvals().Answer(hub.AnswerRequest{ID: "ap-1", Approved: true, Digest: *list[0].Digest, Equal: true, Principal: owner()})
	if err != nil {
		t.Fatal(err)
	}
	b.wait(ticket)
	has(t, note, "ap-1 and 1 like it were approved")
	if b.find("ap-2").State != wire.ApprovalAnswered || b.find("ap-3").State != wire.ApprovalOpen {
		t.Error("equal requests and no others are answered together")
	}
}

// TestP15_SevenAtOnceFromThreeRuns: answered in any order, none takes the place of another, and each run goes on when
// its own are answered.
func TestP15_SevenAtOnceFromThreeRuns(t *testing.T) {
	b := open(t, newDisk(), nil)
	var jobs []hub.Accepted
	var handles []wire.RunHandle
	for i := range 3 {
		a, h := b.working(fmt.Sprint("job ", i))
		jobs, handles = append(jobs, a), append(handles, h)
	}
	for i := range 7 {
		b.report(handles[i%3], asks(fmt.Sprint("ap-", i), fmt.Sprint("cmd ", i)))
	}
	if n := len(b.Snapshot().Approvals); n != 7 {
		t.Fatalf("%d are listed", n)
	}
	has(t, detail(b.job(jobs[0])), "cmd 0 (and 2 more)")
	left := map[int]int{0: 3, 1: 2, 2: 2}
	for _, i := range []int{4, 0, 6, 2, 5, 1, 3} {
		if _, err := b.answer(fmt.Sprint("ap-", i), i%2 == 0); err != nil {
			t.Fatal(err)
		}
		left[i%3]--
		want := wire.StateAwaitingInput
		if left[i%3] == 0 {
			want = wire.StateWorking
		}
		if s := b.state(jobs[i%3]); s != want {
			t.Errorf("after %d job %d is %s, want %s", i, i%3, s, want)
		}
	}
	for i, h := range handles {
		for _, w := range b.Runs().Wishes(h).Answers {
			var n int
			if _, err := fmt.Sscanf(string(w.ID), "ap-%d", &n); err != nil || n%3 != i || w.Approved != (n%2 == 0) {
				t.Errorf("run %d is told %+v", i, w)
			}
		}
	}
}

func TestT43_TwoClientsAtOnce(t *testing.T) {
	b := open(t, newDisk(), nil)
	_, h := b.working("x")
	for round := range 200 {
		id := fmt.Sprint("ap-", round)
		b.report(h, asks(id, "cmd "+id))
		var won atomic.Int32
		var both sync.WaitGroup
		for _, approved := range []bool{true, false} {
			both.Go(func() {
				_, ticket, err := b.Approvals().Answer(hub.AnswerRequest{ID: wire.ApprovalID(id), Approved: approved, Principal: owner()})
				if err == nil && ticket.Wait(t.Context()) == nil {
					won.Add(1)
				} else if reason(err) != wire.ReasonConflict {
					t.Errorf("the loser is told %v", err)
				}
			})
		}
		both.Wait()
		if won.Load() != 1 || len(b.Runs().Wishes(h).Answers) != 1 {
			t.Fatalf("%s: %d winners", id, won.Load())
		}
		b.report(h, closes(id, row.ClosedAnswered))
	}
}

func TestP20_ExpiryDeniesAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		b := open(t, d, func(o *hub.Options) { o.ApprovalWait = 2 * time.Minute })
		a, h := b.working("x")
		b.report(h, asks("ap-1", "one"))
		<-time.After(time.Minute)
		b.report(h, asks("ap-2", "two"))
		expires := b.find("ap-2").ExpiresUnixSeconds
		<-time.After(61*time.Second + time.Millisecond)
		synctest.Wait()
		w := b.Runs().Wishes(h).Answers
		if len(w) != 1 || w[0].ID != "ap-1" || w[0].Approved || w[0].By != "policy" || w[0].Reason == "" {
			t.Fatalf("after the deadline the agent is told %+v", w)
		}
		if _, err := b.answer("ap-1", true); reason(err) != wire.ReasonExpired {
			t.Errorf("an answer after the deadline: %v", err)
		}
		if b.state(a) != wire.StateAwaitingInput {
			t.Error("the other one does not wait any more")
		}
		b.report(h, closes("ap-1", row.ClosedAnswered))
		if s := b.find("ap-1").State; s != wire.ApprovalExpired {
			t.Errorf("it is %s", s)
		}
		<-time.After(time.Until(time.Unix(int64(expires), 0)))
		if _, err := b.answer("ap-2", true); err != nil {
			t.Errorf("an answer exactly at the deadline: %v", err)
		}
	})
}

// TestR5_AnOpenApprovalOutlivesTheDaemon: the same id, the same deadline, the same answer once, wherever it dies.
func TestR5_AnOpenApprovalOutlivesTheDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		wait := func(o *hub.Options) { o.ApprovalWait = time.Hour }
		b := open(t, d, wait)
		a, h := b.working("x")
		spool := []row.Step{{Kind: row.StepReady}, {Kind: row.StepTurnStarted, Turn: 1}, asks("ap-1", "one"), asks("ap-2", "two")}
		for i := range spool {
			spool[i].Pos = row.Pos{Frame: uint64(i + 1)}
		}
		b.report(h, spool...)
		synctest.Wait()
		before := b.find("ap-1")
		b.stop()
		<-time.After(time.Minute)
		again := func() {
			b = open(t, d, wait)
			b.launched()
			b.Runs().Life(h, row.Life{Kind: row.LifeAdopted, PID: 1, At: time.Now()})
			b.Runs().Report(h, spool)
		}
		again()
		after := b.find("ap-1")
		if after.ExpiresUnixSeconds != before.ExpiresUnixSeconds || after.SinceUnixSeconds != before.SinceUnixSeconds || after.Num != before.Num || *after.Digest != *before.Digest {
			t.Errorf("it came back as %+v, was %+v", after, before)
		}
		if s := b.state(a); s != wire.StateAwaitingInput || len(b.Snapshot().Approvals) != 2 {
			t.Errorf("the job is %s", s)
		}
		if _, err := b.answer("ap-1", true); err != nil {
			t.Fatal(err)
		}
		b.stop()
		again()
		if w := b.Runs().Wishes(h).Answers; len(w) != 1 || w[0].ID != "ap-1" || !w[0].Approved {
			t.Errorf("after a crash behind the answer the agent is told %+v", w)
		}
		if _, err := b.answer("ap-1", false); reason(err) != wire.ReasonConflict {
			t.Errorf("it is answered again: %v", err)
		}
		<-time.After(time.Hour)
		synctest.Wait()
		if w := b.Runs().Wishes(h).Answers; len(w) != 2 || w[1].Approved {
			t.Errorf("the old deadline brings %+v", w)
		}
	})
}

func TestB17_T46_AnApprovalDiesWithItsTurn(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(b *bench, a hub.Accepted, h wire.RunHandle)
		want wire.ApprovalState
	}{
		"the turn ends":           {func(b *bench, a hub.Accepted, h wire.RunHandle) { b.report(h, ended(1, wire.StateCompleted, "")) }, wire.ApprovalVoid},
		"the agent takes it back": {func(b *bench, a hub.Accepted, h wire.RunHandle) { b.report(h, closes("ap-1", row.ClosedVoid)) }, wire.ApprovalVoid},
		"the agent leaves":        {func(b *bench, a hub.Accepted, h wire.RunHandle) { b.leave(h) }, wire.ApprovalVoid},
		"the run is lost": {func(b *bench, a hub.Accepted, h wire.RunHandle) {
			b.Runs().Life(h, row.Life{Kind: row.LifeLost, Status: "lost", At: time.Now()})
		}, wire.ApprovalVoid},
		"the job is cancelled": {func(b *bench, a hub.Accepted, h wire.RunHandle) {
			if _, ticket, err := b.Jobs().Cancel(a.Ref, owner()); err != nil {
				b.t.Fatal(err)
			} else {
				b.wait(ticket)
			}
		}, wire.ApprovalCancelled},
		"the run is killed": {func(b *bench, a hub.Accepted, h wire.RunHandle) {
			if ticket, err := b.Runs().Kill(h, owner()); err != nil {
				b.t.Fatal(err)
			} else {
				b.wait(ticket)
			}
		}, wire.ApprovalCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, newDisk(), nil)
			a, h := b.working("x")
			b.report(h, asks("ap-1", "rm -rf old"))
			c.end(b, a, h)
			if got := b.find("ap-1"); got.State != c.want || len(b.Snapshot().Approvals) != 0 {
				t.Errorf("it is %s, and %d are listed", got.State, len(b.Snapshot().Approvals))
			}
			_, err := b.answer("ap-1", true)
			if reason(err) != wire.ReasonExpired {
				t.Errorf("a late answer: %v", err)
			}
			if w := b.Runs().Wishes(h).Answers; len(w) != 0 {
				t.Errorf("the agent would be told %+v", w)
			}
			if s := b.state(a); s == wire.StateAwaitingInput {
				t.Error("the job still waits")
			}
		})
	}
}

// TestP14_AnAnswerRightAfterACrashIsNotTooEarly: a question was shown and its daemon died before it was on disk. Whoever
// answers it before the next one has read its run again is heard; what was never asked is not found, at once when all
// runs are read, and after a while when one of them cannot be.
func TestP14_AnAnswerRightAfterACrashIsNotTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		b := open(t, d, nil)
		_, h := b.working("x")
		b.stop() // the disk never heard of what it asks
		b = open(t, d, nil)
		defer b.stop()
		if !b.Runs().Wishes(h).Tell {
			t.Fatal("nobody asks the run to tell that it was read")
		}
		began := time.Now()
		if _, err := b.answer("ap-9", true); reason(err) != wire.ReasonNotFound || time.Since(began) == 0 {
			t.Errorf("with a run that nobody can read, after %s: %v", time.Since(began), err)
		}
		answered := make(chan error, 1)
		go func() {
			_, err := b.answer("ap-1", true)
			answered <- err
		}()
		synctest.Wait()
		asked := asks("ap-1", "make test")
		asked.Pos = row.Pos{Frame: 99}
		b.Runs().Report(h, []row.Step{asked})
		b.Runs().Life(h, row.Life{Kind: row.LifeCaughtUp, At: time.Now()})
		if err := <-answered; err != nil {
			t.Errorf("the early answer: %v", err)
		}
		if w := b.Runs().Wishes(h); len(w.Answers) != 1 || w.Tell {
			t.Errorf("it is wished %+v", w)
		}
		began = time.Now()
		if _, err := b.answer("ap-9", true); reason(err) != wire.ReasonNotFound || time.Since(began) != 0 {
			t.Errorf("with all runs read, after %s: %v", time.Since(began), err)
		}
	})
}
