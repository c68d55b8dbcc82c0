package hub_test

import (
	"testing/synctest"
	"time"

	"scv/internal/wire"
)

// settleTickets looks at every promise that was kept or broken.
func (w *world) settleTickets() {
	now, cancel := contextDone(w.t)
	defer cancel()
	open := w.waits[:0]
	for _, p := range w.waits {
		err := p.ticket.Wait(now)
		switch {
		case err == nil:
			if wrong := p.kept(); wrong != "" {
				w.fail("%s", wrong)
			}
		case reason(err) == "":
			open = append(open, p)
		}
	}
	w.waits = open
}

// check holds the state to what must be true at any time.
func (w *world) check() {
	w.settleTickets()
	s := w.b.Snapshot()
	running, turns := 0, map[wire.ConversationID]wire.JobID{}
	finished := 0
	for _, j := range s.Jobs {
		if old, ok := w.finals[j.Job]; ok && old != j.State {
			w.fail("%s was %s and is %s", j.Job, old, j.State)
		}
		if j.State.Final() {
			finished++
			w.finals[j.Job] = j.State
			w.checkFinal(j)
			continue
		}
		if j.State == wire.StateQueued {
			if j.Detail == nil {
				w.fail("%s waits and does not say for what", j.Job)
			}
			continue
		}
		running++
		if other, ok := turns[*j.Conversation]; ok {
			w.fail("%s and %s run in %s", other, j.Job, *j.Conversation)
		}
		turns[*j.Conversation] = j.Job
	}
	if running > 2 {
		w.fail("%d turns run", running)
	}
	w.view.pull(w.watcher, w.b.Epoch())
	if diff := w.view.same(s); diff != "" {
		w.fail("the watcher's view: %s", diff)
	}
	w.checkAcked()
	w.checkQuestions(s)
}

// checkFinal: completed means that the agent said so, and what it said is what is told.
func (w *world) checkFinal(j wire.Job) {
	said, ok := w.said[j.Job]
	if j.State == wire.StateCompleted && said != wire.StateCompleted {
		w.fail("%s is completed, and its agent said %v (%v)", j.Job, said, ok)
	}
	if j.State == wire.StateCompleted {
		r, unsaved := w.b.Jobs().Result(j.Session, j.Job)
		if !unsaved {
			r = w.d.result(j.Job)
		}
		if r.Reply != "reply of "+string(j.Job) {
			w.fail("%s is completed with the reply %q", j.Job, r.Reply)
		}
	}
}

func (w *world) checkAcked() {
	for _, a := range w.accepted {
		if j := w.d.job(a.Job.Job.Job); j.Num == 0 {
			w.fail("%s was acknowledged and is not on disk any more", a.Ref)
		}
	}
}

// finish lets all that can run to its end, and looks that nothing hangs.
func (w *world) finish() {
	w.d.fail(nil)
	if w.release != nil {
		w.release()
		w.release = nil
	}
	<-time.After(time.Minute)
	for range 400 {
		synctest.Wait()
		w.launches()
		for _, h := range w.order {
			if p := w.procs[h]; !p.gone || !p.lifed || p.told < len(p.spool) {
				w.act(p, 0)
				w.tell(p)
			}
		}
	}
	<-time.After(time.Minute)
	w.check()
	w.checkSteers()
	for _, j := range w.b.Snapshot().Jobs {
		if !j.State.Final() && (j.State != wire.StateQueued || !w.paused(*j.Conversation)) {
			w.fail("%s hangs: %s (%s)", j.Job, j.State, str(j.Detail))
		}
		if j.State.Final() && w.d.job(j.Job).State != j.State {
			w.fail("%s is %s, on disk %s", j.Job, j.State, w.d.job(j.Job).State)
		}
	}
}

// checkSteers: each prompt that was to go into a running turn came to one end: taken once, or a job, or refused.
func (w *world) checkSteers() {
	for _, a := range w.accepted {
		j := w.d.job(a.Job.Job.Job)
		_, ran := w.given[j.Job.Job]
		taken := j.Steer != nil && j.Steer.Taken
		switch {
		case j.Steer != nil && !j.State.Final():
			w.fail("%s is for ever on its way into a turn", a.Ref)
		case taken != (w.took[j.Job.Job] == 1) || w.took[j.Job.Job] > 1:
			w.fail("%s was taken %d times, and is told to be taken: %v", a.Ref, w.took[j.Job.Job], taken)
		case taken && ran:
			w.fail("%s was taken into a turn and had one of its own", a.Ref)
		}
	}
}

func (w *world) paused(c wire.ConversationID) bool {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	return w.d.convs[c].Paused != ""
}

func str(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
