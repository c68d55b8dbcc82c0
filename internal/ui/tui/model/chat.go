package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"scv/internal/ui/tui/chat"
	"scv/internal/ui/tui/widget"
	"scv/internal/wire"
)

// A Chat is the session of SCV's own model that is open in the pane: what is said in it, what is typed for it, and the
// way to it. One is open at most, and the dashboard is a client of it only as long.
type Chat struct {
	Talk  chat.Talk
	Input widget.Editor
	Files []wire.Attachment // that go with the next prompt
	Up    bool              // the daemon answers
	Note  string            // why it is not, or not yet, there

	source uint64                    // number of what is open; 0: nothing
	sent   map[wire.RequestID]letter // on their way, until the session tells of them
	drafts map[wire.SessionID]letter // what was typed and not sent
	first  *letter                   // goes out as soon as the session is there
	recall int                       // how far up went in the earlier prompts
}

// A letter is a prompt with its files, or the answer to a question.
type letter struct {
	text  string
	files []wire.Attachment
	asked wire.ApprovalID
}

// Open reports whether a session is open.
func (c *Chat) Open() bool { return c.source != 0 }

// Status is the session in a line.
func (c *Chat) Status() string {
	t := &c.Talk
	parts := []string{cmp.Or(t.Name, "session"), t.Model, t.Mode}
	switch {
	case !c.Up:
		parts = append(parts, c.Note)
	case len(t.Asks) > 0:
		parts = append(parts, "WAITS FOR YOU")
	case t.Turn != "":
		parts = append(parts, "a turn runs")
	}
	if n := len(t.Queue); n > 0 {
		parts = append(parts, fmt.Sprintf("%d wait", n))
	}
	if t.Paused {
		parts = append(parts, "paused")
	}
	if t.Input+t.Output > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens in, %d out", t.Input, t.Output))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
}

// QueueShown is how many rows the prompts that wait have on a screen of so many, above the line in which the next is typed.
func (c *Chat) QueueShown(rows int) int {
	if rows < roomy {
		return 0
	}
	return min(len(c.Talk.Queue), 3)
}

// update takes what the feed says of the session.
func (c *Chat) update(m *Model, msg Msg) []Effect {
	switch msg := msg.(type) {
	case Joined:
		return c.joined(m, msg)
	case Heard:
		c.heard(m, msg)
	case Parted:
		c.parted(m, msg)
	}
	return nil
}

// noSession says why the selected session cannot be talked in.
func noSession(m *Model) string {
	it := m.List.Selected()
	switch {
	case it == nil || it.Session == nil:
		return "choose a session first: 4"
	case !it.Session.Kept:
		return "it belongs to the client that opened it; only sessions that are kept can be joined"
	}
	return keepsNone(m)
}

// keepsNone says why no session can be joined or begun; empty when one can.
func keepsNone(m *Model) string {
	switch {
	case m.Has(wire.FeatureKeep):
		return ""
	case !m.Link.Up:
		return "no daemon answers"
	}
	return "this daemon keeps no sessions"
}

// talkable says that what is chosen is talked with in another way: it is a session of the model.
func talkable(m *Model) string {
	if m.Chat.Open() || noSession(m) == "" {
		return "this is a session of SCV's own model: enter opens it"
	}
	return ""
}

// join opens a session in the pane.
func (c *Chat) join(m *Model, what Join, name string) []Effect {
	var out []Effect
	if c.Open() {
		out = c.leave(m)
	}
	m.sources++
	what.Source = m.sources
	*c = Chat{source: m.sources, Note: "opening", drafts: c.drafts, Talk: chat.Talk{ID: what.Session, Name: name}}
	if d, ok := c.drafts[what.Session]; ok {
		c.Input, c.Files = widget.NewEditor(d.text, false), d.files
	}
	m.Focus, m.Detail.Open = OnChat, true
	return append(out, what)
}

