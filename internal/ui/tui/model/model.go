// Package model is the state of the dashboard as a fold: Update takes what happened and when, changes the Model and
// returns what is to be done outside. It reads no clock, no disk and no socket and never blocks, so the same messages
// always give the same screen. One goroutine, the loop of package tui, owns a Model; package view only reads it.
//
// Two rules stand above all others here. An approval never takes the focus, and no key that is pressed while a card
// appears or moves can answer one (cards.go). What a key does is said in one table, which the keys, the palette and the
// help all read (action.go).
package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/internal/ui/tui/widget"
	"scv/internal/wire"
)

// A Focus says where keys go.
type Focus uint8

// The places that take keys.
const (
	OnList Focus = iota
	OnDetail
	OnCards
	OnField    // a line is typed at the bottom
	OnForm     // the form of a new job
	OnMenu     // palette, help or copy menu
	OnConfirm  // a question that only y answers with yes
	OnTerminal // an agent's terminal, which gets every key but one
	OnChat     // a prompt is typed for a session of SCV's own model
)

// A Link is what is known of the daemon.
type Link struct {
	Up       bool
	Why      string    // while it is down
	Since    time.Time // of the state that it is in
	Server   wire.PeerInfo
	Features []string
	Asked    bool // a daemon was there, or was looked for and not found
}

// A Model is everything that the dashboard knows. Package view reads its fields; only Update changes them.
type Model struct {
	Opts       Options
	Cols, Rows int
	Link       Link
	Data       *wire.Snapshot
	Disk       bool // Data was read from the disk
	Agents     []Agent
	Looked     bool // for agents
	Trees      []wire.WorktreeInfo

	Focus  Focus
	List   List
	Detail Detail
	Cards  Cards
	Field  Field
	Form   Form
	Menu   Menu
	Ask    Question
	Taken  Takeover
	Chat   Chat
	// Requests are all that wait for the owner's answer: those of the open session first, then those of agents.
	Requests []wire.Approval
	Mouse    bool
	Notice   Told
	at       time.Time // of the message that is being taken
	sources  uint64
}

// New is a dashboard that knows nothing yet.
func New(opts Options) *Model {
	if opts.Zone == nil {
		opts.Zone = time.UTC
	}
	m := &Model{Opts: opts, Cols: 80, Rows: 24, Data: &wire.Snapshot{}}
	if opts.Detach == "" {
		m.Opts.Detach = "ctrl-]"
	}
	m.List.Marks = map[string]bool{}
	m.List.restore(opts.Place)
	m.Detail.Body = new(widget.NewScroll(0, false))
	return m
}

// At is when the last message came; clock times on the screen are told relative to its day.
func (m *Model) At() time.Time { return m.at.In(m.Opts.Zone) }

// Has reports whether the daemon announced a feature.
func (m *Model) Has(feature string) bool { return slices.Contains(m.Link.Features, feature) }

// Update takes one message and returns what is to be done. Moments must not go back.
func (m *Model) Update(msg Msg, at time.Time) []Effect {
	m.at = at
	var out []Effect
	switch msg := msg.(type) {
	case Key:
		m.Notice = Told{}
		out = m.key(msg)
	case Pasted:
		m.Notice = Told{}
		out = paste(m, msg)
	case Clicked:
		out = clicked(m, msg)
	case Watched:
		out = m.Taken.watched(m, msg)
	case Resized:
		m.Cols, m.Rows = msg.Cols, msg.Rows
	case Connected:
		m.Link = Link{Up: true, Since: at, Server: msg.Server, Features: msg.Features, Asked: true}
		if m.List.View == ViewWorktrees && noTrees(m) == "" {
			out = []Effect{listTrees(m)}
		}
	case Lost:
		if m.Link.Up || !m.Link.Asked {
			m.Link.Since = at
		}
		m.Link.Up, m.Link.Why, m.Link.Asked = false, msg.Why, true
	case Listed:
		if msg.View != nil && !(msg.Disk && m.Link.Up) {
			m.Data, m.Disk = msg.View, msg.Disk
		}
	case Logged:
		m.Detail.logged(m, msg)
	case Called, Compared, Edited, Probed, Completed, Kept:
		out = answered(m, msg)
	case Screened:
		m.Taken.screened(m, msg)
	case Noted:
		if msg.Source == m.Taken.source || msg.Source == 0 {
			m.Taken.Note = msg.Text
		}
	case Released:
		m.Taken.released(m, msg)
	case Joined, Heard, Parted:
		out = m.Chat.update(m, msg)
	case Found:
		m.Agents, m.Looked = msg.Agents, true
		if msg.Err != nil {
			m.tell(true, "%v", msg.Err)
		}
	case Told:
		m.Notice = msg
	}
	return append(out, m.settle()...)
}

