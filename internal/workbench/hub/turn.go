package hub

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
	"scv/internal/workbench/state"
)

// Classes of a failure that the hub itself gives or acts on; a fold gives these and others.
const (
	classLost    = "lost"
	classStart   = "start"
	classMissing = "missing"
	classAuth    = "auth"
	classQuota   = "quota"
	classBudget  = "budget"
	classAgent   = "agent"
)

const detailLooking = "SCV was started again and looks for its process"

// maxEvidence bounds what is kept of how a job came to its state.
const maxEvidence = 20

// note adds to the evidence that `scv why` shows; of more than the limit the oldest goes, but never the first.
func (j *job) note(at time.Time, source, fact string) {
	e := j.row.Evidence
	if len(e) >= maxEvidence {
		e = slices.Concat(e[:1], e[2:])
	}
	j.row.Evidence = append(slices.Clip(e), wire.Evidence{AtMs: millis(at), Source: source, Fact: fact})
}

// step takes a job through the table. An illegal event changes nothing, is logged and shows in the detail.
func (j *job) step(e state.Event, at time.Time, source, fact string) bool {
	m := j.m
	next, err := state.Step(j.row.State, e)
	if err != nil {
		m.h.o.Log.Warn("event ignored", "job", j.row.Job.Job, "error", err)
		if !j.row.State.Final() {
			j.note(at, "daemon", "ignored: "+err.Error())
			j.say("something unexpected was ignored: " + err.Error())
		}
		return false
	}
	if next != j.row.State {
		j.count(j.row.State, next)
		j.row.State = next
		j.row.UpdatedUnixSeconds = unix(m.now())
		j.note(at, source, fact)
	}
	j.touch()
	return true
}

func running(s wire.AgentState) bool { return !s.Final() && s != wire.StateQueued }

// count keeps the sums that room and sessions are decided by.
func (j *job) count(from, to wire.AgentState) {
	m := j.m
	d := func(is func(wire.AgentState) bool) int {
		switch {
		case is(to) && !is(from):
			return 1
		case is(from) && !is(to):
			return -1
		}
		return 0
	}
	s := j.conv.session
	if j.row.Review == nil { // its turns take the room
		m.active += d(running)
	}
	s.active += d(running)
	s.awaiting += d(wire.AgentState.NeedsAttention)
	if to.Final() {
		m.open--
	}
	if next := s.state(); next != s.row.State {
		s.row.State = next
		s.touch()
	}
}

func (s *session) state() wire.AgentState {
	switch {
	case s.awaiting > 0:
		return wire.StateAwaitingInput
	case s.shown != wire.StateUnknown && s.shown != wire.StateIdle:
		return s.shown
	case s.active > 0:
		return wire.StateWorking
	}
	return wire.StateIdle
}

func (r *run) step(e state.Event) {
	m := r.m
	next, err := state.Step(r.row.State, e)
	if err != nil {
		m.h.o.Log.Warn("event ignored", "run", r.row.Handle, "error", err)
		return
	}
	if r.row.State = next; next == wire.StateIdle {
		restingRun{r}.rest()
	}
	r.touch()
}

// ending is how a job ends; state is final.
type ending struct {
	state  wire.AgentState
	class  string
	detail string
	result *row.Result
	soon   bool // the end of the process follows and shares its commit
}

// end makes a job final, with its result in the same step (U1), and lets its conversation go on or pause.
func (j *job) end(e ending, at time.Time, source string) {
	m := j.m
	if j.row.State.Final() {
		return
	}
	if e.result != nil {
		j.result = e.result
		m.dirty.results[j] = struct{}{}
	}
	j.row.Detail, j.row.Class, j.retrying = text(e.detail), nil, false
	if e.class != "" {
		j.row.Class = new(wire.Class(e.class))
	}
	j.row.Finished = unix(m.now())
	if j.row.State == wire.StateQueued {
		m.queued = deleteOne(m.queued, j)
	}
	ev, _ := state.Ending(e.state)
	if !j.step(ev, at, source, endFact(e)) { // a job that began nowhere cannot have completed
		j.step(state.Interrupt, at, "daemon", "its end could not be: "+e.state.String())
	}
	m.holds.ended(j, e)
	j.row.Resumable = j.row.State == wire.StateInterrupted && !j.row.Reviewed
	chain{j}.resumed()
	c := j.conv
	if c.current == j {
		c.current = nil
		c.pause(j, e)
	}
	if r := j.run; r != nil && r.current == j {
		r.current = nil
		r.row.Job = nil
		r.touch()
	}
	j.run, j.prompt = nil, ""
	j.finish()
	m.requeue = true
	if e.soon {
		m.commitSoon()
	} else {
		m.commit()
	}
}

