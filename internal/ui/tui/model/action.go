package model

import (
	"slices"
	"strings"

	"scv/internal/ui/tui/widget"
	"scv/internal/wire"
)

// where an action's keys work.
type where uint8

const (
	inList where = 1 << iota
	inDetail
	inCards
	inTyping // lines, forms and menus, whose own code reads the key
)

// An Action is something that a person can do: its keys, its name, and what one would write on the command line. The keys,
// the palette and the help read the same table.
type Action struct {
	Keys  []string
	Title string
	Where where
	CLI   func(*Model) string
	off   func(*Model) string // why it cannot be done now; nil: it can
	do    func(*Model) []Effect
	move  bool // only moves, and is not in the palette
}

// keyed is the action of a key in a place, nil when the key means nothing there. Where two share a key, the first that can
// be done counts.
func keyed(m *Model, name string, at where) *Action {
	var found *Action
	for _, a := range actions() {
		if a.Where&at != 0 && slices.Contains(a.Keys, name) {
			if a.off == nil || a.off(m) == "" {
				return &a
			}
			if found == nil {
				found = &a
			}
		}
	}
	return found
}

// key gives a key to what has the focus.
func (m *Model) key(k Key) []Effect {
	switch k.Name { // in every place, so that nobody is ever caught
	case "ctrl-l":
		return []Effect{Redraw}
	case "ctrl-z":
		return []Effect{Suspend}
	}
	switch m.Focus {
	case OnCards:
		return m.Cards.key(m, k)
	case OnField:
		return m.Field.key(m, k)
	case OnForm:
		return m.Form.key(m, k)
	case OnMenu:
		return m.Menu.key(m, k)
	case OnConfirm:
		return m.Ask.key(m, k)
	case OnDetail:
		return m.act(k, inDetail)
	case OnList:
	}
	return m.act(k, inList)
}

func (m *Model) act(k Key, at where) []Effect {
	a := keyed(m, k.Name, at)
	if a == nil || a.do == nil {
		return nil
	}
	if a.off != nil {
		if why := a.off(m); why != "" {
			m.tell(true, "%s: %s", a.Title, why)
			return nil
		}
	}
	return a.do(m)
}

// paste goes where text is typed, and nowhere else: pasted text is never taken for keys.
func paste(m *Model, p Pasted) {
	var e *widget.Editor
	switch m.Focus {
	case OnField:
		e = &m.Field.Editor
	case OnForm:
		e = m.Form.Text(m.Form.At)
	case OnMenu:
		e = &m.Menu.Query
	default:
	}
	switch {
	case e == nil:
		m.tell(false, "pasted text is not taken for keys. Next: s to send it, n to start a job with it")
	case p.Cut || !e.Insert(p.Text):
		m.tell(true, "the pasted text is longer than the %d bytes that a prompt takes; nothing of it was added", wire.MaxPromptBytes)
	case m.Focus == OnField:
		m.Field.changed(m)
	case m.Focus == OnMenu:
		m.Menu.narrow()
	}
}

// click chooses a row of the list, or turns what is under the mouse.
func click(m *Model, c Clicked) {
	l := m.Layout()
	in := func(r Rect) bool {
		return c.Row >= r.Row && c.Row < r.Row+r.Rows && c.Col >= r.Col && c.Col < r.Col+r.Cols
	}
	if m.Focus != OnList && m.Focus != OnDetail {
		return
	}
	switch {
	case in(l.List) && c.Wheel != 0:
		m.List.choose(m.List.at + c.Wheel)
	case in(l.List):
		row := c.Row - l.List.Row
		if l.Two {
			row /= 2
		}
		if at := m.List.Top + row; at < len(m.List.Items) {
			m.List.choose(at)
			m.Focus = OnList
		}
	case in(l.Detail) && c.Wheel != 0:
		m.Detail.move(m, c.Wheel)
	}
}

// actions is the table. It is made anew at each call: keys are pressed by people.
func actions() []Action {
	return slices.Concat(moves(), views(), jobActions(), queueActions(), cardActions(), screenActions(), typingActions())
}

const either = inList | inDetail

