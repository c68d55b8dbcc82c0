package hub_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// steerable is a bench with a live turn that takes prompts.
func steerable(t *testing.T, d *disk) (b *bench, first hub.Accepted, h wire.RunHandle) {
	t.Helper()
	b = open(t, d, nil)
	q := request("1")
	q.Agent = "live"
	first = b.startAs(q)
	h = b.launched().Run.Handle
	b.report(h, row.Step{Kind: row.StepOffer, Steers: true}, row.Step{Kind: row.StepReady}, row.Step{Kind: row.StepTurnStarted, Turn: 1})
	if r := b.Runs().List(); !r[0].Steerable {
		t.Fatal("the run is not steerable")
	}
	return b, first, h
}

func steer(first hub.Accepted, mode wire.SendMode, key string) hub.SendRequest {
	return hub.SendRequest{
		Key: key, Session: first.Job.Session, Conversation: *first.Job.Conversation, Prompt: row.Prompt{Text: "also this"}, Task: "also this", Mode: mode,
	}
}

func (b *bench) steer(first hub.Accepted, mode wire.SendMode) hub.Accepted {
	b.t.Helper()
	a, ticket, err := b.Jobs().Send(steer(first, mode, "k"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.wait(ticket)
	if a.Steering == nil {
		b.t.Fatalf("%s does not go into the turn", a.Ref)
	}
	return a
}

func (b *bench) outcome(a hub.Accepted) (hub.Accepted, error) {
	b.t.Helper()
	return a.Steering.Wait(b.t.Context())
}

func (b *bench) caughtUp(h wire.RunHandle) {
	b.Runs().Life(h, row.Life{Kind: row.LifeCaughtUp, At: time.Now()})
}

func TestS3_SteerIsOnDiskBeforeItIsWished(t *testing.T) {
	d := newDisk()
	b, first, h := steerable(t, d)
	release := d.hold()
	defer release()
	a, ticket, err := b.Jobs().Send(steer(first, wire.SendAuto, "k"))
	if err != nil {
		t.Fatal(err)
	}
	if w := b.Runs().Wishes(h); len(w.Steers) != 0 {
		t.Fatal("a steer is wished that is not on disk")
	}
	release()
	b.wait(ticket)
	w := b.Runs().Wishes(h)
	if len(w.Steers) != 1 || w.Steers[0].Text != "also this" || w.Steers[0].Turn != 1 {
		t.Fatalf("wishes %+v", w.Steers)
	}
	job := w.Steers[0].Job
	b.report(h, row.Step{Kind: row.StepSteerSent, Job: job}, row.Step{Kind: row.StepSteered, Job: job, Turn: 1})
	got, err := b.outcome(a)
	if err != nil || got.Delivery != wire.DeliverySteered || got.Ref != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if n := len(b.Snapshot().Jobs); n != 1 {
		t.Fatalf("%d jobs are listed", n)
	}
	if len(b.Runs().Wishes(h).Steers) != 0 {
		t.Fatal("what was taken is still wished")
	}
	again, _, err := b.Jobs().Send(steer(first, wire.SendAuto, "k")) // from the archive
	if err != nil || !again.Repeated || again.Delivery != wire.DeliverySteered {
		t.Fatalf("asked again: %+v, %v", again, err)
	}
	b.report(h, ended(1, wire.StateCompleted, "r"))
	if n := len(b.Snapshot().Jobs); n != 1 {
		t.Fatalf("%d jobs are listed", n)
	}
}

// TestP10_SteerThatIsNotTaken: refused by the agent, or its turn was over: auto becomes a queued job, steer is refused,
// and no later turn is given it as a steer.
func TestP10_SteerThatIsNotTaken(t *testing.T) {
	for name, how := range map[string]func(b *bench, h wire.RunHandle, job wire.JobID){
		"refused by the agent": func(b *bench, h wire.RunHandle, job wire.JobID) {
			b.report(h, row.Step{Kind: row.StepSteerSent, Job: job}, row.Step{Kind: row.StepSteerRefused, Job: job, Turn: 1, Detail: "not now"})
		},
		"the turn was over before": func(b *bench, h wire.RunHandle, _ wire.JobID) {
			b.report(h, ended(1, wire.StateCompleted, "r"))
			if w := b.Runs().Wishes(h); !w.Tell || len(w.Steers) != 0 {
				b.t.Fatalf("wishes %+v", w)
			}
			b.caughtUp(h)
		},
		"its process went away": func(b *bench, h wire.RunHandle, _ wire.JobID) { b.leave(h) },
		"the turn was cancelled": func(b *bench, h wire.RunHandle, _ wire.JobID) {
			b.changed(b.Jobs().Cancel(b.Snapshot().Jobs[0].Ref(), row.Principal{}))
			b.report(h, ended(1, wire.StateCancelled, ""))
			b.caughtUp(h)
		},
	} {
		for _, mode := range []wire.SendMode{wire.SendAuto, wire.SendSteer} {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				d := newDisk()
				b, first, h := steerable(t, d)
				a := b.steer(first, mode)
				how(b, h, a.Job.Job.Job)
				got, err := b.outcome(a)
				if mode == wire.SendSteer {
					if reason(err) != wire.ReasonNotSteerable || len(b.Snapshot().Jobs) != 1 {
						t.Fatalf("%+v, %v", got, err)
					}
					if _, _, err := b.Jobs().Send(steer(first, mode, "k")); reason(err) != wire.ReasonNotSteerable {
						t.Fatalf("asked again: %v", err)
					}
					return
				}
				if err != nil || got.Delivery == wire.DeliverySteered || got.Ref == "" {
					t.Fatalf("%+v, %v", got, err)
				}
				if j := d.job(got.Job.Job.Job); j.Steer != nil || d.prompt(j.Job.Job) != "also this" {
					t.Fatalf("on disk %+v", j)
				}
				for _, r := range b.Runs().List() {
					if len(b.Runs().Wishes(r.Handle).Steers) != 0 {
						t.Fatal("a later turn is given the steer")
					}
				}
			})
		}
	}
}