// answered goes on with what the model asked to be done outside.
func answered(m *Model, msg Msg) []Effect {
	switch msg := msg.(type) {
	case Called:
		return msg.Then(m, msg.Status, msg.Err)
	case Compared:
		return msg.Then(m, msg.Diff, msg.Err)
	case Edited:
		return msg.Then(m, msg.Text, msg.Err)
	case Probed:
		return msg.Then(m, msg.File, msg.Err)
	case Completed:
		return msg.Then(m, msg.Path, msg.Names)
	case Kept:
		return msg.Then(m, msg.Prompts, msg.Err)
	}
	return nil
}

// settle makes what depends on other things agree with them: rows, places, cards, and what the detail pane shows.
func (m *Model) settle() []Effect {
	var out []Effect
	m.Requests = m.Data.Approvals
	if n := len(m.Chat.Talk.Asks); n > 0 {
		m.Requests = append(m.Chat.Talk.Asks[:n:n], m.Data.Approvals...)
	}
	m.build()
	m.Cards.settle(m)
	switch m.Focus {
	case OnList:
		if m.Detail.Open = false; m.Chat.Open() {
			out = m.Chat.leave(m)
		}
	case OnForm:
		m.Form.offer(m) // agents may be found, and a daemon be another one, while it is open
	default:
	}
	l := m.Layout()
	m.List.settle(l.ListItems())
	dropMarks(m)
	return append(append(out, m.Detail.settle(m, l)...), m.Taken.settle(m, l)...)
}

