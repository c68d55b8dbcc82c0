package fold

import (
	"fmt"
	"slices"
	"strconv"
	"unicode"

	"scv/internal/agent"
	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// openAsk is a request of the agent that waits.
type openAsk struct {
	Request string          `json:"request"`
	ID      wire.ApprovalID `json:"id"`
}

// An Answer is what was decided on a request, for the log.
type Answer struct {
	Approved bool
	By       string // owner or policy
	Reason   string // of a denial, as the agent was told it; may be empty
}

// approvalID names the n-th request of a run: the digits of the run, which come once in a home, and n scattered over as
// many, so that a second fold makes the same id, no two requests share one, and neighbours do not look alike.
func approvalID(run wire.RunHandle, n uint32) wire.ApprovalID {
	suffix := run.Suffix()
	salt, _ := strconv.ParseUint(suffix, 16, 32) // of an odd handle nothing
	return wire.ApprovalID(fmt.Sprintf("ap-%06s%06x", suffix, (uint64(n)*0x9e3779+salt)&0xffffff))
}

// An asker folds the requests of the agent.
type asker struct{ *Fold }

// asked begins a request of the agent. One under an id that is open takes its place: the older one is void.
func (f asker) asked(x agent.Fact) {
	if x.Approval == nil {
		return
	}
	f.closed(x.Approval.Request, row.ClosedVoid)
	f.turn.Asks++
	a := f.maskedAsk(*x.Approval)
	a.ID = approvalID(f.o.Run, f.turn.Asks)
	f.turn.Open = append(slices.Clip(f.turn.Open), openAsk{a.Request, a.ID})
	ev := wire.RunEvent{Kind: wire.EventApprovalRequested, Text: cut(plain.Line(a.Summary), maxText), Approval: &a.ID}
	if a.Risk != "" {
		ev.Risk = &a.Risk
	}
	f.event(ev)
	f.step(row.Step{Kind: row.StepApprovalAsked, Turn: x.Turn, Asked: &a})
}

// closed ends a request, once, and logs what was decided on it.
func (f asker) closed(request, status string) {
	i := slices.IndexFunc(f.turn.Open, func(o openAsk) bool { return o.Request == request })
	if i < 0 {
		return
	}
	id := f.turn.Open[i].ID
	f.turn.Open = slices.Concat(f.turn.Open[:i], f.turn.Open[i+1:])
	ev := wire.RunEvent{Kind: wire.EventApprovalResolved, Status: &status, Approval: &id}
	if status == row.ClosedAnswered && f.o.Answer != nil {
		if a, ok := f.o.Answer(id); ok {
			ev.By, ev.Status = &a.By, new("denied")
			if a.Approved {
				ev.Status = new("approved")
			} else { // what the agent was told, too
				ev.Text = cut(plain.Line(f.o.Mask.Text(a.Reason)), maxText)
			}
		}
	}
	f.event(ev)
	f.step(row.Step{Kind: row.StepApprovalClosed, Turn: f.turn.Number, Closed: id, Status: status})
}

// closeAll ends what the turn still asks.
func (f asker) closeAll() {
	for len(f.turn.Open) > 0 {
		f.closed(f.turn.Open[0].Request, row.ClosedVoid)
	}
}

// maskedAsk is a request as it may be kept and shown. It says what a person has to look at twice.
func (f asker) maskedAsk(a agent.Approval) row.Asked {
	out := row.Asked{Request: a.Request, Risk: string(a.Risk)}
	odd := false
	text := func(raw string, most int) string {
		odd = odd || strange(raw)
		masked := f.o.Mask.Text(raw)
		kept, short := agent.Bound(masked, most)
		kept = plain.Block(kept)
		out.Hidden = out.Hidden || kept != raw
		if short {
			out.Warnings = append(out.Warnings, fmt.Sprintf("%d bytes of it are not shown", len(masked)-len(kept)))
		}
		return kept
	}
	out.Name, out.Tool = plain.Line(text(a.Name, maxText)), plain.Line(text(a.Tool, maxText))
	out.Cwd = plain.Line(text(a.Cwd, row.MaxApprovalText))
	out.Summary = text(a.Summary, row.MaxApprovalText)
	out.Command = text(a.Command, row.MaxApprovalText)
	out.Diff = text(a.Diff, row.MaxApprovalText)
	for _, path := range a.Paths[:min(len(a.Paths), maxPaths)] {
		out.Paths = append(out.Paths, plain.Line(text(path, maxText)))
	}
	if n := len(a.Paths) - maxPaths; n > 0 {
		out.Hidden = true
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d more files are not shown", n))
	}
	for _, o := range a.Options[:min(len(a.Options), maxOptions)] {
		out.Options = append(out.Options, wire.ApprovalOption{
			ID: plain.Line(text(o.ID, maxLast)), Kind: plain.Line(text(o.Kind, maxLast)), Name: plain.Line(text(o.Name, maxLast)),
		})
	}
	if odd {
		out.Warnings = append(out.Warnings, "it holds characters that cannot be seen or that look like others; they are written out here")
		out.Risk = higher(out.Risk)
	}
	slices.Sort(out.Warnings)
	out.Warnings = slices.Compact(out.Warnings)
	return out
}

const (
	maxPaths   = 1000
	maxOptions = 20
)

// strange reports whether a text holds what a person does not see as it is: controls, formatting characters, long runs
// of spaces, or letters of different scripts in one word.
func strange(text string) bool {
	spaces := 0
	latin, other := false, false
	for _, r := range text {
		if r == ' ' {
			spaces++
		} else {
			spaces = 0
		}
		switch {
		case r == '\n' || r == '\t':
		case spaces > 40, r != ' ' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || unicode.IsSpace(r)):
			return true
		}
		switch {
		case unicode.Is(unicode.Latin, r):
			latin = true
		case unicode.In(r, unicode.Cyrillic, unicode.Greek):
			other = true
		case unicode.IsLetter(r), unicode.IsMark(r):
		default:
			latin, other = false, false
		}
		if latin && other {
			return true
		}
	}
	return false
}

// higher is the risk one step up.
func higher(risk string) string {
	steps := []string{string(agent.RiskReadOnly), string(agent.RiskFilesystem), string(agent.RiskProcess), string(agent.RiskNetwork)}
	if i := slices.Index(steps, risk); i >= 0 && i+1 < len(steps) {
		return steps[i+1]
	}
	return risk
}
