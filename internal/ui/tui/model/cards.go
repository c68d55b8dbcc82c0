package model

import (
	"fmt"
	"slices"
	"time"

	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/sheet"
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
	now := make([]shownCard, 0, len(m.Requests))
	for i := range m.Requests {
		a := &m.Requests[i]
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
		c.body = sheet.Card(a, c.same(m, a), m.Opts.Zone)
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
	for i := range m.Requests {
		if m.Requests[i].ID == c.id {
			return &m.Requests[i]
		}
	}
	return nil
}

// At is the position of the named approval, from 0.
func (c *Cards) At(m *Model) int {
	return max(slices.IndexFunc(m.Requests, func(a wire.Approval) bool { return a.ID == c.id }), 0)
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

// Asker is who asks: a job, or for a question that no job asked whoever put it.
func Asker(a *wire.Approval) string {
	if a.Job == "" {
		return "a question"
	}
	return string(a.Job)
}

// focus names a card. It is what A does, and nothing else does it.
func (c *Cards) focus(m *Model) []Effect {
	if len(m.Requests) == 0 {
		m.tell(false, "nothing waits for your approval")
		return nil
	}
	if m.Focus != OnCards {
		c.back = m.Focus
		c.id = ""
		if asks := m.Chat.Talk.Asks; len(asks) > 0 { // the open session's own first
			c.id = asks[0].ID
		} else if it := m.List.Selected(); it != nil && it.Job != nil { // the selected job's own request first
			for i := range m.Requests {
				if a := &m.Requests[i]; a.Job == it.Job.Job && a.Session == it.Job.Session && c.id == "" {
					c.id = a.ID
				}
			}
		}
		if c.Selected(m) == nil {
			c.id = m.Requests[0].ID
		}
	}
	m.Focus, c.focused = OnCards, m.at
	return c.fetch(m)
}

// step names another card.
func (c *Cards) step(m *Model, by int) []Effect {
	n := len(m.Requests)
	c.id = m.Requests[(c.At(m)+by+n)%n].ID
	c.focused = m.at
	return c.fetch(m)
}

// key takes a key while a card is named.
func (c *Cards) key(m *Model, k Key) []Effect {
	switch k.Name {
	case "y", "n":
		return c.answer(m, saying{yes: k.Name == "y"})
	case "N":
		return openDeny(m)
	case "m":
		return c.more(m)
	case "j", "down", "tab", "A":
		return c.step(m, 1)
	case "k", "up", "shift-tab":
		return c.step(m, -1)
	case "o":
		c.leave(m)
		return c.open(m)
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

// A saying is an answer.
type saying struct {
	yes      bool
	reason   string // for the agent
	equal    bool   // all that ask the very same
	remember *wire.Remember
}

// answer answers the named card, unless a card appeared, changed or moved a moment ago.
func (c *Cards) answer(m *Model, say saying) []Effect {
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
	if say.yes {
		word = "approved"
	}
	if m.Chat.Asks(id) {
		return m.Chat.answer(m, id, say.yes)
	}
	done := word + " for " + Asker(a)
	cmd := wire.WorkbenchApprove{
		ID: id, Approved: say.yes, Digest: a.Digest, Reason: say.reason, Equal: say.equal, Remember: say.remember, Key: m.Opts.NewKey(),
	}
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

// same is how many others that wait ask the very same.
func (c *Cards) same(m *Model, a *wire.Approval) int {
	n := 0
	for i := range m.Requests {
		if o := &m.Requests[i]; o.ID != a.ID && a.Digest != nil && text(o.Digest) == text(a.Digest) {
			n++
		}
	}
	return n
}

// more lists the other answers: to all that ask the very same, and those that become a rule. What it lists is asked again
// before it is given, since one key chooses it and Enter must approve nothing.
func (c *Cards) more(m *Model) []Effect {
	a := c.Selected(m)
	if a == nil {
		return nil
	}
	if why := onlyYesOrNo(m, a); why != "" {
		m.tell(true, "%s: y, n", why)
		return nil
	}
	var entries []Entry
	put := func(title, flags string, say saying) {
		verb := "deny"
		if say.yes {
			verb = "approve"
		}
		id, digest := a.ID, text(a.Digest)
		entries = append(entries, Entry{Title: title, CLI: "scv approvals " + verb + " " + string(id) + flags, do: func(m *Model) []Effect {
			return m.ask(fmt.Sprintf("%s: %s  (%s)?", title, sheet.Request(a), Asker(a)), func(m *Model) []Effect {
				if now := m.Cards.Selected(m); now == nil || now.ID != id || text(now.Digest) != digest {
					m.tell(true, "that request changed meanwhile; nothing was answered")
					return nil
				}
				return m.Cards.answer(m, say)
			})
		}})
	}
	if n := c.same(m, a); n > 0 {
		put(fmt.Sprintf("Approve all %d that ask the very same", n+1), " --equal", saying{yes: true, equal: true})
		put(fmt.Sprintf("Deny all %d that ask the very same", n+1), " --equal", saying{equal: true})
	}
	for _, yes := range []bool{true, false} {
		for _, scope := range scopes(a) {
			word := map[bool]string{true: "Approve; later too, by", false: "Deny; later too, by"}[yes]
			put(fmt.Sprintf("%s %s, in this workspace", word, scope), " --remember "+string(scope)+" --repo", saying{yes: yes, remember: &wire.Remember{Scope: scope, Repo: true}})
			put(fmt.Sprintf("%s %s, everywhere", word, scope), " --remember "+string(scope), saying{yes: yes, remember: &wire.Remember{Scope: scope}})
		}
	}
	entries = append(entries, Entry{Title: "Deny, and tell the agent why", CLI: "scv approvals deny " + string(a.ID) + " --reason WHY", do: openDeny})
	return m.openMenu("Answers of another kind: enter chooses one, then y gives it", entries)
}

// onlyYesOrNo says why a request takes no other answer; empty when it does.
func onlyYesOrNo(m *Model, a *wire.Approval) string {
	switch {
	case m.Chat.Asks(a.ID):
		return "a session's question only takes yes and no"
	case !m.Has(wire.FeatureApprovals):
		return "this daemon only takes yes and no"
	}
	return ""
}

// scopes are what a rule made of an answer can look at.
func scopes(a *wire.Approval) []wire.RuleScope {
	var out []wire.RuleScope
	if a.Command != "" {
		out = append(out, wire.RuleCommand)
	}
	if len(a.Paths) > 0 {
		out = append(out, wire.RulePath)
	}
	return append(out, wire.RuleTool)
}

// open goes to the job that asks.
func (c *Cards) open(m *Model) []Effect {
	a := c.Selected(m)
	if a == nil || a.Job == "" {
		return nil
	}
	m.List.View, m.List.Filter, m.List.Mine = ViewAll, "", false
	m.build()
	key := "j " + string(a.Session.Ref(a.Job))
	if i := slices.IndexFunc(m.List.Items, func(it Item) bool { return it.Key == key }); i >= 0 {
		m.List.choose(i)
	}
	return show(PaneLog)(m)
}

// explain shows what the state of the asking job rests on.
func (c *Cards) explain(m *Model) []Effect {
	c.leave(m)
	out := c.open(m)
	if a := c.Selected(m); a != nil && a.Job != "" {
		m.Detail.Pane = PaneWhy
	}
	return out
}
