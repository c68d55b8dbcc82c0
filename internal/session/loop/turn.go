package loop

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/session/provider"
	"scv/internal/wire"
)

// A turner is a session as far as its turn goes.
type turner struct{ *Core }

// interruptedRunes is how much of a prompt is kept to show that it was cut off.
const interruptedRunes = 200

// stopGrace is how long what was stopped may take to come back.
const stopGrace = 3 * time.Second

// A turn is one prompt and what follows until its end.
type turn struct {
	num     uint64
	id      wire.TurnID
	request wire.RequestID
	origin  *wire.TurnOrigin
	prompt  string
	schema  json.RawMessage

	steps int
	usage wire.Usage
	text  strings.Builder // of the step under way

	asking    bool // a request is with the model
	tried     bool // the context was made shorter for the step under way
	cutting   cutting
	calls     []*call
	group     int // first call that was not begun
	cancelled bool
}

// opening is what a turn begins with.
type opening struct {
	request     wire.RequestID
	prompt      string
	attachments []wire.Attachment
	images      []provider.Image
	schema      json.RawMessage
	queue       wire.QueueID // of a prompt that waited
	origin      *wire.TurnOrigin
}

// begin starts a turn. What the client gave is on disk before it is told that it runs.
func (c turner) begin(o opening) {
	c.turns++
	c.turn = &turn{num: c.turns, id: wire.TurnID(c.cfg.NewID()), request: o.request, origin: o.origin, prompt: o.prompt, schema: o.schema}
	c.past.add(provider.Message{Role: provider.User, Text: c.words(o), Images: o.images})
	if o.origin == nil {
		c.talk.Running, c.talk.Interrupted = plain.FirstLine(o.prompt, interruptedRunes), ""
		if c.talk.First == "" {
			c.talk.First = plain.FirstLine(o.prompt, pinRunes)
		}
	}
	trimmed, gone := window(c).trim()
	c.save()
	if o.queue != "" {
		c.say(wire.QueueDequeued{SessionFields: c.fields(o.request), QueueID: o.queue, TurnID: c.turn.id})
	}
	started := wire.TurnStarted{TurnFields: c.turnFields(), Origin: o.origin}
	if o.origin == nil {
		started.Prompt = &o.prompt
	}
	c.say(started)
	c.do(Show{State: wire.StateWorking, Detail: c.talk.Running})
	window(c).sayTrimmed(trimmed)
	if gone {
		c.fail(wire.CodeHistoryLimit, "the turn alone is larger than the history may be (session.max_history_bytes)")
		return
	}
	c.ask()
}

// words are a prompt with the list of what is attached to it. A session without tools could do nothing with a path.
func (c turner) words(o opening) string {
	if len(o.attachments) == 0 {
		return o.prompt
	}
	var b strings.Builder
	b.WriteString(o.prompt)
	b.WriteString("\n\nAttached to this message:\n")
	for _, a := range o.attachments {
		fmt.Fprintf(&b, "- %s", a.Kind)
		if a.Name != "" {
			fmt.Fprintf(&b, " %q", a.Name)
		}
		if len(c.cfg.Tools) > 0 {
			fmt.Fprintf(&b, " at %s", a.Path)
		}
		fmt.Fprintf(&b, " (%d bytes)\n", a.Size)
		if a.Transcript != nil {
			fmt.Fprintf(&b, "  what is said in it: %s\n", *a.Transcript)
		}
	}
	return b.String()
}

// ask sends what the conversation has become to the model, shorter when it does not fit.
func (c turner) ask() {
	t := c.turn
	if t.steps >= c.cfg.Limits.Steps {
		c.fail(wire.CodeStepLimit, fmt.Sprintf("the model was asked %d times in this turn, which is the limit (agent.max_steps)", t.steps))
		return
	}
	r, used := window(c).request()
	if used > window(c).budget() {
		if !t.tried && window(c).compact(used) {
			return
		}
		r, used = window(c).squeeze(r, used)
		if used > window(c).budget() {
			c.fail(wire.CodeContextLimit, fmt.Sprintf(
				"this turn needs about %d tokens and the model takes %d beside its answer; start a new turn with less", used, window(c).budget()))
			return
		}
	}
	t.asking = true
	t.text.Reset()
	c.do(Ask{Turn: t.num, Request: r, Bound: window(c).budget(), Estimate: used})
}

