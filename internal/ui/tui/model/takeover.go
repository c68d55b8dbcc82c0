package model

import (
	"fmt"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/keys"
	"scv/internal/wire"
)

// A Takeover is an agent's own terminal, or the owner's shell where an agent works, inside of the dashboard. It gets every
// key but the one that lets go. What is shown are the cells that the daemon tells; no byte of an agent gets through.
type Takeover struct {
	Name    string // of what is shown
	Looking bool   // nothing that is typed is sent
	Page    wire.AttachPage
	Note    string // what there is to say of it
	rows    [][]wire.AttachSpan
	source  uint64 // number of what is shown; 0: nothing
	cols    int    // size that was told last
	height  int
	ask     string // a paste of several lines that may be meant, or not
	back    Focus
	up      int                 // lines that are scrolled up; 0: the live screen shows
	past    [][]wire.AttachSpan // what shows meanwhile, nil until it has come
	mouse   Do                  // what the mouse was taken for: MouseOn or MouseAll; 0: nothing
	focus   bool                // the window's focus is told
}

// Up is how many lines above the live screen are shown; 0 is that screen itself.
func (t *Takeover) Up() int {
	if t.past == nil {
		return 0
	}
	return t.up
}

// Row is what a row of the terminal shows; none for one that is blank.
func (t *Takeover) Row(i int) []wire.AttachSpan {
	rows := t.rows
	if t.past != nil {
		rows = t.past
	}
	if i >= len(rows) {
		return nil
	}
	return rows[i]
}

// Shown reports whether the terminal has been seen.
func (t *Takeover) Shown() bool { return t.Page.Rows > 0 }

// noTerminal says why the selected item's terminal cannot be taken over.
func noTerminal(m *Model) string {
	it := m.List.Selected()
	if _, _, ok := conversationOf(it); !ok {
		return "choose a job or run with a conversation"
	}
	offer := offerOf(it)
	if offer == nil {
		return ""
	}
	switch offer.State {
	case wire.AttachReady, wire.AttachTakenOver:
		return ""
	default:
	}
	if offer.Interrupt {
		return ""
	}
	return orElse(text(offer.Detail), "it cannot be taken over now")
}

func offerOf(it *Item) *wire.AttachOffer {
	switch {
	case it == nil:
	case it.Job != nil:
		return it.Job.Attach
	case it.Run != nil:
		return it.Run.Attach
	}
	return nil
}

// takeOver opens the terminal of the selected conversation. A turn that runs is stopped only after a question.
func takeOver(m *Model) []Effect {
	it := m.List.Selected()
	session, conversation, _ := conversationOf(it)
	what := Attach{Session: session, Conversation: conversation}
	if offer := offerOf(it); offer != nil && offer.State == wire.AttachBusy {
		what.Interrupt = true
		question := fmt.Sprintf("%s: stop that turn, to be resumed later, and take %s over in its agent's own terminal?", orElse(text(offer.Detail), "a turn runs"), conversation)
		return m.ask(question, func(m *Model) []Effect { return attach(m, what, string(conversation)) })
	}
	return attach(m, what, string(conversation))
}

// openShell opens the owner's shell where the selected conversation works.
func openShell(m *Model) []Effect {
	session, conversation, _ := conversationOf(m.List.Selected())
	return attach(m, Attach{Session: session, Conversation: conversation, Shell: true}, "shell of "+string(conversation))
}

// openTerminal is the run whose terminal is open in the selected conversation, nil when there is none.
func openTerminal(m *Model) *wire.Run {
	_, conversation, ok := conversationOf(m.List.Selected())
	if !ok {
		return nil
	}
	for i := range m.Data.Runs {
		if r := &m.Data.Runs[i]; r.Live && r.Transport == wire.TransportTerminal && r.Conversation != nil && *r.Conversation == conversation {
			return r
		}
	}
	return nil
}

func notOpen(m *Model) string {
	if openTerminal(m) == nil {
		return "no terminal is open there"
	}
	return ""
}

func lookOn(m *Model) []Effect {
	r := openTerminal(m)
	return attach(m, Attach{Session: r.Session, Conversation: *r.Conversation, Run: new(r.Handle)}, string(*r.Conversation))
}

func closeTerminal(m *Model) []Effect {
	r := openTerminal(m)
	cmd := wire.AttachEnd{Session: r.Session, Conversation: *r.Conversation, Shell: r.Agent == wire.ShellAgent, Key: m.Opts.NewKey()}
	return m.ask("Close the terminal of "+string(*r.Conversation)+", and end what runs in it? Prompts that wait go on then.", func(m *Model) []Effect {
		return []Effect{m.call(cmd, "the terminal of "+string(cmd.Conversation)+" was closed")}
	})
}

