package model

import (
	"slices"
	"strings"

	"scv/internal/ui/tui/widget"
	"scv/internal/wire"
)

// A FieldKind is what a typed line is for.
type FieldKind uint8

// The lines that can be typed at the bottom.
const (
	FieldFilter FieldKind = iota
	FieldSearch
	FieldSend
	FieldFork
	FieldDeny
	FieldAttach // a file for the prompt of a session
	FieldFirst  // the first prompt of a new session
)

// A Field is the line that is being typed at the bottom.
type Field struct {
	Kind FieldKind
	widget.Editor
	Mode   wire.SendMode // of FieldSend
	To     string        // whom FieldSend is for, as people name it
	back   Focus
	before string // filter or search to go back to
	target wire.WorkbenchSend
	fork   wire.WorkbenchFork
	denied wire.ApprovalID
	drafts map[wire.ConversationID]string // what was typed and not sent
}

// openFilter types a filter of the list, which works while it is typed.
func openFilter(m *Model) []Effect {
	m.Field = Field{Kind: FieldFilter, Editor: widget.NewEditor(m.List.Filter, true), back: m.Focus, before: m.List.Filter, drafts: m.Field.drafts}
	m.Focus = OnField
	return nil
}

// openSearch types what to look for in the pane.
func openSearch(m *Model) []Effect {
	m.Field = Field{Kind: FieldSearch, Editor: widget.NewEditor("", true), back: m.Focus, before: m.Detail.Search, drafts: m.Field.drafts}
	m.Focus = OnField
	return nil
}

// openSend types a prompt for the selected conversation.
func openSend(m *Model) []Effect {
	session, conversation, ok := conversationOf(m.List.Selected())
	if !ok {
		m.tell(true, "this has no conversation that takes a prompt. Next: %s starts a new job", m.Opts.Keys.Shown("n"))
		return nil
	}
	m.Field = Field{
		Kind: FieldSend, Editor: widget.NewEditor(m.Field.drafts[conversation], false), Mode: wire.SendAuto, To: m.Name(m.List.Selected()),
		back: m.Focus, target: wire.WorkbenchSend{Session: session, Conversation: conversation}, drafts: m.Field.drafts,
	}
	m.Focus = OnField
	return nil
}

// openFork types what a new conversation that goes on from a job is to do.
func openFork(m *Model) []Effect {
	job := m.List.Selected().Job
	m.Field = Field{
		Kind: FieldFork, Editor: widget.NewEditor("", false), To: m.Name(m.List.Selected()), back: m.Focus,
		fork: wire.WorkbenchFork{Session: job.Session, Job: job.Job}, drafts: m.Field.drafts,
	}
	m.Focus = OnField
	return nil
}

// openDeny types why the named request is denied; the agent is told.
func openDeny(m *Model) []Effect {
	a := m.Cards.Selected(m)
	if a == nil {
		return nil
	}
	if why := onlyYesOrNo(m, a); why != "" {
		m.tell(true, "%s: n denies without a reason", why)
		return nil
	}
	m.Field = Field{Kind: FieldDeny, Editor: widget.NewEditor("", true), To: Asker(a), back: OnCards, denied: a.ID, drafts: m.Field.drafts}
	m.Focus = OnField
	return nil
}

// openFirst types what a new session begins with.
func openFirst(m *Model) []Effect {
	text := m.Chat.drafts[""].text // of a session that did not begin
	delete(m.Chat.drafts, "")
	m.Field = Field{Kind: FieldFirst, Editor: widget.NewEditor(text, false), To: m.Opts.Cwd, back: m.Focus, drafts: m.Field.drafts}
	m.Focus = OnField
	return nil
}

// openAttach types the path of a file that goes with the prompt of the open session.
func openAttach(m *Model) []Effect {
	m.Field = Field{Kind: FieldAttach, Editor: widget.NewEditor("", true), To: m.Chat.Talk.Name, back: OnChat, drafts: m.Field.drafts}
	m.Focus = OnField
	return nil
}

