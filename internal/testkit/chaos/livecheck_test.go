//go:build linux

package chaos

import (
	"fmt"
	"slices"
	"strings"

	"scv/internal/client"
	"scv/internal/wire"
)

// A heard is what one run said, from its log.
type heard struct{ text string }

func (h heard) count(line string) int { return strings.Count(h.text, line) }

// check compares what was acknowledged with what the agents heard and said.
func (d *dialogue) check(jobs map[wire.JobRef]*wire.Job, h heard) map[string]int {
	l := d.l
	counts := map[string]int{}
	for _, t := range d.turns {
		j := jobs[d.session.Ref(t.job)]
		if j == nil {
			l.t.Errorf("%s (%s) was acknowledged and is not listed", t.tag, t.job)
			continue
		}
		counts[j.State.String()]++
		d.judge(t, j, h)
	}
	for _, s := range d.steers {
		told, listed := h.count("I was told: "+s.text+"\n"), 0
		for _, j := range jobs {
			if j.Task == s.text {
				listed++
			}
		}
		if s.job == "" && (told != 1 || listed != 0) || s.job != "" && (told != 0 || listed != 1) {
			l.t.Errorf("%s, acknowledged as job %q, was told %d times and is %d jobs", s.text, s.job, told, listed)
		}
	}
	return counts
}

// judge looks at one turn that is over.
func (d *dialogue) judge(t *turn, j *wire.Job, h heard) {
	l := d.l
	if slices.Contains(t.maybe, j.Task) {
		t.edits, t.tag = append(t.edits, t.tag), j.Task
	}
	first, last, ran := h.count(d.first+t.tag+"\n"), h.count("n 2. "+t.tag+"\n"), d.ran(t.tag, h)
	complain := func(format string, args ...any) {
		l.t.Helper()
		l.t.Errorf("%s (%s, %s, %q): %s; said %d and %d, ran %d", t.tag, t.job, j.State, deref(j.Detail), fmt.Sprintf(format, args...), first, last, ran)
	}
	for _, old := range t.edits {
		if h.count(d.first+old+"\n") != 0 {
			complain("its prompt was changed and the agent was given %s", old)
		}
	}
	yes, answered := d.answers[t.tag]
	switch {
	case j.Task != t.tag:
		complain("its task is %q", j.Task)
	case first > 1 || last > 1 || ran > 1:
		complain("something came twice")
	case t.dropped && first != 0:
		complain("it was dropped and ran")
	case ran == 1 && !(answered && yes):
		complain("nobody approved it")
	case j.State == wire.StateCompleted && (first != 1 || last != 1 || answered && yes && ran != 1):
		complain("it is not whole")
	case j.State == wire.StateCancelled && !t.cancelled && !t.dropped:
		complain("nobody cancelled it")
	case j.State == wire.StateInterrupted && !strings.Contains(deref(j.Detail), "nothing was run"):
		complain("it was interrupted though its shim was never touched")
	case j.State == wire.StateFailed || !j.State.Final() && !paused(j):
		complain("it has no good end")
	}
}

// allow lets all that waits for an answer go on without one: what is open is denied.
func (k *loop) allow() {
	k.t.Helper()
	k.until("nobody asks and nothing runs", func(v *wire.Snapshot) bool {
		for _, a := range v.Approvals {
			_, err := k.ask(k.ctx, wire.WorkbenchApprove{ID: a.ID, Approved: false, Key: client.NewKey()})
			if err != nil && !refused(err, wire.ReasonExpired, wire.ReasonConflict) {
				k.t.Errorf("%s: %v", a.ID, err)
			}
		}
		return len(v.Approvals) == 0 && !slices.ContainsFunc(v.Jobs, func(j wire.Job) bool { return !j.State.Final() && !paused(&j) })
	})
}

func (k *loop) judgeAll(all []*dialogue) {
	k.t.Helper()
	jobs, runs := map[wire.JobRef]*wire.Job{}, map[wire.RunHandle]bool{}
	for _, j := range k.all() {
		jobs[j.Ref()] = &j
		if j.Run != nil {
			runs[*j.Run] = true
		}
	}
	var text strings.Builder
	for run := range runs {
		for i, e := range k.events(run) {
			if e.Seq != uint64(i+1) {
				k.t.Errorf("%s: record %d has number %d", run, i+1, e.Seq)
			}
			if e.Kind == wire.EventText {
				text.WriteString(e.Text + "\n")
			}
		}
	}
	h := heard{text.String()}
	if n := h.count("An answer came to"); n != 0 {
		k.t.Errorf("%d answers came to questions that nobody asked", n)
	}
	counts, acks := map[string]int{}, map[string]int{}
	for _, d := range all {
		for state, n := range d.check(jobs, h) {
			counts[state] += n
		}
		for name, n := range d.acks {
			acks[name] += n
		}
	}
	k.tell("daemon killed, live "+all[0].agent, len(jobs), counts, acks)
	for _, name := range all[0].speaker.acts {
		if acks[name] == 0 {
			k.t.Errorf("no %s was acknowledged: the loop proves little", name)
		}
	}
	if counts["completed"] < 2*len(all) {
		k.t.Errorf("only %d turns completed: the loop proves little", counts["completed"])
	}
}