func endFact(e ending) string {
	fact := "it " + verb(e.state)
	if e.class != "" {
		fact += " (" + e.class + ")"
	}
	if e.detail != "" {
		fact += ": " + e.detail
	}
	return fact
}

func verb(s wire.AgentState) string {
	switch s {
	case wire.StateCompleted, wire.StateFailed, wire.StateDeclined:
		return s.String()
	case wire.StateTimeout:
		return "reached its time limit"
	case wire.StateCancelled, wire.StateInterrupted, wire.StateUnknown, wire.StateStarting, wire.StateWorking,
		wire.StateAwaitingInput, wire.StateIdle, wire.StateQueued:
	}
	return "was " + s.String()
}

// pause holds a conversation's queue after an end that the next prompt would only repeat or build on blindly. What needs
// a sign-in is held for the whole agent (see holds).
func (c *conversation) pause(j *job, e ending) {
	var why string
	switch {
	case e.state == wire.StateInterrupted && j.row.Yielded: // the takeover holds the queue
		return
	case e.state == wire.StateInterrupted:
		why = "was interrupted"
	case e.state == wire.StateFailed && e.class == classQuota:
		why = "reached a usage limit"
	case e.state == wire.StateFailed && (e.class == classStart || e.class == classMissing):
		why = "could not be started"
	default:
		return
	}
	c.pauseFor(fmt.Sprintf("%s %s", j.row.Job.Job, why))
}

// report applies what a run's fold learnt. Steps up to the run's position are known already: a fold that was cut off
// reports them again.
func (r *run) report(steps []row.Step) {
	m := r.m
	for _, s := range steps {
		if !r.row.Pos.Less(s.Pos) {
			continue
		}
		r.row.Pos = s.Pos
		m.dirty.runs[r] = struct{}{}
		r.apply(s)
	}
}

func (r *run) apply(s row.Step) {
	m := r.m
	seen := unix(s.At) > r.row.LastActivityUnixSeconds
	r.row.LastActivityUnixSeconds = max(r.row.LastActivityUnixSeconds, unix(s.At))
	j := r.current
	if j != nil && s.Turn != 0 && s.Turn != j.row.Turn {
		j = nil
	}
	switch s.Kind {
	case row.StepReady:
		if r.current == nil {
			r.step(state.Ready)
		}
	case row.StepSession:
		r.named(j, s)
	case row.StepTurnStarted:
		inTurn{r}.giveUp("the next turn began without a word on it")
		if j != nil {
			r.works(j, state.Turn, s, "the agent took the prompt")
		}
	case row.StepActivity, row.StepRetry:
		if j != nil {
			r.activity(j, s)
		}
	case row.StepOffer:
		r.row.Steers = s.Steers
		r.reports(s)
	case row.StepSteerSent, row.StepSteerHeld, row.StepSteered, row.StepSteerRefused:
		inTurn{r}.steered(s)
	case row.StepApprovalAsked:
		asking{r}.asked(j, s)
	case row.StepApprovalClosed:
		asking{r}.closed(s)
	case row.StepTurnEnded:
		switch {
		case j != nil && s.End != nil:
			r.turnEnded(j, s)
		case s.End != nil && s.Turn <= r.conv.row.Turns: // after a crash a run is read again from its checkpoint
			m.h.o.Log.Debug("end of a turn is known", "run", r.row.Handle, "turn", s.Turn)
		default:
			m.h.o.Log.Warn("end of a turn that does not run", "run", r.row.Handle, "turn", s.Turn)
		}
	}
	if seen && r.row.Live {
		r.touch()
	}
}