// attach looks at the file that was named; a blank name takes the files off again.
func (f *Field) attach(m *Model) []Effect {
	if blank(f.Text()) {
		if m.Chat.Files != nil {
			m.tell(false, "no file goes with the prompt")
		}
		m.Chat.Files = nil
		return nil
	}
	source := m.Chat.source
	return []Effect{Probe{Dir: m.Chat.Talk.Cwd, Path: f.Text(), Then: func(m *Model, file wire.Attachment, err error) []Effect {
		switch {
		case err != nil:
			m.tell(true, "not attached: %s", sentence(err))
		case m.Chat.source != source:
			m.tell(true, "the session was left meanwhile; nothing was attached")
		case len(m.Chat.Files) >= wire.MaxAttachments:
			m.tell(true, "a prompt takes at most %d files", wire.MaxAttachments)
		default:
			m.Chat.Files = append(m.Chat.Files, file)
		}
		return nil
	}}}
}

// completed takes a path as far as it is clear how it goes on.
func completed(m *Model, path string, names []string) []Effect {
	if m.Focus != OnField || m.Field.Kind != FieldAttach {
		return nil
	}
	m.Field.Editor = widget.NewEditor(path, true)
	switch {
	case len(names) == 0:
		m.tell(false, "no file begins like that")
	case len(names) > 1:
		m.tell(false, "%s", strings.Join(names, "  "))
	}
	return nil
}

// deny denies the request that was named when the reason was begun, and no other.
func (f *Field) deny(m *Model) []Effect {
	if a := m.Cards.Selected(m); a == nil || a.ID != f.denied {
		m.tell(true, "that request is answered or gone; nothing was denied")
		return nil
	}
	return m.Cards.answer(m, saying{reason: f.Text()})
}

func conversationOf(it *Item) (wire.SessionID, wire.ConversationID, bool) {
	switch {
	case it == nil:
	case it.Job != nil && it.Job.Conversation != nil:
		return it.Job.Session, *it.Job.Conversation, true
	case it.Run != nil && it.Run.Conversation != nil:
		return it.Run.Session, *it.Run.Conversation, true
	}
	return "", "", false
}

// key takes a key while a line is being typed.
func (f *Field) key(m *Model, k Key) []Effect {
	switch k.Name {
	case "esc", "ctrl-c":
		f.cancel(m)
		return nil
	case "enter":
		return f.enter(m)
	case "tab":
		if f.Kind == FieldAttach {
			return []Effect{Complete{Dir: m.Chat.Talk.Cwd, Path: f.Text(), Then: completed}}
		}
		if f.Kind == FieldSend {
			f.Mode = map[wire.SendMode]wire.SendMode{wire.SendAuto: wire.SendQueue, wire.SendQueue: wire.SendSteer}[f.Mode]
			if f.Mode == "" {
				f.Mode = wire.SendAuto
			}
		}
		return nil
	case "ctrl-j", "alt-enter":
		k = Key{Text: "\n"}
	}
	if !f.Press(k.Name, k.Text) {
		m.tell(true, "a prompt takes at most %d bytes; that was not added", wire.MaxPromptBytes)
	}
	f.changed(m)
	return nil
}

// changed lets a filter and a search work while they are typed.
func (f *Field) changed(m *Model) {
	switch f.Kind {
	case FieldFilter:
		m.List.Filter = f.Text()
	case FieldSearch:
		m.Detail.Search = f.Text()
	case FieldSend, FieldFork, FieldDeny, FieldAttach, FieldFirst:
	}
}

// cancel leaves the line. A filter and a search are as before; a prompt is kept for the next time.
func (f *Field) cancel(m *Model) {
	m.Focus = f.back
	switch f.Kind {
	case FieldFilter:
		m.List.Filter = ""
	case FieldSearch:
		m.Detail.Search = f.before
	case FieldSend:
		f.keep(f.target.Conversation, f.Text())
		if f.Text() != "" {
			m.tell(false, "not sent; s brings it back")
		}
	case FieldFirst:
		if !blank(f.Text()) {
			m.Chat.keep("", letter{text: f.Text()})
			m.tell(false, "not begun; c brings the text back")
		}
	case FieldFork, FieldDeny, FieldAttach:
	}
}

func (f *Field) keep(c wire.ConversationID, text string) {
	if f.drafts == nil {
		f.drafts = map[wire.ConversationID]string{}
	}
	f.drafts[c] = text
	if text == "" {
		delete(f.drafts, c)
	}
}