// TestS3_SteerOverADaemonKill: sent or not, a steer that was acknowledged to be on its way is one thing after a restart:
// still on its way, or a job.
func TestS3_SteerOverADaemonKill(t *testing.T) {
	for name, c := range map[string]struct {
		sent, alive bool
		want        wire.Delivery
	}{
		"still on its way": {false, true, wire.DeliverySteered}, "sent, and then taken": {true, true, wire.DeliverySteered},
		"not sent, and the process is gone": {false, false, wire.DeliveryQueued}, "sent, and the process is gone": {true, false, wire.DeliveryQueued},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk()
			b, first, h := steerable(t, d)
			a := b.steer(first, wire.SendAuto)
			job := a.Job.Job.Job
			if c.sent {
				b.report(h, row.Step{Kind: row.StepSteerSent, Job: job})
				b.wait(b.Runs().Saved(h))
			}
			b.stop()
			pos := b.pos
			b = open(t, d, nil)
			b.pos = pos
			b.launched()
			again, _, err := b.Jobs().Send(steer(first, wire.SendAuto, "k"))
			if err != nil || again.Steering == nil {
				t.Fatalf("asked again: %+v, %v", again, err)
			}
			if c.alive {
				b.Runs().Life(h, row.Life{Kind: row.LifeAdopted, At: time.Now()})
				if w := b.Runs().Wishes(h); len(w.Steers) != 1 {
					t.Fatalf("wishes %+v", w)
				}
				b.report(h, row.Step{Kind: row.StepSteered, Job: job, Turn: 1})
			} else {
				b.Runs().Life(h, row.Life{Kind: row.LifeLost, At: time.Now()})
			}
			got, err := b.outcome(again)
			if err != nil || got.Delivery != c.want {
				t.Fatalf("%+v, %v", got, err)
			}
			if c.want == wire.DeliverySteered {
				return
			}
			has(t, detail(b.job(got)), "is paused") // the turn was interrupted
		})
	}
}

// TestP10_NoWordOnASteer: an agent that says nothing of a prompt which it was sent holds the queue for 30 s, and then the
// owner decides: it may have been done.
func TestP10_NoWordOnASteer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, first, h := steerable(t, newDisk())
		a := b.steer(first, wire.SendAuto)
		waiting := b.send2(first, "later")
		b.report(h, row.Step{Kind: row.StepSteerSent, Job: a.Job.Job.Job}, ended(1, wire.StateCompleted, "r"))
		b.caughtUp(h)
		has(t, detail(b.job(waiting)), "waits for the word of")
		short, cancel := context.WithTimeout(t.Context(), 29*time.Second)
		defer cancel()
		if _, err := a.Steering.Wait(short); err != context.DeadlineExceeded {
			t.Fatalf("decided already: %v", err)
		}
		got, err := b.outcome(a)
		if err != nil || got.Delivery != wire.DeliveryQueued {
			t.Fatalf("%+v, %v", got, err)
		}
		has(t, detail(b.job(got)), "whether job-2 reached the turn of job-1 is not known")
		b.stop()
	})
}

