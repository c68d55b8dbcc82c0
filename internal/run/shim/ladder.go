package shim

import (
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"scv/internal/run/control"
	"scv/internal/run/proc"
	"scv/internal/run/spool"
)

// ladder ends the agent when asked, by steps that only go forward. It depends on nothing that may hang: not on the
// disk, not on a pipe.
type ladder struct {
	r        *run
	in       *input
	requests chan control.Step

	mu   sync.Mutex
	step control.Step // the last one taken
}

func newLadder(r *run, in *input) *ladder {
	return &ladder{r: r, in: in, requests: make(chan control.Step, 8)}
}

// request asks for a stop from step on; false when there is no such step.
func (l *ladder) request(step control.Step) bool {
	if step == "" {
		step = control.StepInterrupt
	}
	if rank(step) == 0 {
		return false
	}
	select {
	case l.requests <- step:
	default: // enough of them wait
	}
	return true
}

func rank(s control.Step) int {
	switch s {
	case control.StepInterrupt:
		return 1
	case control.StepEOF:
		return 2
	case control.StepTerminate:
		return 3
	case control.StepKill:
		return 4
	default:
		return 0
	}
}

func (l *ladder) taken() control.Step {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.step
}

// run takes requests and the signal that means the same, until nothing of the run is left.
func (l *ladder) run(stop <-chan os.Signal) {
	var due <-chan time.Time
	next := control.StepInterrupt
	for {
		select {
		case <-l.r.agent.empty:
			return
		case <-stop:
			due, next = l.advance(control.StepInterrupt, due, next)
		case step := <-l.requests:
			due, next = l.advance(step, due, next)
		case <-due:
			due, next = l.climb(next)
		}
	}
}

// advance goes to the step that was asked for unless the ladder is there already.
func (l *ladder) advance(step control.Step, due <-chan time.Time, next control.Step) (<-chan time.Time, control.Step) {
	if rank(step) <= rank(l.taken()) {
		return due, next
	}
	return l.climb(step)
}

// climb takes a step, and those that follow it without a wait.
func (l *ladder) climb(step control.Step) (<-chan time.Time, control.Step) {
	switch step {
	case control.StepInterrupt:
		l.take(step, l.interrupt)
		return time.After(l.r.timing.Interrupt), control.StepEOF
	case control.StepEOF:
		l.take(step, func() error { l.in.shut(); return nil })
		fallthrough
	case control.StepTerminate:
		l.take(control.StepTerminate, l.terminate)
		return time.After(l.r.timing.Terminate), control.StepKill
	default:
		l.take(control.StepKill, func() error { l.r.agent.killTree(l.r.errs); return nil })
		return nil, control.StepKill
	}
}

// interrupt asks the agent to stop. One with a terminal would take SIGINT for a key: it is hung up on, and so is what
// it runs in the foreground.
func (l *ladder) interrupt() error {
	if t := l.r.terminal; t != nil {
		return errors.Join(l.r.agent.signal(syscall.SIGHUP), t.hangUp(l.r.agent.id.PID))
	}
	return l.r.agent.signal(syscall.SIGINT)
}

// take journals a step and then does it. A disk that is full must not keep a run alive, so one try is made.
func (l *ladder) take(step control.Step, do func() error) {
	l.mu.Lock()
	l.step = step
	l.mu.Unlock()
	_ = l.r.journal.tryNote(spool.Note{Stop: &spool.Stop{Step: string(step)}})
	if err := do(); err != nil && !errors.Is(err, proc.ErrGone) {
		l.r.errs.say("stop step %s: %v", step, err)
	}
}

// terminate asks the agent's group to end or, when the agent has ended, each process that it left.
func (l *ladder) terminate() error {
	err := l.r.agent.signalGroup(syscall.SIGTERM)
	if !errors.Is(err, proc.ErrGone) {
		return err
	}
	left, err := l.r.leftovers()
	if err != nil {
		return err
	}
	return l.r.terminateAll(left)
}

// leftovers lists what lives of the run besides this process: below it, or carrying its marker.
func (r *run) leftovers() ([]proc.Process, error) {
	marked, err := proc.Marked(control.MarkerName, r.spec.Run)
	if err != nil {
		return nil, err
	}
	marked = slices.DeleteFunc(marked, r.stranger)
	if !proc.Subreaper {
		return marked, nil
	}
	list, err := proc.Descendants(r.self.PID)
	if err != nil {
		return marked, err
	}
	known := map[int]bool{}
	for _, p := range list {
		known[p.PID] = true
	}
	for _, p := range marked {
		if !known[p.PID] {
			list = append(list, p)
		}
	}
	return list, nil
}

// homeName is the variable that tells the homes of agents apart: a handle is unique in one home only.
const homeName = "SCV_HOME"

// stranger tells whether a process that carries the handle is of another home, or cannot be told to be of ours.
func (r *run) stranger(p proc.Process) bool {
	if !r.homed {
		return false
	}
	home, found, err := proc.Environment(p.PID, homeName)
	return err != nil || !found || home != r.home
}

func (r *run) terminateAll(list []proc.Process) error {
	var errs []error
	for _, p := range list {
		id := proc.Identity{Boot: r.self.Boot, PID: p.PID, Start: p.Start}
		if err := proc.Signal(id, syscall.SIGTERM); err != nil && !errors.Is(err, proc.ErrGone) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sweep ends what the agent left behind and returns when nothing is left. After a clean end, which the absence of
// children proves, it looks at no process table.
func (r *run) sweep() {
	if proc.Subreaper && r.ladder.taken() == "" && closed(r.agent.empty) {
		return
	}
	var told bool
	var strays spool.Note
	if left, err := r.leftovers(); err != nil {
		r.errs.say("%v", err)
	} else if len(left) > 0 {
		strays = strayNote(left)
		told = r.journal.tryNote(strays)
		if err := r.terminateAll(left); err != nil {
			r.errs.say("%v", err)
		}
		r.awaitLeftovers()
	}
	r.agent.killTree(r.errs)
	if _, err := proc.KillMarked(nil, control.MarkerName, r.spec.Run, r.stranger); err != nil {
		r.errs.say("%v", err)
	}
	if strays.Strays != nil && !told {
		r.journal.note(strays)
	}
}

// awaitLeftovers waits for the end of what was asked to end, as long as the grace lasts. Where orphans do not come to
// us their end is not seen, and the whole grace passes.
func (r *run) awaitLeftovers() {
	empty := r.agent.empty
	if !proc.Subreaper {
		empty = nil
	}
	select {
	case <-empty:
	case <-time.After(r.timing.Grace):
	}
}

func strayNote(left []proc.Process) spool.Note {
	s := &spool.Strays{}
	for _, p := range left {
		s.Names = append(s.Names, p.Name)
	}
	return spool.Note{Strays: s}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