// named takes the agent's own name of its conversation. One that a sibling has is not taken (acceptance P23): two
// conversations would share a transcript. The next process of this one then begins anew, and its job says why.
func (r *run) named(j *job, s row.Step) {
	c := r.conv
	if c.row.Vendor == s.Vendor && !c.elsewhere() {
		return
	}
	for _, other := range r.m.convs {
		if other == c || other.row.Agent != c.row.Agent || other.row.Vendor != s.Vendor {
			continue
		}
		if j != nil {
			j.note(s.At, "agent", fmt.Sprintf("%s named the conversation %s, which is that of %s: a later process does not go on with it",
				c.row.Agent, s.Vendor, other.row.ID))
		}
		return
	}
	c.row.Vendor, c.row.VendorAt, c.row.VendorOn = s.Vendor, unix(s.At), r.m.h.o.Machine
	c.touch()
}

// works steps job and run together, and clears what was only said while nothing better was known.
func (r *run) works(j *job, e state.Event, s row.Step, fact string) {
	if j.row.State == wire.StateUnknown || e == state.Turn {
		j.row.Detail, r.row.Detail = nil, nil
	}
	j.step(e, s.At, "agent", fact)
	r.step(e)
}

func (r *run) activity(j *job, s row.Step) {
	if j.row.State == wire.StateAwaitingInput { // what it asks is what a person has to know
		return
	}
	retry := s.Kind == row.StepRetry
	if s.Detail == "" && j.retrying && !retry { // it still tries: only what it does next tells that it got through
		if j.row.State == wire.StateUnknown {
			r.works(j, state.Activity, s, "the agent gave a sign of life")
		}
		return
	}
	news := j.row.State == wire.StateUnknown || j.retrying != retry ||
		s.Detail != "" && s.Detail != str(r.row.Detail) || retry && s.Class != class(j)
	if !news {
		return
	}
	r.works(j, state.Activity, s, "the agent gave a sign of life")
	if retry && !j.retrying {
		j.note(s.At, "agent", s.Detail)
	}
	if s.Detail != "" || j.retrying {
		if !j.row.Cancelled {
			j.row.Detail = text(s.Detail)
		}
		r.row.Detail = text(s.Detail)
	}
	j.retrying, j.row.Class = retry, nil
	if retry && s.Class != "" {
		j.row.Class = new(wire.Class(s.Class))
	}
	j.touch()
	r.touch()
}

func class(j *job) string {
	if j.row.Class == nil {
		return ""
	}
	return string(*j.row.Class)
}

func (r *run) turnEnded(j *job, s row.Step) {
	m := r.m
	e := *s.End
	if !e.State.Final() {
		m.h.o.Log.Warn("end of a turn without a final state", "run", r.row.Handle, "state", e.State.String())
		e.State, e.Class = wire.StateInterrupted, classLost
	}
	wanted := j.cancelled != 0 || j.row.Cancelled || r.row.Stop
	if wanted && (yields(e) || j.row.Yielded && e.State == wire.StateCancelled) {
		e.Class = ""
		e.State, e.Detail = stopped(j)
	}
	if e.Detail == "" && e.State != wire.StateCompleted {
		e.Detail = firstLine(e.Error)
	}
	asking{r}.closeAsks(row.ClosedVoid)
	j.usage(e)
	r.context(e)
	j.row.Untouched = e.Untouched
	oneTurn := r.row.Transport == wire.TransportCLI
	if m.holds.parks(j, &e) {
		j.park(&e, s.At)
	} else {
		j.end(ending{e.State, e.Class, e.Detail, &row.Result{Reply: e.Reply, Error: e.Error}, oneTurn}, s.At, teller(e))
	}
	r.row.Detail = text(e.Detail)
	if oneTurn {
		ev, _ := state.Ending(e.State)
		r.step(ev)
	} else {
		r.step(state.Idle)
		inTurn{r}.awaitWord()
	}
}

// yields reports whether an end is only what stopping looks like from inside. A success, a refusal or a failure of its
// own that came first is told as it was (a late cancel never hides it).
func yields(e row.End) bool {
	return e.State == wire.StateInterrupted ||
		e.State == wire.StateFailed && slices.Contains([]string{"", classAgent, classLost, classStart}, e.Class)
}

func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			r := []rune(line)
			return string(r[:min(len(r), 200)])
		}
	}
	return ""
}
