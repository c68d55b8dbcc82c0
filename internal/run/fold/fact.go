package fold

import (
	"fmt"
	"net/netip"
	"strings"

	"scv/internal/agent"
	"scv/internal/run/spool"
	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// Bounds of a log's text in characters (behaviour/runlog.md 3).
const (
	maxText   = 2000
	maxPrompt = 4000
	maxLast   = 200 // of a state's detail
)

// fact makes the items of one fact.
func (f *Fold) fact(x agent.Fact) {
	if x.Turn == 0 {
		x.Turn = f.turn.Number
	}
	if f.early(x) {
		f.started(x.Turn)
	}
	switch x.Kind {
	case agent.FactReady:
		f.step(row.Step{Kind: row.StepReady})
	case agent.FactSession:
		f.step(row.Step{Kind: row.StepSession, Vendor: x.Session})
	case agent.FactTurnStarted:
		if !f.turn.Started || f.turn.Number != x.Turn {
			f.started(x.Turn)
		}
	case agent.FactText:
		f.text(x)
	case agent.FactTool:
		f.activity(x, wire.EventTool)
	case agent.FactToolFailed:
		f.activity(x, wire.EventToolFailed)
	case agent.FactPlan:
		f.activity(x, wire.EventPlan)
	case agent.FactNote:
		f.remark(x.Text)
	case agent.FactRetry:
		f.remark(x.Text)
		f.step(row.Step{Kind: row.StepRetry, Turn: x.Turn, Detail: f.brief(x.Text), Class: string(x.Class)})
	case agent.FactActivity:
		f.step(row.Step{Kind: row.StepActivity, Turn: x.Turn})
	case agent.FactSteered, agent.FactSteerRefused, agent.FactSteerHeld:
		word{f}.steered(x)
	case agent.FactOffer:
		word{f}.offered(x)
	case agent.FactApprovalAsked:
		asker{f}.asked(x)
	case agent.FactApprovalClosed:
		if x.Approval != nil {
			asker{f}.closed(x.Approval.Request, x.Status)
		}
	case agent.FactTurnEnded:
		if x.Outcome != nil {
			f.ended(x.Turn, *x.Outcome)
		}
	}
}

// early reports whether a fact is the work of a turn that was not begun yet: an agent that has its prompt as an argument
// may speak, and even be done, before the message that marks its turn has come back. The mark then begins nothing more.
func (f *Fold) early(x agent.Fact) bool {
	if f.turn.Started || x.Turn == 0 || x.Turn != f.turn.Number {
		return false
	}
	switch x.Kind {
	case agent.FactText, agent.FactTool, agent.FactToolFailed, agent.FactPlan, agent.FactSteered, agent.FactApprovalAsked:
		return true
	}
	return false
}

func (f *Fold) started(turn uint32) {
	f.begun(turn)
	f.step(row.Step{Kind: row.StepTurnStarted, Turn: turn})
}

// begun logs the beginning of a turn with its prompt.
func (f *Fold) begun(turn uint32) {
	asker{f}.closeAll()
	f.turn.Number, f.turn.Started, f.turn.Ended = turn, true, false
	prompt := word{f}.prompt(turn)
	ev := wire.RunEvent{Kind: wire.EventTurnStarted, Turn: &turn, Text: f.block(prompt.Text)}
	if prompt.Job != "" {
		ev.Job = &prompt.Job
	}
	f.event(ev)
}

// text logs a message line by line, as it was written: blank lines inside it stay.
func (f *Fold) text(x agent.Fact) {
	masked := f.o.Mask.Text(x.Text)
	last := ""
	for text := range strings.SplitSeq(strings.Trim(plain.Block(masked), "\n"), "\n") {
		text = cut(plain.Line(strings.TrimRight(text, " \t\r")), maxText)
		if text != "" {
			last = text
		}
		f.event(wire.RunEvent{Kind: wire.EventText, Text: text})
	}
	f.step(row.Step{Kind: row.StepActivity, Turn: x.Turn, Detail: cut(last, maxLast)})
}

func (f *Fold) activity(x agent.Fact, kind wire.RunEventKind) {
	text := f.display(x.Text)
	f.event(wire.RunEvent{Kind: kind, Text: text})
	f.step(row.Step{Kind: row.StepActivity, Turn: x.Turn, Detail: cut(text, maxLast)})
}

// ended settles a turn once. One that was never taken is begun in the log first, so that its prompt is seen; nobody is
// told that its agent took it.
func (f *Fold) ended(turn uint32, o agent.Outcome) {
	if f.Ended(turn) {
		return
	}
	if !f.turn.Started || f.turn.Number != turn {
		f.begun(turn)
	}
	f.turn.Ended = true
	asker{f}.closeAll()
	if yields(o) && f.o.Wanted != nil {
		if why, ok := f.o.Wanted(turn, f.stopped); ok {
			o.State, o.Class, o.Detail = why.State, why.Class, why.Detail
		}
	}
	end := row.End{
		State: o.State, Class: string(o.Class), Detail: f.display(o.Detail),
		Reply: strings.ToValidUTF8(f.o.Mask.Text(o.Reply), "\uFFFD"),
		Error: strings.ToValidUTF8(f.o.Mask.Text(o.Error), "\uFFFD"),

		InputTokens: o.Usage.InputTokens, OutputTokens: o.Usage.OutputTokens, CostUSD: o.Usage.CostUSD,
		CumulativeTokens: o.Usage.CumulativeTokens, CumulativeCost: o.Usage.CumulativeCost,
		Resets: uint64(max(o.Resets, 0)), ContextTokens: o.Usage.ContextTokens, ContextWindow: o.Usage.ContextWindow,
	}
	status, text := o.State.String(), ""
	if o.State != wire.StateCompleted {
		if text = end.Detail; text == "" {
			text = f.display(o.Error)
		}
	}
	f.event(wire.RunEvent{Kind: wire.EventTurnEnded, Turn: &turn, Status: &status, Text: text})
	f.step(row.Step{Kind: row.StepTurnEnded, Turn: turn, End: &end})
}

// yields reports whether an outcome may be no more than what being stopped looks like to the agent. A success, a
// refusal, or a failure with a cause of its own came first and stands: a late stop never hides it.
func yields(o agent.Outcome) bool {
	if o.NoEnd { // its class is read off what it complained of before
		return true
	}
	switch o.Class {
	case agent.ClassNone, agent.ClassAgent, agent.ClassStart, agent.ClassLost:
		return o.State == wire.StateFailed || o.State == wire.StateInterrupted
	}
	return o.State == wire.StateInterrupted
}

func startFailure(s spool.StartFailed, cwd string) (string, agent.Class) {
	switch s.Class {
	case spool.StartNotFound:
		return "the agent's program was not found: " + s.Error, agent.ClassMissing
	case spool.StartNotExecutable:
		return "the agent's program cannot be executed: " + s.Error, agent.ClassMissing
	case spool.StartCwd:
		return "the directory " + cwd + " is not there any more: " + s.Error, agent.ClassStart
	}
	return "the agent could not be started: " + s.Error, agent.ClassStart
}

func strays(s spool.Strays) string {
	text := "processes that the agent left behind were ended: " + strings.Join(s.Names, ", ")
	if s.More > 0 {
		text += fmt.Sprintf(" and %d more", s.More)
	}
	return text
}

// listens warns of a process that waits for connections; empty for the agent's own server, which only this machine reaches
// and which lets in nobody else.
func listens(p spool.Port, own string) string {
	at, err := netip.ParseAddrPort(p.Addr)
	here := err == nil && at.Addr().IsLoopback()
	if here && own != "" && p.Name == own {
		return ""
	}
	who := "where other machines may reach it"
	if here {
		who = "where every program on this machine reaches it"
	}
	return fmt.Sprintf("%s (process %d) listens on %s, %s", p.Name, p.PID, p.Addr, who)
}