// leave lets go of the session, which goes on. What was typed is kept.
func (c *Chat) leave(m *Model) []Effect {
	if l := c.first; l != nil && c.Input.Text() == "" { // it did not go out
		c.Input = widget.NewEditor(l.text, false)
	}
	c.keep(c.Talk.ID, letter{text: c.Input.Text(), files: c.Files})
	*c = Chat{drafts: c.drafts}
	m.Detail.key = ""
	return []Effect{Part{}}
}

// keep keeps what was typed for a session; empty stands for one that has not begun.
func (c *Chat) keep(id wire.SessionID, l letter) {
	if c.drafts == nil {
		c.drafts = map[wire.SessionID]letter{}
	}
	if c.drafts[id] = l; l.text == "" && len(l.files) == 0 {
		delete(c.drafts, id)
	}
}

// joined shows the session as it is now: when it was opened, and after the daemon was away.
func (c *Chat) joined(m *Model, msg Joined) []Effect {
	if msg.Source != c.source {
		return nil
	}
	c.Talk.Begin(msg.Started, msg.History, msg.More, m.at)
	c.Up, c.Note, c.recall = true, "", 0
	m.List.keys[ViewSessions] = "s " + string(c.Talk.ID)
	var lost []letter
	for _, l := range c.sent { // arrived, when the session knows it
		if l.asked == "" && !c.knows(l) {
			lost = append(lost, l)
		}
	}
	clear(c.sent)
	for _, l := range lost {
		c.giveBack(m, l, "the daemon went away before it had your prompt")
	}
	if l := c.first; l != nil {
		c.first = nil
		return c.send(m, *l)
	}
	return nil
}

// knows reports whether the session has a prompt: in its history, or waiting.
func (c *Chat) knows(l letter) bool {
	return slices.Contains(c.Talk.Prompts, l.text) ||
		slices.ContainsFunc(c.Talk.Queue, func(e wire.QueueEntry) bool { return e.Prompt == l.text })
}

// heard takes what the session tells.
func (c *Chat) heard(m *Model, msg Heard) {
	if msg.Source != c.source {
		return
	}
	for _, e := range msg.Events {
		switch e := e.(type) {
		case wire.ErrorEvent:
			c.refused(m, e)
		case wire.TurnStarted:
			delete(c.sent, e.RequestID)
		case wire.QueueEnqueued:
			delete(c.sent, e.RequestID)
		default:
		}
		c.Talk.Take(e, m.at)
	}
}

// refused gives back what the session did not take.
func (c *Chat) refused(m *Model, e wire.ErrorEvent) {
	why := sentence(e.Err())
	if e.RequestID != nil {
		if l, ok := c.sent[*e.RequestID]; ok {
			delete(c.sent, *e.RequestID)
			c.giveBack(m, l, why)
			return
		}
	}
	m.tell(true, "%s", why)
}

// giveBack puts a prompt that was not taken back to where it was typed, or where ctrl-r finds it.
func (c *Chat) giveBack(m *Model, l letter, why string) {
	switch {
	case l.asked != "":
		delete(m.Cards.sent, l.asked)
		m.tell(true, "%s", why)
	case c.Input.Text() == "" && len(c.Files) == 0:
		c.Input, c.Files = widget.NewEditor(l.text, false), l.files
		m.tell(true, "%s. Not sent; the text is back", why)
	default:
		c.Talk.Prompts = append(c.Talk.Prompts, l.text)
		m.tell(true, "%s. Not sent; ctrl-r has the text", why)
	}
}

// parted says that the daemon is away, or that the session is over.
func (c *Chat) parted(m *Model, msg Parted) {
	if msg.Source != c.source {
		return
	}
	c.Up, c.Note = false, "away: "+sentence(msg.Err)
	if msg.Over {
		c.Note = sentence(msg.Err)
		if l := c.first; l != nil {
			c.first = nil
			c.giveBack(m, *l, c.Note)
		}
	}
	c.Talk.Asks = nil
}