// attach gives the screen and the keys to a terminal.
func attach(m *Model, what Attach, name string) []Effect {
	m.sources++
	back := m.Focus
	if back != OnDetail {
		back = OnList
	}
	m.Taken = Takeover{Name: name, Looking: what.Run != nil, source: m.sources, back: back, mouse: m.Taken.mouse, focus: m.Taken.focus}
	m.Focus = OnTerminal
	l := m.Layout()
	m.Taken.cols, m.Taken.height = l.Over.Cols, l.Over.Rows
	what.Source, what.Cols, what.Rows = m.sources, l.Over.Cols, l.Over.Rows
	return []Effect{what}
}

// screened takes what the daemon sent.
func (t *Takeover) screened(m *Model, msg Screened) {
	if msg.Source != t.source {
		return
	}
	page := msg.Page
	if page.Full {
		t.rows = nil
	}
	for _, l := range page.Lines {
		for int(l.Row) >= len(t.rows) && l.Row < wire.MaxRows {
			t.rows = append(t.rows, nil)
		}
		if int(l.Row) < len(t.rows) {
			t.rows[l.Row] = l.Spans
		}
	}
	if len(t.rows) > int(page.Rows) {
		t.rows = t.rows[:page.Rows]
	}
	if page.Full || page.History == 0 { // what is above is that of another screen
		t.live()
	}
	page.Lines = nil
	if t.Page = page; page.Note != nil {
		t.Note = *page.Note
	}
	if page.Ended {
		exit := orElse(text(page.Exit), "it is not known how")
		if last := t.last(); last != "" && !strings.HasPrefix(exit, "exit 0") {
			exit += "; its last line: " + last
		}
		t.leave(m)
		m.tell(false, "the terminal of %s is closed (%s)", t.Name, exit)
	}
}

// last is the last line that is not blank.
func (t *Takeover) last() string {
	for i := len(t.rows) - 1; i >= 0; i-- {
		var b strings.Builder
		for _, s := range t.rows[i] {
			b.WriteString(plain.Line(s.Text))
		}
		if line := strings.TrimSpace(b.String()); line != "" {
			return line
		}
	}
	return ""
}

// released is the end that does not come from the terminal.
func (t *Takeover) released(m *Model, msg Released) {
	if msg.Source != t.source {
		return
	}
	t.leave(m)
	m.tell(true, "%s: %s", t.Name, sentence(msg.Err))
}

// leave gives the keys back to the dashboard.
func (t *Takeover) leave(m *Model) {
	t.source, t.ask = 0, ""
	t.live()
	if m.Focus == OnTerminal {
		m.Focus = t.back
	}
}

// settle takes the mouse and the window's focus for the agent or gives them back, and tells the size of the window when it is another one. Who only
// looks on changes nothing.
func (t *Takeover) settle(m *Model, l Layout) []Effect {
	return append(t.grip(m), t.sized(m, l)...)
}

func (t *Takeover) grip(m *Model) []Effect {
	own := MouseOff
	if m.Mouse {
		own = MouseOn
	}
	held := t.source != 0 && !t.Looking && m.Focus == OnTerminal
	var out []Effect
	if focus := held && t.Page.Focus; focus != t.focus {
		t.focus = focus
		out = append(out, map[bool]Do{true: FocusOn, false: FocusOff}[focus])
	}
	want := Do(0)
	switch {
	case held && t.Page.Mouse > 1000:
		want = MouseAll
	case held && t.Page.Mouse > 0:
		want = MouseOn
	}
	if want == t.mouse {
		return out
	}
	if t.mouse = want; want == 0 {
		want = own
	}
	return append(out, want)
}

// watched tells an agent that asked for it whether the window has the focus.
func (t *Takeover) watched(m *Model, w Watched) []Effect {
	if !t.focus || m.Focus != OnTerminal {
		return nil
	}
	return []Effect{Type{Text: keys.Focus(w.In)}}
}

func (t *Takeover) sized(m *Model, l Layout) []Effect {
	if t.source == 0 || t.Looking || l.Small || m.Focus != OnTerminal || t.cols == l.Over.Cols && t.height == l.Over.Rows {
		return nil
	}
	t.cols, t.height = l.Over.Cols, l.Over.Rows
	return []Effect{Window{Cols: t.cols, Rows: t.height}}
}

