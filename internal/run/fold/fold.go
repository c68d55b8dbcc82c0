// Package fold turns the spool of one run into its log and into what the hub is told. It is deterministic: from the
// same frames, whole, in any pieces or from any checkpoint, come the same records and steps under the same positions,
// so that a daemon that starts in the middle repeats nothing and misses nothing. It does no I/O and reads no clock:
// every time is a frame's.
//
// It is the choke point of what an agent says: each text is masked here, as a whole message and before it is cut, and
// leaves only masked. One goroutine uses a Fold.
package fold

import (
	"fmt"
	"time"

	"scv/internal/agent"
	"scv/internal/run/spool"
	"scv/internal/safe/redact"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// Options are what a fold knows beside the spool.
type Options struct {
	Kind    agent.Kind
	Dialect agent.Dialect // fresh: nothing was fed to it
	Mask    *redact.Masker
	Run     wire.RunHandle
	Cwd     string
	Note    string // what Plan had to remark; may be empty
	First   uint32 // number of the turn that the process was started for
	// Prompt returns a turn's job and masked prompt. It may know nothing of a turn that is over.
	Prompt func(turn uint32) Prompt
	// Steer returns the masked text of a steer by its message's key, or nothing when it is not known any more; it may
	// be nil. It serves where the agent's word on a steer does not repeat it.
	Steer func(key string) string
	// Wanted says why a turn that failed or was cut off had to end so: the owner's wish, a limit, or, when stopped is
	// set, whoever told the shim to stop. Without a reason the agent's own outcome stands. It may be nil.
	Wanted func(turn uint32, stopped bool) (Reason, bool)
	// Answer returns what was decided on a request whose answer came back. It may know nothing of one that was told long
	// ago, and it may be nil.
	Answer func(id wire.ApprovalID) (Answer, bool)
}

// A Reason is what stands for the outcome of a turn that was ended from outside.
type Reason struct {
	State  wire.AgentState
	Class  agent.Class
	Detail string
}

// A Prompt is what the log says when a turn begins.
type Prompt struct {
	Job   wire.JobID
	Text  string // masked
	Model string // that the job asked for; empty for the agent's own
}

// An Item is one thing learnt: a record for the log or a step for the hub, never both.
type Item struct {
	Pos   row.Pos
	Event *wire.RunEvent
	Step  *row.Step
}

// A Fold holds what a run's spool says so far.
type Fold struct {
	sheet
	o        Options
	out, err line
	read     spool.Pos // after the last frame
	turn     turnState
	exited   bool
	stopped  bool // a step of the stop ladder was journaled
}

// turnState is the turn that the process serves or served last.
type turnState struct {
	Number  uint32 `json:"number"`
	Started bool   `json:"started,omitzero"`
	Ended   bool   `json:"ended,omitzero"`
	Given   uint32 `json:"given,omitzero"`  // the last turn whose prompt is in the spool
	Model   string `json:"model,omitempty"` // in force, as far as the agent said
	// Of the whole run:
	Asks uint32    `json:"asks,omitzero"`   // requests so far
	Open []openAsk `json:"asked,omitempty"` // of them those that wait
}

// New returns a fold at the beginning of a spool.
func New(o Options) *Fold {
	return &Fold{o: o, turn: turnState{Number: o.First}, sheet: sheet{mask: o.Mask}}
}

// Read is where the frame after the last folded one begins, and Seq that one's number; 0 before the first.
func (f *Fold) Read() (at spool.Pos, seq uint64) { return f.read, f.frame }

// Ended reports whether the turn with this number has ended as far as the spool was folded.
func (f *Fold) Ended(turn uint32) bool {
	return turn < f.turn.Number || turn == f.turn.Number && f.turn.Ended
}

// Running returns the number of the turn that was taken and has not ended; 0 for none.
func (f *Fold) Running() uint32 {
	if f.turn.Started && !f.turn.Ended {
		return f.turn.Number
	}
	return 0
}

// Exited reports whether the agent's exit was folded.
func (f *Fold) Exited() bool { return f.exited }

// Next asks the dialect what should be written to the agent now; n is the number of that message.
func (f *Fold) Next(w agent.Wishes, n uint64) (agent.Message, bool) { return f.o.Dialect.Next(w, n) }

// Frame folds the next frame and gives take its items, one after the other: a line of an agent may hold a million lines of
// text, and nobody needs them all at once.
func (f *Fold) Frame(fr spool.Frame, take func(Item)) error {
	f.turnTo(fr.Seq, fr.Time(), take)
	f.read = fr.End
	switch fr.Kind {
	case spool.KindOut:
		f.out.feed(fr.Payload, func(text []byte, cut uint64) { f.line(agent.InputOut, text, cut) })
	case spool.KindErr:
		f.err.feed(fr.Payload, func(text []byte, cut uint64) { f.line(agent.InputErr, text, cut) })
	case spool.KindIn:
		word{f}.given(fr.Key)
		f.input(agent.Input{Kind: agent.InputSent, Key: fr.Key, N: fr.N, Line: fr.Payload})
	case spool.KindNote:
		note, err := spool.DecodeNote(fr.Payload)
		if err != nil {
			return fmt.Errorf("fold frame %d: %w", fr.Seq, err)
		}
		f.note(note)
	}
	return nil
}

func (f *Fold) note(n spool.Note) {
	switch {
	case n.Started != nil:
		text := fmt.Sprintf("%s over %s in %s", f.o.Kind.Name, f.o.Kind.Transport, f.o.Cwd)
		f.event(wire.RunEvent{Kind: wire.EventRunStarted, Text: f.display(text)})
		if f.o.Note != "" {
			f.remark(f.o.Note)
		}
		f.input(agent.Input{Kind: agent.InputStarted})
	case n.StartFailed != nil:
		text, class := startFailure(*n.StartFailed, f.o.Cwd)
		f.input(agent.Input{Kind: agent.InputStartFailed, Text: text, Class: class})
	case n.AgentExit != nil:
		f.exit(agent.Exit{Code: n.AgentExit.Code, Signal: n.AgentExit.Signal, OOM: n.AgentExit.OOM})
	case n.Stdin != nil:
		f.input(agent.Input{Kind: agent.InputStdin, Text: n.Stdin.Error})
	case n.EOF != nil && n.EOF.Stream == spool.KindOut.String():
		f.flush(&f.out, agent.InputOut)
		f.input(agent.Input{Kind: agent.InputEOF})
	case n.EOF != nil:
		f.flush(&f.err, agent.InputErr)
	case n.Stop != nil:
		f.stopped = true
	case n.Undelivered != nil:
		f.remark(fmt.Sprintf("%d typed bytes were dropped: the program in the terminal did not read them in time", n.Undelivered.Bytes))
	case n.Ports != nil:
		for _, port := range n.Ports.List {
			if text := listens(port, f.o.Kind.Serves); text != "" {
				f.remark(text)
			}
		}
	case n.Strays != nil:
		f.remark(strays(*n.Strays))
	}
}

// exit settles what the agent wrote without a line feed, then its end. What processes that it left behind still
// write is not the agent's.
func (f *Fold) exit(e agent.Exit) {
	f.flush(&f.out, agent.InputOut)
	f.flush(&f.err, agent.InputErr)
	f.input(agent.Input{Kind: agent.InputExit, Exit: e})
	f.exited = true
}

func (f *Fold) flush(l *line, kind agent.InputKind) {
	l.end(func(text []byte, cut uint64) { f.line(kind, text, cut) })
}

func (f *Fold) line(kind agent.InputKind, text []byte, cut uint64) {
	if f.exited {
		return
	}
	if cut > 0 {
		f.remark(fmt.Sprintf("the agent wrote a line of %d bytes; the last %d of them are left out",
			uint64(len(text))+cut, cut))
	}
	f.input(agent.Input{Kind: kind, Line: text, Cut: cut})
}

func (f *Fold) input(in agent.Input) {
	in.At = f.at
	size := len(in.Line)
	facts := f.o.Dialect.Feed(in)
	release(size) // the line itself: no fact shares its bytes
	for _, fact := range facts {
		f.fact(fact)
	}
}

// A Finish is how a run was found to be over.
type Finish struct {
	At   time.Time
	Exit *agent.Exit // nil when the shim left no record of it
	Lost string      // a sentence on a run without such a record
	// After is the last frame of which anything was stored. It lies beyond the spool's end when a crash of the machine
	// took what was not flushed of that; the records of the end then come behind it all the same.
	After uint64
}

// Finish folds the end of a run whose lock is free, after its last frame. A turn that the spool does not settle is
// settled here, and run_ended closes the log. Nothing may be folded after it.
func (f *Fold) Finish(end Finish) []Item {
	frame := f.frame + 1
	if end.After > frame {
		frame = end.After + 1
	}
	var items []Item
	f.turnTo(frame, end.At, func(i Item) { items = append(items, i) })
	if end.Exit != nil && !f.exited {
		f.exit(*end.Exit)
	}
	if !f.exited {
		f.flush(&f.out, agent.InputOut)
		f.flush(&f.err, agent.InputErr)
	}
	if f.turn.Number != 0 && !f.turn.Ended {
		f.ended(f.turn.Number, f.unsettled(end))
	}
	status := f.Status(end)
	f.event(wire.RunEvent{Kind: wire.EventRunEnded, Status: &status})
	return items
}

// Status is how a run ended, in upstream's words: exited, killed or lost.
func (f *Fold) Status(end Finish) string {
	switch {
	case end.Exit == nil && !f.exited:
		return "lost"
	case f.stopped || end.Exit != nil && end.Exit.Signal != "":
		return "killed"
	}
	return "exited"
}

// unsettled is the outcome of a turn that ended with its process and without a word.
func (f *Fold) unsettled(end Finish) agent.Outcome {
	if end.Exit == nil && !f.exited {
		return agent.Outcome{State: wire.StateInterrupted, Class: agent.ClassLost, Detail: end.Lost}
	}
	return agent.Outcome{
		State: wire.StateFailed, Class: agent.ClassAgent,
		Detail: f.o.Kind.Name + " ended without saying how its turn ended",
	}
}