// ask hands the session a request; what it carries is kept until the session tells of it.
func (c *Chat) ask(m *Model, l letter, build func(wire.RequestID, wire.SessionID) wire.ClientMessage) []Effect {
	if !c.Up {
		c.giveBack(m, l, orElse(c.Note, "the session is not there yet"))
		return nil
	}
	id := wire.RequestID(m.Opts.NewKey())
	if c.sent == nil {
		c.sent = map[wire.RequestID]letter{}
	}
	if l.text != "" || len(l.files) > 0 || l.asked != "" {
		c.sent[id] = l
	}
	return []Effect{Utter{build(id, c.Talk.ID)}}
}

// send gives the session a prompt.
func (c *Chat) send(m *Model, l letter) []Effect {
	return c.ask(m, l, func(id wire.RequestID, session wire.SessionID) wire.ClientMessage {
		return wire.TurnStart{RequestID: id, SessionID: session, Prompt: l.text, Attachments: l.files}
	})
}

// enter sends what is typed.
func (c *Chat) enter(m *Model) []Effect {
	l := letter{text: c.Input.Text(), files: c.Files}
	if blank(l.text) && len(l.files) == 0 {
		m.tell(false, "nothing was typed, nothing is sent")
		return nil
	}
	c.Input, c.Files, c.recall = widget.Editor{}, nil, 0
	c.Talk.Body.Follow = true
	return c.send(m, l)
}

// answer answers a question of the session.
func (c *Chat) answer(m *Model, id wire.ApprovalID, yes bool) []Effect {
	return c.ask(m, letter{asked: id}, func(request wire.RequestID, session wire.SessionID) wire.ClientMessage {
		return wire.ApprovalResolve{RequestID: request, SessionID: session, ApprovalID: id, Approved: yes}
	})
}

// Asks reports whether a question is the open session's own.
func (c *Chat) Asks(id wire.ApprovalID) bool {
	return slices.ContainsFunc(c.Talk.Asks, func(a wire.Approval) bool { return a.ID == id })
}

// settle shows what is said in the pane.
func (c *Chat) settle(m *Model, l Layout) []Effect {
	d := &m.Detail
	if key := "chat " + string(c.Talk.ID); d.key != key || d.Body != &c.Talk.Body {
		m.sources++ // what comes for what was shown before is dropped
		d.source, d.key, d.more, d.Note, d.Search, d.Body = m.sources, key, nil, "", "", &c.Talk.Body
	}
	d.Body.SetWidth(max(l.Detail.Cols, MinCols-1))
	return d.unfollow("")
}

// key takes a key while a prompt is typed: those of the table first, then what moves or writes.
func (c *Chat) key(m *Model, k Key) []Effect {
	if a := keyed(m, k.Name, inChat); a != nil && a.do != nil {
		return m.act(k, inChat)
	}
	switch k.Name {
	case "up", "down":
		c.recalled(map[string]int{"up": 1, "down": -1}[k.Name])
		return nil
	case "pgup", "pgdn":
		by := max(m.Detail.height-1, 1)
		if k.Name == "pgup" {
			by = -by
		}
		c.Talk.Body.Move(by, m.Detail.height, true)
		return nil
	case "enter":
		return c.enter(m)
	case "ctrl-j", "alt-enter":
		k = Key{Text: "\n"}
	}
	if !c.Input.Press(k.Name, k.Text) {
		m.tell(true, "a prompt takes at most %d bytes; that was not added", wire.MaxPromptBytes)
	}
	return nil
}