// key gives a key to the agent, or lets go.
func (t *Takeover) key(m *Model, k Key) []Effect {
	if k.Name == m.Opts.Detach {
		t.leave(m)
		if !t.Looking {
			m.tell(false, "you let go of the terminal of %s, which goes on; %s takes it again", t.Name, m.Opts.Keys.Shown("t"))
		}
		return []Effect{LetGo}
	}
	if pages := paging(k); pages != 0 && (t.Page.History > 0 || t.up > 0) {
		return t.turn(m, pages*max(m.Layout().Over.Rows-1, 1)) // one line stays in sight
	}
	t.live()
	if t.Looking {
		return nil
	}
	if paste := t.ask; paste != "" {
		t.ask, t.Note = "", ""
		if k.Name == "y" {
			return []Effect{Type{Text: paste}}
		}
		return nil
	}
	t.Note = ""
	if sent := keys.Stroke(k.Name, k.Text, k.Shift, k.Ctrl, t.Page.ApplicationCursor); sent != "" {
		return []Effect{Type{Text: sent}}
	}
	return nil
}

// paste gives pasted text to the agent. To one that would take each line for an answer it goes only after a question.
func (t *Takeover) paste(p Pasted) []Effect {
	t.live()
	switch {
	case t.Looking:
		return nil
	case p.Cut:
		t.Note = "the pasted text is too long; nothing of it was sent"
		return nil
	}
	sent, lines := keys.Paste(p.Text, t.Page.BracketedPaste)
	if lines > 0 {
		t.ask = sent
		t.Note = fmt.Sprintf("you pasted %d lines, and each would be entered: y sends them, any other key does not", lines+1)
		return nil
	}
	return []Effect{Type{Text: sent}}
}

// paging is 1 for the key that goes up by a page, and -1 for the one that goes down.
func paging(k Key) int {
	switch {
	case k.Name == "alt-pgup", k.Name == "pgup" && k.Shift && !k.Ctrl:
		return 1
	case k.Name == "alt-pgdn", k.Name == "pgdn" && k.Shift && !k.Ctrl:
		return -1
	}
	return 0
}

// turn shows what went up over the top, so many lines further up, or with a negative number further down. Down past the end
// is the live screen again.
func (t *Takeover) turn(m *Model, lines int) []Effect {
	t.up = min(max(t.up+lines, 0), int(t.Page.History))
	if t.up == 0 || t.Page.Run == nil {
		t.live()
		return nil
	}
	source, up, rows := t.source, t.up, m.Layout().Over.Rows
	cmd := wire.AttachHistory{Run: *t.Page.Run, First: t.Page.History - uint16(up), Lines: uint16(min(rows, up, wire.MaxHistoryLines))}
	return []Effect{Call{Cmd: cmd, Then: func(m *Model, st *wire.DaemonStatus, err error) []Effect {
		if t := &m.Taken; t.source == source && t.up == up { // nothing else was wished meanwhile
			t.turned(st, err, rows)
		}
		return nil
	}}}
}

// turned takes the lines above, and below them the screen as far as there is room.
func (t *Takeover) turned(st *wire.DaemonStatus, err error, rows int) {
	if err != nil || st.Attach == nil {
		t.live()
		t.Note = "what is above cannot be read: " + sentence(err)
		return
	}
	t.past = make([][]wire.AttachSpan, 0, rows)
	for _, l := range st.Attach.Lines {
		t.past = append(t.past, l.Spans)
	}
	t.past = append(t.past, t.rows[:max(min(len(t.rows), rows-len(t.past)), 0)]...)
}

// live shows the screen as it is now.
func (t *Takeover) live() { t.up, t.past = 0, nil }

// clicked gives what the mouse does to an agent that asked for it. Else its wheel turns what is above.
func (t *Takeover) clicked(m *Model, c Clicked) []Effect {
	r := m.Layout().Over
	at := keys.Mouse{Button: c.Button, Col: c.Col - r.Col + 1, Row: c.Row - r.Row + 1, Up: c.Up}
	switch {
	case at.Row < 1 || at.Row > r.Rows || at.Col < 1 || at.Col > r.Cols:
	case t.up == 0 && t.Page.Mouse > 0 && !t.Looking:
		if sent := at.Report(t.Page.Mouse, t.Page.MouseEncoding); sent != "" {
			return []Effect{Type{Text: sent}}
		}
	case c.Wheel != 0 && t.Page.History > 0:
		return t.turn(m, -c.Wheel)
	}
	return nil
}