// current reports whether an input is of the turn that runs.
func (c turner) current(num uint64) bool { return c.turn != nil && c.turn.num == num }

func (c turner) piece(in Piece) {
	if !c.current(in.Turn) || c.turn.cancelled || in.Text == "" {
		return
	}
	c.turn.text.WriteString(in.Text)
	c.say(wire.AssistantDelta{TurnFields: c.turnFields(), Content: in.Text})
}

// answered goes on with what the model said.
func (c turner) answered(in Answered) {
	if !c.current(in.Turn) || !c.turn.asking {
		return
	}
	t := c.turn
	t.asking = false
	c.count(in.Answer.Usage)
	switch {
	case t.cancelled:
		c.keepPart(in.Answer.Message)
		c.end(ended{cancelled: true})
	case in.Full || in.Fault != nil && in.Fault.Class == provider.Context:
		_, used := window(c).request()
		if !t.tried && window(c).compact(max(used, window(c).budget()+1)) {
			return
		}
		c.fail(wire.CodeContextLimit, "the conversation does not fit into the model's context, and this turn cannot be made shorter")
	case in.Fault != nil:
		c.keepPart(in.Answer.Message)
		c.failFor(in.Fault)
	default:
		t.tried = false
		c.took(in)
	}
}

// took takes an answer that came whole.
func (c turner) took(in Answered) {
	t, m := c.turn, in.Answer.Message
	t.steps++
	c.past.add(m)
	c.past.measured(in.Answer.Usage)
	if message := caller(c).badCalls(m.Calls); message != "" {
		c.past.answer(refusedAll(m.Calls, message))
		c.save()
		c.say(wire.AssistantCompleted{TurnFields: c.turnFields(), Content: m.Text})
		c.fail(wire.CodeToolLimit, message)
		return
	}
	if len(m.Calls) == 0 {
		c.say(wire.AssistantCompleted{TurnFields: c.turnFields(), Content: m.Text})
		switch in.Answer.Stop {
		case provider.StopLength:
			c.fail(wire.CodeResponseLimit, "the answer was cut off: it is as long as the model may answer (context.reserve_output_tokens)")
		case provider.StopRefused:
			c.fail(wire.CodeProviderError, "the model declined to answer")
		default:
			c.end(ended{})
		}
		return
	}
	c.save()
	c.say(wire.AssistantCompleted{TurnFields: c.turnFields(), Content: m.Text})
	t.calls, t.group = nil, 0
	for i, k := range m.Calls {
		t.calls = append(t.calls, newCall(k, in.Calls, i))
	}
	caller(c).beginGroup()
}

// keepPart keeps what had arrived of an answer that did not become whole. Its calls were not run.
func (c turner) keepPart(m provider.Message) {
	text := m.Text
	if text == "" {
		text = c.turn.text.String()
	}
	if text != "" {
		c.past.add(provider.Message{Role: provider.Assistant, Text: text})
	}
}

func (c turner) count(u provider.Usage) {
	add := func(to **uint64, n int, total *uint64) {
		if n <= 0 {
			return
		}
		if *to == nil {
			*to = new(uint64)
		}
		**to += uint64(n)
		*total += uint64(n)
	}
	add(&c.turn.usage.InputTokens, u.Input, &c.talk.Input)
	add(&c.turn.usage.OutputTokens, u.Output, &c.talk.Output)
}

// ended is how a turn ends; the zero value is well.
type ended struct {
	cancelled bool
	code      wire.ErrorCode // of one that failed
	message   string
	hold      bool // what waits is held until the owner goes on
	class     *wire.Class
}

func (c turner) fail(code wire.ErrorCode, message string) { c.end(ended{code: code, message: message}) }