// chatActions are what can be done with a session of the model.
func chatActions() []Action {
	open := func(m *Model) string {
		if !m.Chat.Open() {
			return "open a session first: 4, then enter"
		}
		return ""
	}
	turn := func(m *Model) string {
		if why := open(m); why != "" {
			return why
		}
		if m.Chat.Talk.Turn == "" {
			return "no turn runs"
		}
		return ""
	}
	left := func(m *Model) string {
		if it := m.List.Selected(); it == nil || it.Waiting == nil {
			return "choose what a session left: 4"
		}
		return keepsNone(m)
	}
	return []Action{
		{Keys: []string{"enter", "s"}, Title: "talk in the session", Where: inList, CLI: line("scv sessions attach {}"), off: noSession, do: openChat},
		{Keys: []string{"enter", "s"}, Title: "write in the session", Where: inDetail, off: open, quiet: true, do: func(m *Model) []Effect { m.Focus = OnChat; return nil }},
		{Keys: []string{"c"}, Title: "talk with SCV's own model, in a new session", Where: either, CLI: func(*Model) string { return "scv exec --session NAME PROMPT" }, off: keepsNone, do: openFirst},
		{Keys: []string{"R"}, Title: "take over the prompts that a session left", Where: either, off: left, do: restore},
		{Keys: []string{"esc", "ctrl-c"}, Title: "leave the session, which goes on", Where: inChat, off: open, do: func(m *Model) []Effect { m.Focus = OnList; return nil }},
		{Keys: []string{"tab"}, Title: "read and search what was said; enter writes again", Where: inChat, off: open, do: func(m *Model) []Effect { m.Focus = OnDetail; return nil }},
		{Keys: []string{"ctrl-y"}, Title: "name a request; then y approves, n denies", Where: inChat, off: open, do: func(m *Model) []Effect { return m.Cards.focus(m) }},
		{Keys: []string{"ctrl-o"}, Title: "the prompt in $EDITOR", Where: inChat, off: open, do: editChat},
		{Keys: []string{"ctrl-r"}, Title: "earlier prompts of this session", Where: inChat, off: open, do: openEarlier},
		{Keys: []string{"ctrl-p"}, Title: "what waits: edit, move, take out, pause", Where: inChat, off: open, do: openQueue},
		{Keys: []string{"ctrl-t"}, Title: "attach a file to the prompt", Where: inChat, off: open, do: openAttach},
		{Keys: []string{"ctrl-x"}, Title: "cancel the turn that runs", Where: inChat, off: turn, do: cancelTurn},
		{Title: "forget what was said in the session", Where: inChat, off: open, CLI: func(m *Model) string { return "scv sessions clear " + m.Chat.Talk.Name }, do: forget},
		{Keys: []string{"f1"}, Title: "every key", Where: inChat, do: openHelp},
	}
}

func openChat(m *Model) []Effect {
	s := m.List.Selected().Session
	return m.Chat.join(m, Join{Session: s.ID, Cwd: s.Workspace}, m.Name(m.List.Selected()))
}

// restore takes over what waits in a session that is gone, as a session that is kept.
func restore(m *Model) []Effect {
	w := m.List.Selected().Waiting
	return m.Chat.join(m, Join{Cwd: w.Workspace, Restore: &w.ID}, shortID(w.ID))
}

func cancelTurn(m *Model) []Effect {
	turn := m.Chat.Talk.Turn
	return m.ask("Cancel the turn that runs in "+m.Chat.Talk.Name+"? What its tools did stays.", func(m *Model) []Effect {
		return m.Chat.ask(m, letter{}, func(id wire.RequestID, session wire.SessionID) wire.ClientMessage {
			return wire.TurnCancel{RequestID: id, SessionID: session, TurnID: turn}
		})
	})
}

func forget(m *Model) []Effect {
	return m.ask("Forget all that was said in "+m.Chat.Talk.Name+", and what waits in it? Files and jobs stay.", func(m *Model) []Effect {
		return m.Chat.ask(m, letter{}, func(id wire.RequestID, session wire.SessionID) wire.ClientMessage {
			return wire.SessionClear{RequestID: id, SessionID: session}
		})
	})
}
