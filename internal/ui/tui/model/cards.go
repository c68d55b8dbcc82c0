package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/widget"
	"scv/internal/wire"
)

// guard is how long keys are ignored by the cards after one of them appeared, changed or moved, and after they got the
// focus: nobody reads a request in less (ux.md section 1).
const guard = 500 * time.Millisecond

// Cards are the approvals that are open, in a strip of their own. They never take the focus by themselves. An answer takes
// two keys: A names the request, which is then shown whole, and y or n answers that one and no other. A key that the
// cards do not know gives the focus back, so that words typed in the wrong place answer nothing.
type Cards struct {
	id      wire.ApprovalID // named by A
	back    Focus           // where the focus goes back to
	order   []shownCard     // as they stood at the last change
	changed time.Time       // when one appeared, changed or moved
	focused time.Time
	sent    map[wire.ApprovalID]bool // answered here, not yet gone
	whole   *wire.Approval           // the named one with its texts whole, when the list has them cut
	body    []widget.Line
}

// A shownCard is what a person may have read.
type shownCard struct {
	id     wire.ApprovalID
	digest string
}

// settle compares the cards with those before. The named card may be gone: then the next one is named, which no key can
// answer before it has stood for a while.
func (c *Cards) settle(m *Model) {
	now := make([]shownCard, 0, len(m.Data.Approvals))
	for i := range m.Data.Approvals {
		a := &m.Data.Approvals[i]
		now = append(now, shownCard{a.ID, text(a.Digest)})
	}
	if !slices.Equal(now, c.order) {
		c.order, c.changed = now, m.at
		for id := range c.sent {
			if !slices.ContainsFunc(now, func(s shownCard) bool { return s.id == id }) {
				delete(c.sent, id)
			}
		}
	}
	if m.Focus == OnCards && c.Selected(m) == nil {
		if len(now) == 0 {
			m.Focus = c.back
			m.tell(false, "that request is answered or gone")
		} else {
			c.id = now[0].id
		}
	}
	c.body = nil
	if a := c.Selected(m); a != nil {
		if c.whole != nil && c.whole.ID == a.ID && text(c.whole.Digest) == text(a.Digest) {
			a = c.whole
		}
		c.body = cardLines(m, a)
	}
}

// fetch asks for the texts of the named card that the list leaves out: nobody answers what he could not read.
func (c *Cards) fetch(m *Model) []Effect {
	a := c.Selected(m)
	if a == nil || a.Left == 0 || !m.Has(wire.FeatureApprovals) {
		return nil
	}
	id := a.ID
	return []Effect{Call{Cmd: wire.ApprovalsPage{ID: id}, Then: func(m *Model, st *wire.DaemonStatus, err error) []Effect {
		if err == nil && st.ApprovalsPage != nil && len(st.ApprovalsPage.Approvals) == 1 && st.ApprovalsPage.Approvals[0].ID == id {
			m.Cards.whole = &st.ApprovalsPage.Approvals[0]
		}
		return nil
	}}}
}

// Selected is the approval that A named, nil when there is none.
func (c *Cards) Selected(m *Model) *wire.Approval {
	for i := range m.Data.Approvals {
		if m.Data.Approvals[i].ID == c.id {
			return &m.Data.Approvals[i]
		}
	}
	return nil
}

// At is the position of the named approval, from 0.
func (c *Cards) At(m *Model) int {
	return max(slices.IndexFunc(m.Data.Approvals, func(a wire.Approval) bool { return a.ID == c.id }), 0)
}

// Sent reports whether this dashboard has answered it already.
func (c *Cards) Sent(id wire.ApprovalID) bool { return c.sent[id] }

// Body is the named request, whole, in rows of so many cells.
func (c *Cards) Body(cells int) []canvas.Row {
	var rows []canvas.Row
	for _, l := range c.body {
		rows = append(rows, canvas.Wrap(l.Head, l.Role, l.Text, cells)...)
	}
	return rows
}

// Request is what an approval asks for, in one text: the literal command where there is one, since a summary is never the
// thing that is approved.
func Request(a *wire.Approval) string {
	if a.Command != "" {
		return a.Command
	}
	return a.Summary
}

// Asker is who asks: a job, or for a question that no job asked whoever put it.
func Asker(a *wire.Approval) string {
	if a.Job == "" {
		return "a question"
	}
	return string(a.Job)
}