// call makes a Call whose answer is only told.
func (m *Model) call(cmd wire.Command, done string) Effect {
	return Call{Cmd: cmd, Then: func(m *Model, st *wire.DaemonStatus, err error) []Effect {
		if err != nil {
			m.fail(err)
			return nil
		}
		m.tell(false, "%s", orElse(text(st.WorkbenchNote), done))
		return nil
	}}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// tell says something in the last row until the next key.
func (m *Model) tell(bad bool, format string, args ...any) {
	m.Notice = Told{Text: fmt.Sprintf(format, args...), Bad: bad}
}

// fail says why something was not done, and what to do next.
func (m *Model) fail(err error) { m.tell(true, "%s", sentence(err)) }

// sentence is an error for people: what happened, and the next step when it names one.
func sentence(err error) string {
	if err == nil {
		return "the daemon answered without what was asked for"
	}
	said := strings.TrimRight(err.Error(), " .\n")
	if e, ok := errors.AsType[*wire.Error](err); ok && e.Hint != "" {
		return said + ". Next: " + e.Hint
	}
	return said
}

// Banner is what stands below the head while something is wrong; empty when nothing is.
func (m *Model) Banner() string {
	since := m.Link.Since.In(m.Opts.Zone).Format("15:04")
	switch {
	case !m.Link.Asked:
		return ""
	case !m.Link.Up && m.Disk:
		return "OFFLINE since " + since + ": " + m.Link.Why + ". Next: scv start. Shown is what lies on disk"
	case !m.Link.Up:
		return "OFFLINE since " + since + ": " + m.Link.Why + ". Shown is what was; agents that work go on"
	case m.Data.Storage != "":
		return m.Data.Storage
	}
	return ""
}

// The smallest screen that is drawn on, in cells.
const (
	MinCols = 40
	MinRows = 10
)

// Widths from which more is shown.
const (
	tabsFrom = 60  // a row of tabs, and one row for an item
	sideFrom = 160 // the detail stands beside the list
	roomy    = 20  // rows from which more than one thing is shown at once
)

// A Rect is a part of the screen, in cells.
type Rect struct{ Row, Col, Rows, Cols int }

// A Layout is where things are. A part that is not shown has no rows. The last column of the screen stays empty: terminals
// disagree about characters that end there.
type Layout struct {
	Small  bool // too small for anything but a sentence
	Cols   int  // of every row
	Two    bool // an item takes two rows
	Side   bool // the detail stands beside the list
	Banner Rect
	Tabs   Rect
	Head   Rect // names of the columns
	List   Rect
	Detail Rect // its first row is its title
	Cards  Rect
	Field  Rect
	Over   Rect // of a form, menu or question: what list and detail would have
	Foot   int
}

// ListItems is how many items fit into the list.
func (l Layout) ListItems() int {
	if l.Two {
		return l.List.Rows / 2
	}
	return l.List.Rows
}

// Layout is a pure function of the size and of what is open.
func (m *Model) Layout() Layout {
	l := Layout{Cols: m.Cols - 1, Foot: m.Rows - 1}
	if m.Cols < MinCols || m.Rows < MinRows {
		l.Small = true
		return l
	}
	l.Two, l.Side = m.Cols < tabsFrom, m.Cols >= sideFrom
	row, end := 1, m.Rows-1
	take := func(rows int) Rect {
		r := Rect{Row: row, Rows: rows, Cols: l.Cols}
		row += rows
		return r
	}
	bottom := func(rows int) Rect {
		end -= rows
		return Rect{Row: end, Rows: rows, Cols: l.Cols}
	}
	if m.Focus == OnTerminal {
		l.Over = Rect{Row: 1, Rows: m.Rows - 2, Cols: l.Cols}
		return l
	}
	if m.Banner() != "" {
		l.Banner = take(1)
	}
	if !l.Two && m.Rows >= 12 {
		l.Tabs = take(1)
	}
	if n := fieldRows(m, l.Cols); n > 0 {
		l.Field = bottom(n)
	}
	if n := cardRows(m, l); n > 0 {
		l.Cards = bottom(n)
	}
	l.Over = Rect{Row: row, Rows: end - row, Cols: l.Cols}
	divide(m, &l, row, end)
	return l
}

// divide gives the rows between row and end to the list and the detail.
func divide(m *Model, l *Layout, row, end int) {
	end = max(end, row)
	head := func() {
		if !l.Two {
			l.Head = Rect{Row: row, Rows: 1, Cols: l.Cols}
			row++
		}
	}
	switch {
	case l.Side:
		head()
		left := l.Cols * 3 / 5
		l.Detail = Rect{Row: l.Head.Row, Col: left + 2, Rows: end - l.Head.Row, Cols: l.Cols - left - 2}
		l.Head.Cols = left
		l.List = Rect{Row: row, Rows: end - row, Cols: left}
	case m.Detail.Open:
		l.Detail = Rect{Row: row, Rows: end - row, Cols: l.Cols}
	case m.Rows >= roomy && end-row >= 12:
		head()
		n := max(5, (end-row)/3)
		l.List = Rect{Row: row, Rows: end - row - n, Cols: l.Cols}
		l.Detail = Rect{Row: end - n, Rows: n, Cols: l.Cols}
	default:
		head()
		l.List = Rect{Row: row, Rows: end - row, Cols: l.Cols}
	}
}

// cardRows is how high the strip of approvals is: nothing without one, a head and the request with one, more while it has
// the focus, so that the whole request is read before it is answered.
func cardRows(m *Model, l Layout) int {
	n := len(m.Requests)
	switch {
	case n == 0:
		return 0
	case m.Focus == OnCards:
		return min(2+len(m.Cards.Body(l.Cols)), max(m.Rows*2/3, 4))
	case l.Side:
		return 1 + min(n, 4)
	case m.Focus == OnForm && m.Rows < roomy:
		return 1
	}
	return 2
}

// fieldRows is how high the line is that is being typed.
func fieldRows(m *Model, cols int) int {
	e, n := &m.Field.Editor, 1
	switch {
	case m.Focus == OnField:
	case m.Chat.Open() && (m.Focus == OnChat || m.Rows >= roomy):
		e = &m.Chat.Input
		if n += m.Chat.QueueShown(m.Rows); len(m.Chat.Files) > 0 {
			n++
		}
	default:
		return 0
	}
	rows, _, _ := e.Lines(cols)
	return n + min(len(rows), max(1, min(6, m.Rows/4)))
}

// ShowsTrees reports whether there is a list of worktrees.
func (m *Model) ShowsTrees() bool { return noTrees(m) == "" }