func moves() []Action {
	by := func(list func(m *Model) int, detail func(m *Model) int) func(*Model) []Effect {
		return func(m *Model) []Effect {
			if m.Focus == OnDetail {
				return m.Detail.move(m, detail(m))
			}
			m.List.choose(list(m))
			return nil
		}
	}
	page := func(m *Model) int { return max(m.Layout().ListItems()-1, 1) }
	height := func(m *Model) int { return max(m.Detail.height-1, 1) }
	return []Action{
		{Keys: []string{"j", "down"}, Title: "down", Where: either, move: true, do: by(func(m *Model) int { return m.List.at + 1 }, func(*Model) int { return 1 })},
		{Keys: []string{"k", "up"}, Title: "up", Where: either, move: true, do: by(func(m *Model) int { return m.List.at - 1 }, func(*Model) int { return -1 })},
		{Keys: []string{"pgdn"}, Title: "a page down", Where: either, move: true, do: by(func(m *Model) int { return m.List.at + page(m) }, height)},
		{Keys: []string{"pgup"}, Title: "a page up", Where: either, move: true, do: by(func(m *Model) int { return m.List.at - page(m) }, func(m *Model) int { return -height(m) })},
		{Keys: []string{"g", "home"}, Title: "to the beginning", Where: either, move: true, do: by(func(*Model) int { return 0 }, func(m *Model) int { return -m.Detail.Body.Len() })},
		{Keys: []string{"G", "end"}, Title: "to the end, and follow", Where: either, move: true, do: by(func(m *Model) int { return len(m.List.Items) - 1 }, func(m *Model) int { return m.Detail.Body.Len() })},
		{Keys: []string{"enter"}, Title: "open", Where: inList, move: true, do: func(m *Model) []Effect {
			if m.List.Selected() != nil {
				m.Focus, m.Detail.Open = OnDetail, true
			}
			return nil
		}},
		{Keys: []string{"esc", "h", "left"}, Title: "back; in the list: show all again", Where: either, move: true, do: back},
		{Keys: []string{"tab"}, Title: "next pane", Where: either, move: true, do: func(m *Model) []Effect { return turnPane(m, 1) }},
		{Keys: []string{"shift-tab"}, Title: "pane before", Where: either, move: true, do: func(m *Model) []Effect { return turnPane(m, -1) }},
		{Keys: []string{"/"}, Title: "filter: words, state:, agent:, age>2h", Where: inList, do: openFilter},
		{Keys: []string{"/"}, Title: "search in the pane", Where: inDetail, move: true, do: openSearch},
		{Keys: []string{"n"}, Title: "next match", Where: inDetail, move: true, off: unsearched, do: func(m *Model) []Effect { return seek(m, 1) }},
		{Keys: []string{"N"}, Title: "match before", Where: inDetail, move: true, off: unsearched, do: func(m *Model) []Effect { return seek(m, -1) }},
	}
}

func unsearched(m *Model) string {
	if m.Detail.Search == "" {
		return "/ searches first"
	}
	return ""
}

func seek(m *Model, by int) []Effect {
	if !m.Detail.Body.Find(m.Detail.Search, by, m.Detail.height) {
		m.tell(false, "%q: no more", m.Detail.Search)
	}
	return nil
}

// back leaves the pane, then the search, then the filter.
func back(m *Model) []Effect {
	switch {
	case m.Focus == OnDetail && m.Detail.Search != "":
		m.Detail.Search = ""
	case m.Focus == OnDetail:
		m.Focus, m.Detail.Open = OnList, false
	default:
		m.List.Filter, m.List.Mine = "", false
		clear(m.List.Marks)
	}
	return nil
}

func turnPane(m *Model, by int) []Effect {
	panes := PanesOf(m.List.Selected())
	if len(panes) == 0 {
		return nil
	}
	at := slices.Index(panes, m.Detail.Shown(m.List.Selected()))
	m.Detail.Pane = panes[(at+by+len(panes))%len(panes)]
	return nil
}

// show opens a pane of the selected item.
func show(p Pane) func(*Model) []Effect {
	return func(m *Model) []Effect {
		m.Focus, m.Detail.Open, m.Detail.Pane = OnDetail, true, p
		return nil
	}
}

// noJob says why an action needs a job.
func noJob(m *Model) string {
	if it := m.List.Selected(); it == nil || it.Job == nil {
		return "choose a job first"
	}
	return ""
}

