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
	inChat   // a prompt for a session
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
	quiet bool // while it cannot be done its key means nothing
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
	if m.Focus == OnTerminal {
		return m.Taken.key(m, k)
	}
	k = meant(m, k)
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
	case OnTerminal:
	case OnChat:
		return m.Chat.key(m, k)
	case OnDetail:
		return m.act(k, inDetail)
	case OnList:
	}
	return m.act(k, inList)
}

// meant is a key as the owner's table of keys has it. Where text is typed, what writes text writes it, and a question is
// answered by the keys that it names.
func meant(m *Model, k Key) Key {
	switch m.Focus {
	case OnConfirm:
		return k
	case OnField, OnForm, OnMenu, OnChat:
		if k.Text != "" {
			return k
		}
	default:
	}
	if name := m.Opts.Keys.Means(k.Name); name != k.Name {
		return Key{Name: name}
	}
	return k
}

func (m *Model) act(k Key, at where) []Effect {
	a := keyed(m, k.Name, at)
	if a == nil || a.do == nil {
		return nil
	}
	if a.off != nil {
		if why := a.off(m); why != "" {
			if a.quiet {
				return nil
			}
			m.tell(true, "%s: %s", a.Title, why)
			return nil
		}
	}
	return a.do(m)
}

// paste goes where text is typed, and nowhere else: pasted text is never taken for keys.
func paste(m *Model, p Pasted) []Effect {
	if m.Focus == OnTerminal {
		return m.Taken.paste(p)
	}
	var e *widget.Editor
	switch m.Focus {
	case OnField:
		e = &m.Field.Editor
	case OnForm:
		e = m.Form.Text(m.Form.At)
	case OnMenu:
		e = &m.Menu.Query
	case OnChat:
		e = &m.Chat.Input
	default:
	}
	switch {
	case e == nil:
		m.tell(false, "pasted text is not taken for keys. Next: %s to send it, %s to start a job with it", m.Opts.Keys.Shown("s"), m.Opts.Keys.Shown("n"))
	case p.Cut || !e.Insert(p.Text):
		m.tell(true, "the pasted text is longer than the %d bytes that a prompt takes; nothing of it was added", wire.MaxPromptBytes)
	case m.Focus == OnField:
		m.Field.changed(m)
	case m.Focus == OnMenu:
		m.Menu.narrow()
	}
	return nil
}

// actions is the table. It is made anew at each call: keys are pressed by people.
func actions() []Action {
	return slices.Concat(moves(), views(), jobActions(), queueActions(), homeActions(), cardActions(), chatActions(), screenActions(), typingActions())
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
		{Keys: []string{"enter"}, Title: "open", Where: inList, move: true, off: talkable, do: func(m *Model) []Effect {
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
	if m.Chat.Open() {
		m.Focus = OnChat
		return nil
	}
	panes := m.PanesOf(m.List.Selected())
	if len(panes) == 0 {
		return nil
	}
	at := slices.Index(panes, m.Shown(m.List.Selected()))
	m.Detail.Pane = panes[(at+by+len(panes))%len(panes)]
	return nil
}

// show opens a pane of the selected item.
func show(p Pane) func(*Model) []Effect {
	return func(m *Model) []Effect {
		m.Focus, m.Detail.Open, m.Detail.Pane = OnDetail, true, p
		if m.Chat.Open() {
			return m.Chat.leave(m)
		}
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
		if a.do != nil && a.Where&(inList|inDetail|inCards|inChat) != 0 && !a.move {
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
	shown := make([]string, 0, len(a.Keys))
	for _, key := range a.Keys {
		shown = append(shown, m.Opts.Keys.Shown(key))
	}
	e := Entry{Keys: strings.Join(shown, " "), Title: a.Title, do: a.do}
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

// All are the entries before any was left out.
func (u *Menu) All() []Entry { return u.all }

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