// failFor ends a turn for what a provider said. Trouble that the next prompt would meet too holds the queue.
func (c turner) failFor(f *provider.Fault) {
	e := ended{code: wire.CodeProviderError, message: f.Sentence, hold: f.Class == provider.SignIn || f.Class == provider.Limit}
	e.class = classOf(f.Class)
	if f.Class == provider.Size {
		e.code = wire.CodeResponseLimit
	}
	c.end(e)
}

// classOf is a provider's fault in the words of the wire; nil for one without a word.
func classOf(c provider.Class) *wire.Class {
	switch c {
	case provider.SignIn:
		return new(wire.ClassAuth)
	case provider.Limit:
		return new(wire.ClassQuota)
	case provider.Network, provider.Timeout:
		return new(wire.ClassNetwork)
	case provider.Invalid:
		return new(wire.ClassRefused)
	}
	return nil
}

// end is the one place where a turn ends. What its tools did stays in the history, and the model is told how it ended.
func (c turner) end(e ended) {
	t := c.turn
	reported := t.origin
	if e.cancelled || e.code != "" {
		c.past.add(provider.Message{Role: provider.User, Text: afterword(e)})
	}
	c.talk.Running = ""
	retry := reporter(c).settleReports(reported, e)
	hold := e.hold && len(c.queue) > 0 && !c.talk.Paused
	c.talk.Paused = c.talk.Paused || hold
	c.save()
	origin := reported
	if origin != nil && retry > 0 {
		with := *origin
		with.RetrySeconds = &retry
		origin = &with
	}
	switch {
	case e.cancelled:
		c.say(wire.TurnCancelled{TurnFields: c.turnFields(), Origin: origin})
	case e.code != "":
		c.say(wire.TurnFailed{TurnFields: c.turnFields(), Code: e.code, Message: e.message, Origin: origin, Class: e.class})
	default:
		c.say(wire.TurnCompleted{TurnFields: c.turnFields(), Steps: uint64(t.steps), Usage: t.usage, Origin: origin})
	}
	c.do(Stop{t.num})
	c.turn = nil
	if hold {
		c.say(wire.SessionPaused{SessionFields: c.fields(t.request), Paused: true})
	}
	c.do(Show{State: wire.StateIdle, Detail: e.message})
}

// afterword tells the model how its turn ended, with the next prompt.
func afterword(e ended) string {
	if e.cancelled {
		return "[The turn above was cancelled by its owner before it was done. What its tools did until then stands.]"
	}
	return "[The turn above ended with an error: " + e.message + " What its tools did until then stands.]"
}

// turnCancel ends a turn. What runs gets a moment to come back, so that the history knows what it did.
func (c turner) turnCancel(to ClientID, m wire.TurnCancel) {
	t := c.turn
	if t == nil || t.id != m.TurnID {
		c.refuse(to, m.RequestID, wire.CodeTurnNotFound, wire.ReasonNotFound, "that turn does not run", "look at the session: it may have ended already")
		return
	}
	if t.cancelled {
		return
	}
	t.cancelled = true
	c.do(Stop{t.num})
	caller(c).settleCalls()
	if !c.pending() {
		c.end(ended{cancelled: true})
		return
	}
	c.do(Alarm{After: stopGrace, Input: Overdue{t.num}})
}

// pending reports whether something of the turn is still under way.
func (c turner) pending() bool {
	if c.turn.asking {
		return true
	}
	for _, k := range c.turn.calls {
		if k.state == callRuns {
			return true
		}
	}
	return false
}

// overdue ends a cancelled turn whose tools do not come back.
func (c turner) overdue(in Overdue) {
	if !c.current(in.Turn) || !c.turn.cancelled {
		return
	}
	for _, k := range c.turn.calls {
		if k.state == callRuns {
			caller(c).close(k, cancelledResult("it did not stop in time, and may still be at work"))
		}
	}
	c.endCancelled()
}

// endCancelled writes down what the calls came to and ends the turn.
func (c turner) endCancelled() {
	if c.turn.asking { // the text that came is all there is
		c.keepPart(provider.Message{})
	}
	if len(c.turn.calls) > 0 {
		c.past.answer(c.turn.results())
		c.turn.calls = nil
	}
	c.end(ended{cancelled: true})
}
