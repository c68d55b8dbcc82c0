// Package state owns the one table that says how a job's or run's state may change. It is pure; the hub alone steps
// states with it, and docs/states.md is made from it. An event that the table does not know in a state is an error
// and changes nothing: whoever steps logs it and goes on.
package state

import (
	"fmt"
	"sync"

	"scv/internal/wire"
)

// Event is what happened to a job or run.
type Event uint8

// The events. Their numbers are not written anywhere.
const (
	Queue     Event = iota // it has to wait
	Start                  // its process is being made
	Ready                  // the process takes turns and has none
	Turn                   // a turn began
	Activity               // the agent gave a sign of life
	Ask                    // the agent asks the owner
	Answer                 // every question is answered
	Idle                   // the turn is over and the process lives on
	Complete               // the agent said that the turn ended well
	Fail                   // the turn, or the process before its end, failed
	Decline                // the agent's model refused
	Timeout                // a time limit of the owner was reached
	Cancel                 // the owner stopped it
	Interrupt              // what ran it went away
	Lose                   // it cannot be observed
	Seen                   // it can be observed again, and a turn runs

	events // how many there are
)

// Events is the number of events: they are 0 to Events-1.
const Events = int(events)

// String returns the event's word, as docs/states.md shows it.
func (e Event) String() string {
	words := [...]string{
		Queue: "queue", Start: "start", Ready: "ready", Turn: "turn", Activity: "activity", Ask: "ask", Answer: "answer",
		Idle: "idle", Complete: "complete", Fail: "fail", Decline: "decline", Timeout: "timeout", Cancel: "cancel",
		Interrupt: "interrupt", Lose: "lose", Seen: "seen",
	}
	if int(e) < len(words) {
		return words[e]
	}
	return "event"
}

// cell is a target state plus one; zero means that the event is illegal there.
type cell uint8

type grid [wire.AgentStates][Events]cell

// table is built on first use and never changes.
var table = sync.OnceValue(build)

func build() *grid {
	var g grid
	set := func(e Event, to wire.AgentState, from ...wire.AgentState) {
		for _, s := range from {
			g[s][e] = cell(to) + 1
		}
	}
	const (
		unknown   = wire.StateUnknown
		starting  = wire.StateStarting
		working   = wire.StateWorking
		awaiting  = wire.StateAwaitingInput
		idle      = wire.StateIdle
		queued    = wire.StateQueued
		completed = wire.StateCompleted
	)
	set(Queue, queued, starting, working, awaiting, queued, unknown)
	set(Start, starting, queued, idle, unknown)
	set(Ready, idle, starting, idle)
	set(Turn, working, starting, idle, working, unknown)
	set(Activity, starting, starting)
	set(Activity, working, working, unknown)
	set(Activity, awaiting, awaiting)
	set(Activity, idle, idle)
	set(Ask, awaiting, starting, working, awaiting, unknown)
	set(Answer, working, awaiting, unknown)
	set(Idle, idle, starting, working, awaiting, idle, unknown)
	set(Complete, completed, starting, working, awaiting, idle, unknown)
	set(Fail, wire.StateFailed, starting, working, awaiting, idle, queued, unknown)
	set(Decline, wire.StateDeclined, starting, working, awaiting, unknown)
	set(Timeout, wire.StateTimeout, starting, working, awaiting, idle, unknown)
	set(Cancel, wire.StateCancelled, starting, working, awaiting, idle, queued, unknown)
	set(Interrupt, wire.StateInterrupted, starting, working, awaiting, idle, queued, unknown)
	set(Lose, unknown, starting, working, awaiting, idle, unknown)
	set(Seen, working, unknown)
	return &g
}

// Step returns the state after an event. An illegal one returns the state as it is, with an error that names both.
func Step(s wire.AgentState, e Event) (wire.AgentState, error) {
	if int(s) >= wire.AgentStates || int(e) >= Events {
		return s, fmt.Errorf("no such state %d or event %d", s, e)
	}
	c := table()[s][e]
	if c == 0 {
		return s, fmt.Errorf("%s is not possible while %s", e, s)
	}
	return wire.AgentState(c - 1), nil
}

// Ending returns the event that leads to a final state; ok is false for a state that is not final.
func Ending(final wire.AgentState) (e Event, ok bool) {
	switch final {
	case wire.StateCompleted:
		return Complete, true
	case wire.StateFailed:
		return Fail, true
	case wire.StateDeclined:
		return Decline, true
	case wire.StateTimeout:
		return Timeout, true
	case wire.StateCancelled:
		return Cancel, true
	case wire.StateInterrupted:
		return Interrupt, true
	case wire.StateUnknown, wire.StateStarting, wire.StateWorking, wire.StateAwaitingInput, wire.StateIdle, wire.StateQueued:
	}
	return 0, false
}