// line is a command line about the selected item.
func line(format string) func(*Model) string {
	return func(m *Model) string {
		name := m.Name(m.List.Selected())
		if name == "" {
			name = "ID"
		}
		return strings.ReplaceAll(format, "{}", name)
	}
}

// An Entry is a row of a menu: something that can be done. Off says why it cannot be done at the moment.
type Entry struct {
	Keys, Title, CLI, Off string
	do                    func(*Model) []Effect
}

// A Menu is a list of things to do: the palette, the help, or what can be copied. What is typed narrows it, enter does the
// chosen one.
type Menu struct {
	Title   string
	Query   widget.Editor
	Entries []Entry // those that match
	At      int
	all     []Entry
	back    Focus
}

// A Question is asked before something is ended or forgotten. Only y answers it with yes.
type Question struct {
	Text string
	yes  func(*Model) []Effect
	back Focus
}

func (m *Model) openMenu(title string, entries []Entry) []Effect {
	back := m.Focus
	if back == OnMenu {
		back = m.Menu.back
	}
	m.Menu = Menu{Title: title, Query: widget.NewEditor("", true), all: entries, Entries: entries, back: back}
	m.Focus = OnMenu
	return nil
}

func openPalette(m *Model) []Effect {
	var entries []Entry
	for _, a := range actions() {
		if a.do != nil && a.Where&(inList|inDetail|inCards) != 0 && !a.move {
			entries = append(entries, m.entry(&a))
		}
	}
	return m.openMenu("Actions: type to narrow, enter does it", entries)
}

func openHelp(m *Model) []Effect {
	var entries []Entry
	for _, a := range actions() {
		entries = append(entries, m.entry(&a))
	}
	return m.openMenu("Help: every key. Type to narrow, enter does it", entries)
}

// entry is an action as it stands for the selected item.
func (m *Model) entry(a *Action) Entry {
	e := Entry{Keys: strings.Join(a.Keys, " "), Title: a.Title, do: a.do}
	if a.CLI != nil {
		e.CLI = a.CLI(m)
	}
	if a.off != nil {
		e.Off = a.off(m)
	}
	if a.Where == inCards {
		e.Off = orElse(e.Off, "A names a request first")
	}
	if a.do == nil {
		e.Off = orElse(e.Off, "only as a key")
	}
	return e
}

// key takes a key while a menu is open.
func (u *Menu) key(m *Model, k Key) []Effect {
	switch k.Name {
	case "esc", "ctrl-c":
		m.Focus = u.back
	case "up", "ctrl-p", "shift-tab":
		u.At = max(u.At-1, 0)
	case "down", "ctrl-n", "tab":
		u.At = min(u.At+1, max(len(u.Entries)-1, 0))
	case "pgup":
		u.At = max(u.At-10, 0)
	case "pgdn":
		u.At = min(u.At+10, max(len(u.Entries)-1, 0))
	case "enter":
		return u.choose(m)
	default:
		u.Query.Press(k.Name, k.Text)
		u.narrow()
	}
	return nil
}

func (u *Menu) narrow() {
	words := strings.Fields(strings.ToLower(u.Query.Text()))
	u.Entries, u.At = nil, 0
	for _, e := range u.all {
		text := strings.ToLower(e.Keys + " " + e.Title + " " + e.CLI)
		fits := true
		for _, w := range words {
			fits = fits && strings.Contains(text, w)
		}
		if fits {
			u.Entries = append(u.Entries, e)
		}
	}
}

func (u *Menu) choose(m *Model) []Effect {
	if u.At >= len(u.Entries) {
		return nil
	}
	e := u.Entries[u.At]
	if e.Off != "" {
		m.tell(true, "%s: %s", e.Title, e.Off)
		return nil
	}
	m.Focus = u.back
	return e.do(m)
}

// ask puts a question that only y answers with yes.
func (m *Model) ask(question string, yes func(*Model) []Effect) []Effect {
	m.Ask = Question{Text: question, yes: yes, back: m.Focus}
	m.Focus = OnConfirm
	return nil
}

func (q *Question) key(m *Model, k Key) []Effect {
	m.Focus = q.back
	if k.Name != "y" {
		m.tell(false, "nothing was done")
		return nil
	}
	return q.yes(m)
}
