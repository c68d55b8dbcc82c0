package model

import (
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
		m.tell(true, "this has no conversation that takes a prompt. Next: n starts a new job")
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
	case FieldSend, FieldFork:
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
	case FieldFork:
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
	case FieldFork:
		f.fork.Prompt, f.fork.Key = f.Text(), m.Opts.NewKey()
		return []Effect{m.call(f.fork, "a new conversation goes on from "+f.To)}
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