func (f *Field) enter(m *Model) []Effect {
	m.Focus = f.back
	switch f.Kind {
	case FieldFilter:
		return nil
	case FieldSearch:
		if f.Text() != "" && !m.Detail.Body.Find(f.Text(), 1, m.Detail.height) {
			m.tell(true, "%q is not below; N looks above", f.Text())
		}
		return nil
	case FieldDeny:
		return f.deny(m)
	case FieldFork:
		f.fork.Prompt, f.fork.Key = f.Text(), m.Opts.NewKey()
		return []Effect{m.call(f.fork, "a new conversation goes on from "+f.To)}
	case FieldAttach:
		return f.attach(m)
	case FieldFirst:
		if blank(f.Text()) {
			m.tell(false, "nothing was typed, no session was begun")
			return nil
		}
		out := m.Chat.join(m, Join{Cwd: m.Opts.Cwd}, "a new session")
		m.Chat.first = &letter{text: f.Text()}
		return out
	case FieldSend:
	}
	prompt, cmd, to := f.Text(), f.target, f.To
	if blank(prompt) {
		m.tell(false, "nothing was typed, nothing is sent")
		return nil
	}
	cmd.Prompt, cmd.Mode, cmd.Key = prompt, f.Mode, m.Opts.NewKey()
	m.tell(false, "sending to %s", to)
	return []Effect{Call{Cmd: cmd, Then: func(m *Model, st *wire.DaemonStatus, err error) []Effect {
		if err != nil { // the text is not lost
			m.Field.keep(cmd.Conversation, prompt)
			m.tell(true, "%s. Not sent; s brings the text back", sentence(err))
			return nil
		}
		m.Field.keep(cmd.Conversation, "")
		m.tell(false, "%s", sentTo(to, st))
		return nil
	}}}
}

// sentTo says what became of a prompt.
func sentTo(to string, st *wire.DaemonStatus) string {
	if note := text(st.WorkbenchNote); note != "" {
		return note
	}
	if st.Delivery != nil {
		switch *st.Delivery {
		case wire.DeliverySteered:
			return to + " takes it into its running turn"
		case wire.DeliveryQueued:
			return to + " gets it after what runs"
		default:
		}
	}
	return to + " has it"
}

func blank(s string) bool {
	for _, r := range s {
		if r != ' ' && r != '\n' && r != '\t' {
			return false
		}
	}
	return true
}

// editChat opens the prompt in the owner's editor.
func editChat(m *Model) []Effect {
	source := m.Chat.source
	return []Effect{Edit{Text: m.Chat.Input.Text(), Then: func(m *Model, text string, err error) []Effect {
		e := widget.NewEditor("", false)
		switch {
		case err != nil:
			m.fail(err)
		case m.Chat.source != source:
			m.tell(true, "the session was left meanwhile; nothing was changed")
		case !e.Insert(text):
			m.tell(true, "a prompt takes at most %d bytes; the text from before is kept", wire.MaxPromptBytes)
		default:
			m.Chat.Input = e
		}
		return nil
	}}}
}

// openEarlier lists the prompts of the session, newest first; what is typed narrows the list.
func openEarlier(m *Model) []Effect {
	var entries []Entry
	for _, p := range slices.Backward(m.Chat.Talk.Prompts) {
		entries = append(entries, Entry{Title: firstOf(p), do: func(m *Model) []Effect {
			m.Chat.Input, m.Chat.recall = widget.NewEditor(p, false), 0
			return nil
		}})
	}
	return m.openMenu("Earlier prompts: type to narrow, enter takes one to be changed and sent", entries)
}

// recalled goes through the earlier prompts, as a shell does. Text that was changed since stays.
func (c *Chat) recalled(by int) {
	all := c.Talk.Prompts
	at := func(n int) string {
		if n <= 0 || n > len(all) {
			return ""
		}
		return all[len(all)-n]
	}
	if to := c.recall + by; to >= 0 && to <= len(all) && c.Input.Text() == at(c.recall) {
		c.recall, c.Input = to, widget.NewEditor(at(to), false)
	}
}