// send2 sends a prompt that has to wait.
func (b *bench) send2(first hub.Accepted, prompt string) hub.Accepted {
	b.t.Helper()
	q := steer(first, wire.SendQueue, "")
	q.Prompt.Text, q.Task = prompt, prompt
	a, ticket, err := b.Jobs().Send(q)
	if err != nil {
		b.t.Fatal(err)
	}
	b.wait(ticket)
	return a
}

func TestS10_SteerThatCannotBeKeptIsNotDelivered(t *testing.T) {
	d := newDisk()
	b, first, h := steerable(t, d)
	d.fail(errFull)
	_, ticket, err := b.Jobs().Send(steer(first, wire.SendAuto, "k"))
	if err != nil {
		t.Fatal(err)
	}
	if err := ticket.Wait(t.Context()); reason(err) != wire.ReasonUnavailable {
		t.Fatal(err)
	}
	d.fail(nil)
	b.wait(b.Runs().Saved(h))
	if w := b.Runs().Wishes(h); len(w.Steers) != 0 || len(b.Snapshot().Jobs) != 1 {
		t.Fatalf("wishes %+v", w)
	}
}

func TestU2_SteerableIsWhatASteerWouldBeToldNow(t *testing.T) {
	b, first, h := steerable(t, newDisk())
	steers := func() bool { return b.Runs().List()[0].Steerable }
	b.report(h, ended(1, wire.StateCompleted, "r"))
	if steers() {
		t.Error("an idle run is steerable")
	}
	second := b.send(first.Job, "2")
	b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 2})
	if !steers() {
		t.Error("a running turn is not")
	}
	b.changed(b.Jobs().Cancel(second.Ref, row.Principal{}))
	if steers() {
		t.Error("a turn that is being cancelled is")
	}
	if _, _, err := b.Jobs().Send(steer(first, wire.SendSteer, "")); reason(err) != wire.ReasonNotSteerable {
		t.Errorf("steered into it: %v", err)
	}
}

// TestP5_SteerBesideAnOpenQuestion: the agent takes it though it waits for an answer, and the question stays open.
func TestP5_SteerBesideAnOpenQuestion(t *testing.T) {
	b, first, h := steerable(t, newDisk())
	b.report(h, asks("ap-1", "make test"))
	a := b.steer(first, wire.SendSteer)
	if w := b.Runs().Wishes(h); len(w.Steers) != 1 || b.state(first) != wire.StateAwaitingInput {
		t.Fatalf("wishes %+v while %s", w.Steers, b.state(first))
	}
	b.report(h, row.Step{Kind: row.StepSteered, Job: a.Job.Job.Job, Turn: 1})
	if got, err := b.outcome(a); err != nil || got.Delivery != wire.DeliverySteered {
		t.Fatalf("%+v, %v", got, err)
	}
	if b.find("ap-1").State != wire.ApprovalOpen {
		t.Error("the question was settled by it")
	}
}

// TestLateEventsOfACancelledTurn: whatever an agent still says of it, the next turn is its own.
func TestLateEventsOfACancelledTurn(t *testing.T) {
	b, first, h := steerable(t, newDisk())
	b.changed(b.Jobs().Cancel(first.Ref, row.Principal{}))
	second := b.send(first.Job, "2")
	b.report(h, ended(1, wire.StateCancelled, ""))
	b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 2})
	b.report(h,
		row.Step{Kind: row.StepActivity, Turn: 1, Detail: "late"}, row.Step{Kind: row.StepRetry, Turn: 1, Detail: "late", Class: "network"},
		ended(1, wire.StateCompleted, "late"), row.Step{Kind: row.StepTurnStarted, Turn: 1})
	if j := b.job(second); j.State != wire.StateWorking || j.Detail != nil || j.Class != nil {
		t.Fatalf("the next turn is %s: %s", j.State, detail(j))
	}
	if s := b.state(first); s != wire.StateCancelled {
		t.Errorf("the cancelled one is %s", s)
	}
	b.report(h, ended(2, wire.StateCompleted, "its own"))
	if s := b.state(second); s != wire.StateCompleted {
		t.Errorf("and then %s", s)
	}
}