// cardLines is a request as it is put to a person: what, where, how risky, what to look at twice, until when.
func cardLines(m *Model, a *wire.Approval) []widget.Line {
	var lines []widget.Line
	put := func(name string, role canvas.Role, text string) {
		for i, part := range strings.Split(plain.Block(text), "\n") {
			head := canvas.Row{canvas.Blank(9)}
			if i == 0 {
				head = canvas.Row{canvas.Cell(canvas.Faint, "  "+name, 9)}
			}
			lines = append(lines, widget.Line{Head: head, Role: role, Text: part})
		}
	}
	for part := range strings.SplitSeq(plain.Block(Request(a)), "\n") {
		lines = append(lines, widget.Line{Head: canvas.Row{canvas.Blank(2)}, Role: canvas.Strong, Text: part})
	}
	for _, w := range a.Warnings {
		put("look!", canvas.Wait, w)
	}
	if a.Command != "" && a.Summary != "" && a.Summary != a.Command {
		put("says", canvas.Body, a.Summary)
	}
	put("tool", canvas.Body, strings.TrimPrefix(a.Agent+" ", " ")+orElse(a.Tool, a.Name)+", risk "+a.Risk)
	put("in", canvas.Body, a.Cwd)
	for _, path := range a.Paths {
		put("file", canvas.Body, path)
	}
	if a.ExpiresUnixSeconds < wire.NoDeadline {
		put("until", canvas.Body, m.stamp(a.ExpiresUnixSeconds)+"; then it counts as denied")
	}
	if a.Left > 0 {
		put("cut", canvas.Wait, fmt.Sprintf("%d bytes are left out here; whole: scv approvals show %s", a.Left, a.ID))
	}
	if a.Diff != "" {
		put("diff", canvas.Body, a.Diff)
	}
	return lines
}

// focus names a card. It is what A does, and nothing else does it.
func (c *Cards) focus(m *Model) []Effect {
	if len(m.Data.Approvals) == 0 {
		m.tell(false, "nothing waits for your approval")
		return nil
	}
	if m.Focus != OnCards {
		c.back = m.Focus
		c.id = ""
		if it := m.List.Selected(); it != nil && it.Job != nil { // the selected job's own request first
			for i := range m.Data.Approvals {
				if a := &m.Data.Approvals[i]; a.Job == it.Job.Job && a.Session == it.Job.Session && c.id == "" {
					c.id = a.ID
				}
			}
		}
		if c.Selected(m) == nil {
			c.id = m.Data.Approvals[0].ID
		}
	}
	m.Focus, c.focused = OnCards, m.at
	return c.fetch(m)
}

// step names another card.
func (c *Cards) step(m *Model, by int) []Effect {
	n := len(m.Data.Approvals)
	c.id = m.Data.Approvals[(c.At(m)+by+n)%n].ID
	c.focused = m.at
	return c.fetch(m)
}

// key takes a key while a card is named.
func (c *Cards) key(m *Model, k Key) []Effect {
	switch k.Name {
	case "y", "n":
		return c.answer(m, k.Name == "y")
	case "j", "down", "tab", "A":
		return c.step(m, 1)
	case "k", "up", "shift-tab":
		return c.step(m, -1)
	case "o":
		c.leave(m)
		c.open(m)
	case "e":
		return c.explain(m)
	case "enter", "space":
		m.tell(false, "enter and space answer nothing: y approves, n denies, esc goes back")
	default:
		c.leave(m)
	}
	return nil
}

func (c *Cards) leave(m *Model) { m.Focus = c.back }

// answer answers the named card, unless a card appeared, changed or moved a moment ago.
func (c *Cards) answer(m *Model, yes bool) []Effect {
	a := c.Selected(m)
	switch {
	case a == nil:
		return nil
	case m.at.Sub(c.changed) < guard || m.at.Sub(c.focused) < guard:
		m.tell(true, "the requests changed less than half a second ago; that key answered nothing")
		return nil
	case c.sent[a.ID]:
		m.tell(false, "it is answered already; the agent has not taken it yet")
		return nil
	}
	if c.sent == nil {
		c.sent = map[wire.ApprovalID]bool{}
	}
	c.sent[a.ID] = true
	id, word := a.ID, "denied"
	if yes {
		word = "approved"
	}
	done := word + " for " + Asker(a)
	cmd := wire.WorkbenchApprove{ID: id, Approved: yes, Digest: a.Digest, Key: m.Opts.NewKey()}
	return []Effect{Call{Cmd: cmd, Then: func(m *Model, st *wire.DaemonStatus, err error) []Effect {
		if err != nil {
			delete(m.Cards.sent, id)
			m.fail(err)
			return nil
		}
		m.tell(false, "%s", orElse(text(st.WorkbenchNote), done))
		return nil
	}}}
}

// open goes to the job that asks.
func (c *Cards) open(m *Model) {
	a := c.Selected(m)
	if a == nil || a.Job == "" {
		return
	}
	m.List.View, m.List.Filter, m.List.Mine = ViewAll, "", false
	m.build()
	key := "j " + string(a.Session.Ref(a.Job))
	if i := slices.IndexFunc(m.List.Items, func(it Item) bool { return it.Key == key }); i >= 0 {
		m.List.choose(i)
	}
	m.Focus, m.Detail.Open, m.Detail.Pane = OnDetail, true, PaneLog
}

// explain shows what the state of the asking job rests on.
func (c *Cards) explain(m *Model) []Effect {
	c.leave(m)
	c.open(m)
	m.Detail.Pane = PaneWhy
	return nil
}
