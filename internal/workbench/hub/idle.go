package hub

import (
	"fmt"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
	"scv/internal/workbench/state"
)

// scarceInterval is how long nothing new is started after a start that was held up.
const scarceInterval = 5 * time.Second

// again gives a job back that its process was never given: it waits as before, and runs when its time has come.
func (j *job) again(at time.Time, why string) {
	m, c := j.m, j.conv
	if !j.step(state.Queue, at, "process", "it waits again: "+why) {
		return
	}
	if c.current == j {
		c.current = nil
	}
	if r := j.run; r != nil && r.current == j {
		r.current, r.row.Job = nil, nil
	}
	m.holds.left(j)
	j.run, j.row.Run, j.row.Turn, j.row.Detail = nil, nil, 0, nil
	j.touch()
	queuedJob{j}.enqueue()
	m.commit()
}

// A restingRun is a run without a turn: one that was held up, or that waits for the next one.
type restingRun struct{ *run }

// heldUp takes back a start that failed for want of what comes back by itself, such as descriptors: nothing was run,
// so the job waits, and its run never was.
func (r restingRun) heldUp(l row.Life) {
	m := r.m
	m.lack = l.Detail
	m.scarce.start(scarceInterval, func() {
		m.h.do(func() { m.lack, m.requeue = "", true })
	})
	switch j := r.current; {
	case j == nil:
	case j.row.Cancelled:
		j.end(ending{state: wire.StateCancelled, detail: "cancelled before it started"}, l.At, "owner")
	default:
		j.again(l.At, l.Detail)
	}
	r.end(state.Cancel, l.Detail, l.At)
	m.ended = deleteOne(m.ended, r.run)
	m.unlist(&r.entry)
	delete(m.runs, r.row.Handle)
}

// delayed says why a start waits.
func (r restingRun) delayed(l row.Life) {
	r.row.Detail = text(l.Detail)
	if j := r.current; j != nil {
		j.note(l.At, "process", l.Detail)
		j.say(l.Detail)
	}
}

// begun takes back what delayed said.
func (r restingRun) begun() {
	if r.row.State != wire.StateStarting || r.row.Detail == nil {
		return
	}
	if j := r.current; j != nil && str(j.row.Detail) == str(r.row.Detail) {
		j.row.Detail = nil
		j.touch()
	}
	r.row.Detail = nil
}

// rest notes that a live run has no turn, since when it has none by the clock that counts on.
func (r restingRun) rest() {
	m := r.m
	r.idle = m.now()
	resting{m}.watchIdle()
}

// rested is how long a run has been idle; false when it is not, or is to leave already.
func (r restingRun) rested(now time.Time) (time.Duration, bool) {
	return now.Sub(r.idle), r.waits() && !r.idle.IsZero()
}

// resting is the model as far as live runs between turns go.
type resting struct{ *model }

// longestIdle is the live run that has had no turn for the longest time; nil for none.
func (m resting) longestIdle() (longest *run, rested time.Duration) {
	now := m.now()
	for _, r := range m.runs {
		if d, ok := (restingRun{r}).rested(now); ok && (longest == nil || d > rested) {
			longest, rested = r, d
		}
	}
	return longest, rested
}

// watchIdle keeps one timer, for the run that has to leave first.
func (m resting) watchIdle() {
	r, rested := m.longestIdle()
	if r == nil {
		m.idling.stop()
		return
	}
	m.idling.start(max(m.h.o.Limits.Idle-rested, 0), func() { m.h.do(m.closeIdle) })
}

// closeIdle lets the runs leave that have been idle for as long as the limit says.
func (m resting) closeIdle() {
	for {
		r, rested := m.longestIdle()
		if r == nil || rested < m.h.o.Limits.Idle {
			break
		}
		restingRun{r}.close(fmt.Sprintf("is being closed after %s without a turn; the next prompt starts it again", minutes(rested)))
	}
	m.watchIdle()
}

func minutes(d time.Duration) string {
	if n := int(d.Round(time.Minute) / time.Minute); n != 1 {
		return fmt.Sprintf("%d minutes", n)
	}
	return "one minute"
}

// close lets a live run between turns leave. Its conversation goes on with a new process that resumes.
func (r restingRun) close(why string) {
	r.closing = true
	r.row.Detail = text(why)
	r.touch()
	r.m.after(effect{run: r.run})
	r.m.commit()
}

// Vacate tells which runs in a place have no turn and whose process is still to go: their turn is over, or they were told
// to leave. With idle, live runs between turns there are told to leave now; their conversations go on with a new process.
// Within says whether a directory is of the place; it is called in the hub's loop and may not block.
func (rs Runs) Vacate(within func(dir string) bool, idle bool) (leaving []wire.RunHandle) {
	rs.h.do(func() {
		for _, r := range rs.h.m.runs {
			if !r.row.Live || r.row.Terminal != nil || r.current != nil || !within(r.row.Cwd) {
				continue
			}
			if idle && r.waits() {
				restingRun{r}.close("is being closed, since its worktree is wanted; the next prompt starts it again")
			}
			if r.closing || r.row.Stop || r.row.Transport == wire.TransportCLI {
				leaving = append(leaving, r.row.Handle)
			}
		}
	})
	return leaving
}

// makeRoom lets the longest idle run leave when memory is short, one after the other.
func (m resting) makeRoom() {
	for _, r := range m.runs {
		if r.closing && r.row.Live {
			return
		}
	}
	if r, _ := m.longestIdle(); r != nil {
		restingRun{r}.close("is being closed to make room in memory; the next prompt starts it again")
	}
}

// reports keeps which model the agent says that it uses, and says so where it is another one than was asked for (B11).
func (r *run) reports(s row.Step) {
	j := r.current
	if j == nil || s.Model == "" {
		return
	}
	models := wire.JobModels{Requested: text(j.row.Model), Reported: text(s.Model)}
	j.row.Models = &models
	if s.Detail != "" {
		j.note(s.At, "agent", s.Detail)
	}
	j.touch()
}