// TestB11_AnotherModelIsSaid: what was asked for stands beside what is used.
func TestB11_AnotherModelIsSaid(t *testing.T) {
	b := open(t, newDisk(), nil)
	q := request("1")
	q.Model = "b"
	a := b.startAs(q)
	h := b.launched().Run.Handle
	b.report(h, row.Step{Kind: row.StepTurnStarted, Turn: 1}, row.Step{Kind: row.StepOffer, Turn: 1, Model: "a", Detail: "the model b was asked for, and the agent says that it uses a"})
	m := b.job(a).Models
	if m == nil || *m.Requested != "b" || *m.Reported != "a" {
		t.Fatalf("models %+v", m)
	}
	has(t, b.job(a).Evidence[len(b.job(a).Evidence)-1].Fact, "the model b was asked for")
}

// TestB14_AnAgentThatHasItIsSaidSoAtOnce: claude takes a prompt at once and reads it when the tool that runs is done,
// which may be in an hour. Who sent it is told so now; should the turn end without it, it is a job after all.
func TestB14_AnAgentThatHasItIsSaidSoAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		mode wire.SendMode
		end  row.StepKind
		jobs int
	}{
		"taken later": {wire.SendAuto, row.StepSteered, 1}, "dropped by the agent": {wire.SendAuto, row.StepSteerRefused, 2},
		"dropped, and nothing but the turn was asked for": {wire.SendSteer, row.StepSteerRefused, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk()
			b, first, h := steerable(t, d)
			a := b.steer(first, c.mode)
			job := a.Job.Job.Job
			b.report(h, row.Step{Kind: row.StepSteerSent, Job: job}, row.Step{Kind: row.StepSteerHeld, Job: job, Turn: 1})
			got, err := b.outcome(a)
			if err != nil || got.Delivery != wire.DeliverySteered || got.Ref != "" {
				t.Fatalf("%+v, %v", got, err)
			}
			has(t, got.Note, "at its next step")
			b.stop()
			pos := b.pos
			b = open(t, d, nil)
			b.pos = pos
			b.launched()
			again, _, err := b.Jobs().Send(steer(first, c.mode, "k"))
			if err != nil || !again.Repeated || again.Delivery != wire.DeliverySteered || again.Steering != nil {
				t.Fatalf("asked again of the next daemon: %+v, %v", again, err)
			}
			b.Runs().Life(h, row.Life{Kind: row.LifeAdopted, At: time.Now()})
			b.report(h, row.Step{Kind: c.end, Job: job, Turn: 1, Detail: "it was cancelled"})
			if n := len(b.Snapshot().Jobs); n != c.jobs {
				t.Fatalf("%d jobs are listed, want %d", n, c.jobs)
			}
			if w := b.Runs().Wishes(h); len(w.Steers) != 0 {
				t.Fatalf("it is still wished: %+v", w.Steers)
			}
		})
	}
}

// TestB14_AnAcknowledgementThatComesLate: the agent says after 40 s that it took the prompt. Who gave up waiting before
// and sends again, as a person does, is told of the same prompt, and it was taken once.
func TestB14_AnAcknowledgementThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, first, h := steerable(t, newDisk())
		a := b.steer(first, wire.SendAuto)
		job := a.Job.Job.Job
		b.report(h, row.Step{Kind: row.StepSteerSent, Job: job})
		short, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := a.Steering.Wait(short); err != context.DeadlineExceeded {
			t.Fatalf("decided already: %v", err)
		}
		again, _, err := b.Jobs().Send(steer(first, wire.SendAuto, "k"))
		if err != nil || !again.Repeated || again.Job.Job.Job != job {
			t.Fatalf("sent again: %+v, %v", again, err)
		}
		time.AfterFunc(10*time.Second, func() { b.report(h, row.Step{Kind: row.StepSteered, Job: job, Turn: 1}) })
		for _, waiting := range []hub.Accepted{a, again} {
			if got, err := b.outcome(waiting); err != nil || got.Delivery != wire.DeliverySteered {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		if n := len(b.Snapshot().Jobs); n != 1 {
			t.Fatalf("%d jobs are listed", n)
		}
		b.stop()
	})
}
