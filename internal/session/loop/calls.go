package loop

import (
	"fmt"
	"strings"

	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/wire"
	"scv/internal/workbench/rules"
)

// A caller is a session as far as tools are called.
type caller struct{ *Core }

type callState uint8

const (
	callWaits callState = iota // its group was not begun
	callAsked                  // the owner is asked
	callRuns
	callOver
)

// A call is one wish of the model to run a tool, on its way.
type call struct {
	provider.Call
	Proposed
	id     wire.CallID // as clients know it: unique in the session
	state  callState
	asked  wire.ApprovalRequested
	result tool.Result
}

// newCall pairs a call of an answer with what its tool says of it.
func newCall(k provider.Call, all []Proposed, i int) *call {
	n := &call{Call: k, id: wire.CallID(k.ID)}
	if i < len(all) {
		n.Proposed = all[i]
	} else {
		n.Refused = &tool.Failure{Kind: wire.ToolUnknownTool, Sentence: "There is no tool of that name."}
	}
	return n
}

// badCalls is what makes an answer's calls too much, or empty.
func (c caller) badCalls(all []provider.Call) string {
	if len(all) > c.cfg.Limits.Calls {
		return fmt.Sprintf("the model asked for %d tool calls at once, and %d are allowed (provider_limits.max_tool_calls)", len(all), c.cfg.Limits.Calls)
	}
	for _, k := range all {
		if len(k.Arguments) > c.cfg.Limits.Arguments {
			return fmt.Sprintf("a tool call has arguments of %d bytes, and %d are allowed (provider_limits.max_tool_arguments_bytes)", len(k.Arguments), c.cfg.Limits.Arguments)
		}
	}
	return ""
}

// refusedAll answers calls that were not run, so that the history stays whole.
func refusedAll(all []provider.Call, why string) []provider.Result {
	var out []provider.Result
	for _, k := range all {
		out = append(out, provider.Result{ID: k.ID, Name: k.Name, Text: "Not run: " + why, Failed: true})
	}
	return out
}

func (t *turn) results() []provider.Result {
	var out []provider.Result
	for _, k := range t.calls {
		out = append(out, provider.Result{ID: k.Call.ID, Name: k.Name, Text: k.result.Text, Failed: k.result.Error != ""})
	}
	return out
}

// beginGroup begins what may run side by side: calls that change nothing, or one that does. When all are over the model
// goes on.
func (c caller) beginGroup() {
	t := c.turn
	for t.group < len(t.calls) {
		from := t.group
		t.group++
		for t.calls[from].Parallel && t.group < len(t.calls) && t.calls[t.group].Parallel {
			t.group++
		}
		for _, k := range t.calls[from:t.group] {
			c.propose(k)
		}
		if c.waiting(t.calls[from:t.group]) {
			return
		}
	}
	c.past.answer(t.results())
	t.calls = nil
	trimmed, gone := window(c).trim()
	c.save()
	window(c).sayTrimmed(trimmed)
	if gone {
		turner(c).fail(wire.CodeHistoryLimit, "the turn alone is larger than the history may be (session.max_history_bytes)")
		return
	}
	turner(c).ask()
}

func (c caller) waiting(group []*call) bool {
	for _, k := range group {
		if k.state != callOver {
			return true
		}
	}
	return false
}

// propose shows a call and lets it run, asks for it, or refuses it.
func (c caller) propose(k *call) {
	c.say(wire.ToolProposed{TurnFields: c.turnFields(), CallID: k.id, Name: k.Name, Arguments: object(k.Arguments)})
	if k.Refused != nil {
		c.close(k, tool.Result{Text: k.Refused.Sentence, Error: k.Refused.Kind})
		return
	}
	asked := rules.Ask{
		Tool: k.Name, Risk: string(k.Assessment.Risk), Command: k.Assessment.Command, Cwd: c.talk.Workspace, Repo: c.talk.Workspace,
	}
	verdict := rules.Decide(c.cfg.Mode, nil, asked, c.now)
	if gate := rules.Decide(wire.ModeAuto, nil, asked, c.now); gate.Decision == wire.DecideAsk && !c.cfg.Owner {
		verdict.Decision, verdict.Why = wire.DecideDeny, gate.Why+", who does not sit at this session"
	}
	switch verdict.Decision {
	case wire.DecideAllow:
		c.run(k)
	case wire.DecideAsk:
		k.state = callAsked
		k.asked = wire.ApprovalRequested{
			TurnFields: c.turnFields(), ApprovalID: wire.ApprovalID("ask-" + c.cfg.NewID()), CallID: k.id, Name: k.Name,
			Risk: string(k.Assessment.Risk), Cwd: c.talk.Workspace, Summary: k.Assessment.Summary,
		}
		c.say(k.asked)
		c.do(Show{State: wire.StateAwaitingInput, Detail: k.Name + " waits for an answer"})
	default:
		c.close(k, tool.Result{Text: "Not allowed: " + verdict.Why + ". Do without it, or tell the owner what you would need.", Error: wire.ToolDenied})
	}
}

