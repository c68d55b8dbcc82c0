//go:build linux

package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"scv/internal/run/runlog"
	"scv/internal/wire"
)

// check compares what was acknowledged with what the workbench holds, when all has come to rest: no job is missing, none
// is there twice, each ended as its agent did, and each log is what its agent said. It returns how many were which.
func (l *lab) check(wishes []*wish) map[string]int {
	l.t.Helper()
	l.settled()
	counts := map[string]int{}
	tasks := map[string]int{}
	jobs := map[wire.JobRef]*wire.Job{}
	for _, j := range l.all() {
		tasks[j.Task]++
		jobs[j.Ref()] = &j
	}
	diary := l.diary()
	for _, w := range wishes {
		want := 1
		if w.dismissed {
			want = 0
		}
		if tasks[w.tag] != want {
			l.t.Errorf("%s (%s) is listed %d times, want %d", w.tag, w.ref, tasks[w.tag], want)
		}
		delete(tasks, w.tag)
		if st, err := w.repeat(l.ctx); err != nil || st.WorkbenchJob == nil || *st.WorkbenchJob != w.ref {
			l.t.Errorf("%s was acknowledged as %s; the same key gives %+v, %v", w.tag, w.ref, st, err)
		}
		if began := diary["begin "+w.tag]; began > 1 {
			l.t.Errorf("%s ran %d times", w.tag, began)
		}
		if w.dismissed {
			counts["dismissed"]++
			continue
		}
		if j := jobs[w.ref]; j != nil {
			counts[j.State.String()]++
			l.judge(w, j, diary)
		}
	}
	for task, n := range tasks {
		l.t.Errorf("%d jobs %q were asked for by nobody", n, task)
	}
	return counts
}

// settled waits until nothing happens any more by itself.
func (l *lab) settled() {
	l.t.Helper()
	l.until("all has come to rest", func(v *wire.Snapshot) bool {
		return !slices.ContainsFunc(v.Runs, func(r wire.Run) bool { return r.Live }) &&
			!slices.ContainsFunc(v.Jobs, func(j wire.Job) bool { return !j.State.Final() && !paused(&j) })
	})
}

func paused(j *wire.Job) bool {
	return j.State == wire.StateQueued && strings.HasPrefix(deref(j.Detail), "is paused")
}

// all lists every job that is not dismissed.
func (l *lab) all() (jobs []wire.Job) {
	l.t.Helper()
	var after *string
	for {
		st, err := l.insist(l.ctx, wire.JobsPage{After: after})
		l.must(err)
		jobs = append(jobs, st.JobsPage.Jobs...)
		if after = st.JobsPage.Next; after == nil {
			return jobs
		}
	}
}

// judge looks at one job that has ended.
func (l *lab) judge(w *wish, j *wire.Job, diary map[string]int) {
	l.t.Helper()
	said := 0
	if j.Run != nil {
		said = l.log(*j.Run, w)
	}
	complain := func(format string, args ...any) {
		l.t.Helper()
		l.t.Errorf("%s (%s, %s, %s): %s; detail %q, %d of %d said, diary %d %d", w.tag, w.agent.agent, w.ref, j.State,
			fmt.Sprintf(format, args...), deref(j.Detail), said, w.n, diary["begin "+w.tag], diary["end "+w.tag])
	}
	switch {
	case j.State == wire.StateQueued && paused(j) && diary["begin "+w.tag] == 0 && said == 0:
		// What waits behind a turn that was cut off waits for its owner.
	case !j.State.Final():
		complain("it has no end")
	case j.State == wire.StateInterrupted:
		// The start was cut off: then nothing ran, and it is said.
		if !strings.Contains(deref(j.Detail), "nothing was run") || diary["begin "+w.tag] != 0 || said != 0 {
			complain("it was interrupted though its shim was never touched")
		}
	case j.State == wire.StateCancelled:
		if !w.cancelled {
			complain("nobody cancelled it")
		}
	case w.agent.diary && diary["end "+w.tag] == 0:
		complain("its agent did not come to its end")
	case said != w.n:
		complain("its log is not whole")
	case j.State != w.ending.state || !strings.Contains(deref(j.Detail), w.ending.detail):
		complain("want %s, %q", w.ending.state, w.ending.detail)
	case j.State == wire.StateCompleted:
		if last := fmt.Sprintf("n %d. ", w.n); !strings.HasPrefix(l.reply(j), last) {
			complain("its reply is %.40q, want %q", l.reply(j), last)
		}
	}
}

func (l *lab) reply(j *wire.Job) string {
	l.t.Helper()
	st, err := l.insist(l.ctx, wire.JobResultCommand{Session: j.Session, Job: j.Job})
	l.must(err)
	return deref(st.JobResult.Reply)
}

// log reads a run's log from disk and returns how many messages it holds. Records and messages are gapless and in order,
// and each kind of end is there once at most.
func (l *lab) log(run wire.RunHandle, w *wish) (said int) {
	l.t.Helper()
	events := l.events(run)
	ends := map[wire.RunEventKind]int{}
	for i, ev := range events {
		if ev.Seq != uint64(i+1) {
			l.t.Errorf("%s, %s: record %d has number %d", w.tag, run, i+1, ev.Seq)
			return said
		}
		switch ev.Kind {
		case wire.EventRunStarted, wire.EventTurnStarted, wire.EventTurnEnded, wire.EventRunEnded:
			ends[ev.Kind]++
			if ends[ev.Kind] > 1 {
				l.t.Errorf("%s, %s: %s is there %d times", w.tag, run, ev.Kind, ends[ev.Kind])
			}
		}
	}
	for _, n := range numbers(events) {
		if n != said+1 {
			l.t.Errorf("%s, %s: message %d follows %d", w.tag, run, n, said)
		}
		said = n
	}
	if len(events) > 0 && events[len(events)-1].Kind != wire.EventRunEnded {
		l.t.Errorf("%s, %s: its log ends with %s", w.tag, run, events[len(events)-1].Kind)
	}
	return said
}

// events reads a whole log. A run that was never started may have none.
func (l *lab) events(run wire.RunHandle) (events []wire.RunEvent) {
	l.t.Helper()
	root, err := os.OpenRoot(filepath.Join(l.home, "runs", string(run)))
	if os.IsNotExist(err) {
		return nil
	}
	l.must(err)
	defer root.Close()
	if _, err := root.Stat("events.jsonl"); os.IsNotExist(err) {
		return nil
	}
	for after := uint64(0); ; {
		p, err := runlog.ReadPage(root, run, after, 500, false)
		l.must(err)
		events = append(events, p.Events...)
		if after = p.Next; !p.More {
			return events
		}
	}
}

// numbers are those of the numbered messages of a log.
func numbers(events []wire.RunEvent) (out []int) {
	for _, e := range events {
		var n int
		if e.Kind == wire.EventText {
			if _, err := fmt.Sscanf(e.Text, "n %d.", &n); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// gapless reports whether numbers are 1 to n, each once and in order.
func gapless(got []int, n int) bool {
	for i, g := range got {
		if g != i+1 {
			return false
		}
	}
	return len(got) == n
}
