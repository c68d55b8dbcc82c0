// Package loop decides what a session of the model does: a pure state machine. An input goes in (a client's message, a
// piece of the model's answer, a tool's result), and what has to be done comes out, in order: events for clients, rows
// to be saved, a question for the model, a tool to be run. It does no I/O, reads no clock, and belongs to one goroutine,
// the session's.
//
// What is kept is in a Save before the event that tells of it, and each turn ends with exactly one of completed,
// cancelled and failed, after which nothing of it follows.
package loop

import (
	"cmp"
	"encoding/json"
	"time"

	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A ClientID names an attached client; 0 is nobody.
type ClientID uint64

// Limits bound a session. All are above 0 but where said.
type Limits struct {
	Steps           int // requests to the model in a turn
	Window          int // tokens that the model takes in all
	Reserve         int // of them for its answer; 0 allowed
	Safety          int // of them for what an estimate misses; 0 allowed
	BytesPerToken   int
	Summary         int // characters of the notes that stand for what is no longer shown
	HistoryBytes    int
	HistoryMessages int
	Output          int // bytes of one tool's result
	Calls           int // in one answer
	Arguments       int // bytes of one call's
}

// DefaultLimits are those of a session without settings.
func DefaultLimits() Limits {
	return Limits{
		Steps: 128, Window: wire.DefaultContextTokens, Reserve: 8192, Safety: 2048, BytesPerToken: 3, Summary: 6000,
		HistoryBytes: 16 << 20, HistoryMessages: 10000, Output: 64 << 10, Calls: 32, Arguments: 256 << 10,
	}
}

// Config is what does not change in a session's life.
type Config struct {
	Model  string
	Effort string
	System string
	Tools  []provider.Tool
	Mode   wire.PermissionMode
	Limits Limits
	// Owner: the owner sits at the client, and may answer what only the owner may.
	Owner bool
	NewID func() string // a fresh uuid
}

// A Core is the state. Make it with New or Load.
type Core struct {
	cfg  Config
	talk row.Talk // as it is to be kept; Order and Next are filled in when it is saved

	seq     uint64
	queue   []wire.QueueEntry
	past    history
	turn    *turn
	turns   uint64 // turns begun; a turn's number tells late inputs of an earlier one apart
	reports reports

	unsaved unsaved
	asKept  bool // of a session that was loaded: nothing had to be set right
	out     []Effect
	now     time.Time // of the step
}

// unsaved is what changed since the last Save.
type unsaved struct {
	entries []wire.QueueEntry
	gone    []wire.QueueID
	below   uint64
	other   *row.TalkChange
}

// New begins a session.
func New(cfg Config, t row.Talk) *Core {
	return &Core{cfg: cfg, talk: t, past: history{limits: cfg.Limits}}
}

// Effects are done in their order.
type (
	// An Effect is something that has to be done.
	Effect interface{ effect() }
	// Say tells all clients.
	Say struct{ Event wire.ServerEvent }
	// Answer tells one client.
	Answer struct {
		To    ClientID
		Event wire.ServerEvent
	}
	// Save makes a change durable before what stands behind it is done.
	Save struct{ Change Change }
	// Ask sends a request to the model; it is answered by Answered, with pieces before.
	Ask struct {
		Turn    uint64
		Request provider.Request
		// Bound is how many tokens the request may use: the model is asked for an exact count when Estimate comes near.
		Bound, Estimate int
	}
	// Summarise asks the model for notes; it is answered by Summed.
	Summarise struct {
		Turn    uint64
		Request provider.Request
	}
	// Run runs a tool; it is answered by Ran.
	Run struct {
		Turn uint64
		ID   wire.TurnID
		Call provider.Call
	}
	// Stop ends what a turn has under way.
	Stop struct{ Turn uint64 }
	// Alarm brings an input back later.
	Alarm struct {
		After time.Duration
		Input Input
	}
	// Show tells what the session does now.
	Show struct {
		State  wire.AgentState
		Detail string
	}
)

// A Change is what is to be kept, before masking.
type Change struct {
	Talk     row.Talk
	First    uint64 // number of the first of Messages
	Messages []provider.Message
	Below    uint64
	Entries  []wire.QueueEntry
	Gone     []wire.QueueID
	Other    *row.TalkChange // of a session whose queue this one took over; nil for none
}

func (Say) effect()       {}
func (Answer) effect()    {}
func (Save) effect()      {}
func (Ask) effect()       {}
func (Summarise) effect() {}
func (Run) effect()       {}
func (Stop) effect()      {}
func (Alarm) effect()     {}
func (Show) effect()      {}

// Inputs are what a session reacts to.
type (
	// An Input is something that happened.
	Input interface{ input() }
	// Message is a client's request. Attachments were looked at by whoever hands it in.
	Message struct {
		From ClientID
		Text wire.ClientMessage
		// Images are the attachments of a turn.start that the model can see.
		Images []provider.Image
	}
	// Piece is a part of the model's answer.
	Piece struct {
		Turn uint64
		Text string
	}
	// Answered is the end of an Ask.
	Answered struct {
		Turn   uint64
		Answer provider.Answer
		Fault  *provider.Fault // nil when all is well
		Calls  []Proposed      // one for each call of the answer
		Full   bool            // the request was counted and does not fit; it was not sent
	}
	// Summed is the end of a Summarise.
	Summed struct {
		Turn  uint64
		Text  string
		Usage provider.Usage
		Fault *provider.Fault
	}
	// Progress is what a running tool shows.
	Progress struct {
		Turn uint64
		Call string
		Text string
	}
	// Ran is the end of a Run.
	Ran struct {
		Turn   uint64
		Call   string
		Result tool.Result
	}
	// Overdue says that what was stopped had its time.
	Overdue struct{ Turn uint64 }
	// Ended is the end of a job that the session's model started.
	Ended struct{ Report wire.JobReport }
	// Again says that it is time for another report turn.
	Again struct{ Wait uint64 }
)

// Proposed is a call of the model with what its tool says of it.
type Proposed struct {
	Parallel   bool
	Assessment tool.Assessment
	Refused    *tool.Failure // why it cannot be run at all; nil when it can
}

func (Message) input()  {}
func (Piece) input()    {}
func (Answered) input() {}
func (Summed) input()   {}
func (Progress) input() {}
func (Ran) input()      {}
func (Overdue) input()  {}
func (Ended) input()    {}
func (Again) input()    {}

// Step takes an input in and returns what has to be done. now is the time of the input.
func (c *Core) Step(now time.Time, in Input) []Effect {
	c.out, c.now = nil, now
	switch in := in.(type) {
	case Message:
		queuer{c}.message(in)
	case Piece:
		turner{c}.piece(in)
	case Answered:
		turner{c}.answered(in)
	case Summed:
		window{c}.summed(in)
	case Progress:
		caller{c}.progress(in)
	case Ran:
		caller{c}.ran(in)
	case Overdue:
		turner{c}.overdue(in)
	case Ended:
		reporter{c}.jobEnded(in.Report)
	case Again:
		reporter{c}.reportAgain(in)
	}
	c.goOn()
	return c.out
}

// Start returns what has to be done before any input: what an earlier daemon left is set right.
func (c *Core) Start(now time.Time) []Effect {
	c.out, c.now = nil, now
	if !c.asKept {
		c.save()
	}
	return c.out
}

// Idle reports whether no turn runs.
func (c *Core) Idle() bool { return c.turn == nil }

// Close ends what runs, for a session whose last client left or whose daemon goes. interrupted keeps the running prompt
// as one that was cut off.
func (c *Core) Close(now time.Time, interrupted bool) []Effect {
	c.out, c.now = nil, now
	running := c.talk.Running
	if c.turn != nil {
		c.turn.cancelled = true
		c.do(Stop{c.turn.num})
		caller{c}.settleCalls()
		turner{c}.end(ended{cancelled: true})
	}
	if interrupted {
		c.talk.Interrupted = cmp.Or(running, c.talk.Interrupted)
		c.talk.Paused = c.talk.Paused || len(c.queue) > 0
		c.save()
	}
	return c.out
}

// goOn begins what an idle session has to do next.
func (c *Core) goOn() {
	if c.turn != nil {
		return
	}
	switch {
	case len(c.queue) > 0 && !c.talk.Paused:
		queuer{c}.dequeue()
	case len(c.queue) == 0:
		reporter{c}.report()
	}
}

func (c *Core) do(e Effect) { c.out = append(c.out, e) }

func (c *Core) say(e wire.ServerEvent) { c.do(Say{e}) }

func (c *Core) next() uint64 {
	c.seq++
	return c.seq
}

func (c *Core) fields(id wire.RequestID) wire.SessionFields {
	return wire.SessionFields{RequestID: id, SessionID: c.talk.ID, Seq: c.next()}
}

func (c *Core) turnFields() wire.TurnFields {
	return wire.TurnFields{RequestID: c.turn.request, SessionID: c.talk.ID, TurnID: c.turn.id, Seq: c.next()}
}

func (c *Core) refuse(to ClientID, id wire.RequestID, code wire.ErrorCode, reason wire.Reason, message, hint string) {
	e := wire.Error{Code: code, Reason: reason, Message: message, Hint: hint}
	c.do(Answer{to, e.Event(id)})
}

// save makes all that changed durable.
func (c *Core) save() {
	c.talk.Updated = uint64(max(c.now.Unix(), 0))
	c.talk.Order = c.talk.Order[:0:0]
	for _, e := range c.queue {
		c.talk.Order = append(c.talk.Order, e.QueueID)
	}
	c.talk.Next, c.talk.From, c.talk.Summary = c.past.next(), c.past.from, c.past.summary
	c.talk.Jobs = c.reports.kept()
	first, fresh := c.past.takeNew()
	c.do(Save{Change{
		Talk: c.talk, First: first, Messages: fresh, Below: c.unsaved.below,
		Entries: c.unsaved.entries, Gone: c.unsaved.gone, Other: c.unsaved.other,
	}})
	c.unsaved = unsaved{}
}

// Snapshot is the queue for a client that joins; it uses no number of its own unless it is the first event.
func (c *Core) Snapshot() wire.QueueSnapshot {
	if c.seq == 0 {
		c.seq = 1
	}
	return c.queueSnapshot(c.seq)
}

func (c *Core) queueSnapshot(seq uint64) wire.QueueSnapshot {
	return wire.QueueSnapshot{SessionID: c.talk.ID, Seq: seq, Entries: append(wire.List[wire.QueueEntry]{}, c.queue...), Paused: c.talk.Paused}
}

// Finish ends the session for good, after Close: nothing waits any more, and its history can still be read.
func (c *Core) Finish(now time.Time) []Effect {
	c.out, c.now = nil, now
	for len(c.queue) > 0 {
		queuer{c}.drop(0)
	}
	c.talk.Ended = uint64(max(now.Unix(), 1))
	c.save()
	return c.out
}

// Adopt lets a change of another session, whose queue this one takes over, go along with the next save.
func (c *Core) Adopt(change row.TalkChange) { c.unsaved.other = &change }

// Talk is the session as it was last saved.
func (c *Core) Talk() row.Talk { return c.talk }

// View is the running turn for a client that joins in its middle; nil when none runs.
func (c *Core) View() *wire.TurnView {
	t := c.turn
	if t == nil {
		return nil
	}
	v := &wire.TurnView{TurnID: t.id, RequestID: t.request, Prompt: t.prompt, Text: t.text.String(), Origin: t.origin}
	for _, k := range t.calls {
		switch k.state {
		case callAsked:
			v.Approvals = append(v.Approvals, k.asked)
		case callOver:
			v.Results = append(v.Results, wire.SessionResult{ID: k.id, Name: k.Name, Text: k.result.Text, Failed: k.result.Error != ""})
		case callWaits, callRuns:
		}
	}
	return v
}

// object is a call's arguments as an event may hold them: what is no JSON goes as a text.
func object(args json.RawMessage) json.RawMessage {
	switch {
	case len(args) == 0:
		return json.RawMessage("{}")
	case json.Valid(args):
		return args
	}
	text, err := json.Marshal(string(args))
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}