func (c caller) run(k *call) {
	k.state = callRuns
	c.say(wire.ToolStarted{TurnFields: c.turnFields(), CallID: k.id, Name: k.Name})
	c.do(Run{Turn: c.turn.num, ID: c.turn.id, Call: k.Call})
}

// resolve is the owner's answer. The first one counts.
func (c caller) resolve(to ClientID, m wire.ApprovalResolve) {
	if c.turn != nil {
		for _, k := range c.turn.calls {
			if k.state != callAsked || k.asked.ApprovalID != m.ApprovalID {
				continue
			}
			c.do(Show{State: wire.StateWorking, Detail: c.talk.Running})
			if m.Approved {
				c.run(k)
				return
			}
			c.close(k, tool.Result{Text: "The owner said no to this call. Do without it, or ask what to do instead.", Error: wire.ToolDenied})
			c.groupOver()
			return
		}
	}
	c.refuse(to, m.RequestID, wire.CodeApprovalNotFound, wire.ReasonExpired, "that question is no longer open: it was answered, or its turn has ended", "look at the session")
}

func (c caller) callOf(num uint64, id string) *call {
	if !turner(c).current(num) {
		return nil
	}
	for _, k := range c.turn.calls {
		if k.Call.ID == id && k.state == callRuns {
			return k
		}
	}
	return nil
}

func (c caller) progress(in Progress) {
	if k := c.callOf(in.Turn, in.Call); k != nil && in.Text != "" {
		c.say(wire.ToolProgress{TurnFields: c.turnFields(), CallID: k.id, Text: shown(in.Text)})
	}
}

// Bounds of what a running call shows, in bytes (wire.md section 15).
const (
	progressBytes = 512
	progressLine  = 200
)

// shown is the end of a progress text that fits.
func shown(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var out string
	for i := len(lines) - 1; i >= 0; i-- {
		line := cut(lines[i], progressLine)
		if len(line)+1+len(out) > progressBytes {
			break
		}
		if out != "" {
			line += "\n"
		}
		out = line + out
	}
	return out
}

// cut is the beginning of a text that fits in so many bytes, whole characters only.
func cut(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	return strings.ToValidUTF8(s[:bytes], "")
}

// ran takes a tool's result.
func (c caller) ran(in Ran) {
	k := c.callOf(in.Turn, in.Call)
	if k == nil {
		return
	}
	r := in.Result
	if limit := c.cfg.Limits.Output; len(r.Text) > limit {
		r.Text, r.Truncated = cut(r.Text, limit), true
	}
	c.close(k, r)
	if c.turn.cancelled {
		if !turner(c).pending() {
			turner(c).endCancelled()
		}
		return
	}
	c.groupOver()
}

// close ends a call and tells it.
func (c caller) close(k *call, r tool.Result) {
	k.state, k.result = callOver, r
	reporter(c).jobsChanged(r.Jobs)
	e := wire.ToolCompleted{
		TurnFields: c.turnFields(), CallID: k.id, Name: k.Name, Success: r.Error == "", Output: r.Text, Truncated: r.Truncated, Jobs: r.Jobs,
	}
	if r.Error != "" {
		e.Error = &r.Error
	}
	c.say(e)
}

// groupOver goes on when no call of the group is left.
func (c caller) groupOver() {
	if !c.waiting(c.turn.calls[:c.turn.group]) {
		c.beginGroup()
	}
}

func cancelledResult(why string) tool.Result {
	return tool.Result{Text: "Cancelled: " + why + ".", Error: wire.ToolCancelled}
}

// settleCalls ends the calls of a cancelled turn that do not run. One that was never shown is only written down.
func (c caller) settleCalls() {
	for _, k := range c.turn.calls {
		switch k.state {
		case callWaits:
			k.state, k.result = callOver, cancelledResult("the turn was cancelled before it began")
		case callAsked:
			c.close(k, cancelledResult("the turn was cancelled before it was allowed"))
		case callRuns, callOver:
		}
	}
	if len(c.turn.calls) > 0 && !turner(c).pending() {
		c.past.answer(c.turn.results())
		c.turn.calls = nil
	}
}
