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

	"scv/internal/wire"
)

// A Focus says where keys go.
type Focus uint8

// The places that take keys.
const (
	OnList Focus = iota
	OnDetail
	OnCards
	OnField   // a line is typed at the bottom
	OnForm    // the form of a new job
	OnMenu    // palette, help or copy menu
	OnConfirm // a question that only y answers with yes
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

	Focus   Focus
	List    List
	Detail  Detail
	Cards   Cards
	Field   Field
	Form    Form
	Menu    Menu
	Ask     Question
	Mouse   bool
	Notice  Told
	at      time.Time // of the message that is being taken
	sources uint64
}

// New is a dashboard that knows nothing yet.
func New(opts Options) *Model {
	if opts.Zone == nil {
		opts.Zone = time.UTC
	}
	m := &Model{Opts: opts, Cols: 80, Rows: 24, Data: &wire.Snapshot{}}
	m.List.Marks = map[string]bool{}
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
		paste(m, msg)
	case Clicked:
		click(m, msg)
	case Resized:
		m.Cols, m.Rows = msg.Cols, msg.Rows
	case Connected:
		m.Link = Link{Up: true, Since: at, Server: msg.Server, Features: msg.Features, Asked: true}
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
	case Called:
		out = msg.Then(m, msg.Status, msg.Err)
	case Found:
		m.Agents, m.Looked = msg.Agents, true
		if msg.Err != nil {
			m.tell(true, "%v", msg.Err)
		}
	case Edited:
		out = msg.Then(m, msg.Text, msg.Err)
	case Told:
		m.Notice = msg
	}
	return append(out, m.settle()...)
}

// settle makes what depends on other things agree with them: rows, places, cards, and what the detail pane shows.
func (m *Model) settle() []Effect {
	m.build()
	m.Cards.settle(m)
	switch m.Focus {
	case OnList:
		m.Detail.Open = false
	case OnForm:
		m.Form.offer(m) // agents may be found, and a daemon be another one, while it is open
	default:
	}
	l := m.Layout()
	m.List.settle(l.ListItems())
	dropMarks(m)
	return m.Detail.settle(m, l)
}

// dropMarks forgets the marks of items that are gone.
func dropMarks(m *Model) {
	for key := range m.List.Marks {
		if key[0] == 'j' && !slices.ContainsFunc(m.Data.Jobs, func(j wire.Job) bool { return key[2:] == string(j.Ref()) }) {
			delete(m.List.Marks, key)
		}
	}
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
