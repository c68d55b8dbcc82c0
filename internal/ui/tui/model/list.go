package model

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"scv/internal/ui/tui/query"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// A View is one of the lists.
type View uint8

// The views, in the order of their digits.
const (
	ViewAll View = iota
	ViewJobs
	ViewRuns
	ViewSessions
	ViewWorktrees
	ViewAgents
	Views
)

// String is the view's name on its tab.
func (v View) String() string {
	return [...]string{"All", "Jobs", "Runs", "Sessions", "Worktrees", "Agents", ""}[v]
}

// An Item is a row of a list: exactly one of the pointers is set.
type Item struct {
	Key     string // stays with what it stands for
	Job     *wire.Job
	Run     *wire.Run
	Session *wire.Session
	Waiting *wire.RestorableSession
	Tree    *wire.WorktreeInfo
	Agent   *Agent
}

// A List is the rows of the view that is open, and where the person is in them.
type List struct {
	View   View
	Items  []Item
	Top    int // first row shown
	Filter string
	Mine   bool            // only what needs the owner
	Marks  map[string]bool // keys of marked items
	keys   [Views]string   // selected item of each view
	at     int
	hidden int // items that the filter leaves out
}

// restore puts the person where he was. What is not there any more is not chosen.
func (l *List) restore(p Place) {
	l.View, l.Filter, l.Mine = min(p.View, Views-1), p.Filter, p.Mine
	copy(l.keys[:], p.Chosen)
}

// Place is where the person is.
func (l *List) Place() Place {
	return Place{View: l.View, Filter: l.Filter, Mine: l.Mine, Chosen: l.keys[:]}
}

// Selected is the item under the cursor, nil when the list is empty.
func (l *List) Selected() *Item {
	if l.at < 0 || l.at >= len(l.Items) {
		return nil
	}
	return &l.Items[l.at]
}

// At is the position of the selected item.
func (l *List) At() int { return l.at }

// Hidden is how many items the filter leaves out.
func (l *List) Hidden() int { return l.hidden }

// settle keeps the selection on its item when rows came, went or changed places, and the window on the selection.
func (l *List) settle(height int) {
	if i := slices.IndexFunc(l.Items, func(it Item) bool { return it.Key == l.keys[l.View] }); i >= 0 {
		l.at = i
	}
	l.at = max(min(l.at, len(l.Items)-1), 0)
	if it := l.Selected(); it != nil {
		l.keys[l.View] = it.Key
	}
	height = max(height, 1)
	l.Top = min(l.Top, l.at)
	l.Top = max(l.Top, l.at-height+1)
	l.Top = max(min(l.Top, len(l.Items)-height), 0)
}

// choose puts the cursor on a row.
func (l *List) choose(at int) {
	l.at = max(min(at, len(l.Items)-1), 0)
	if it := l.Selected(); it != nil {
		l.keys[l.View] = it.Key
	}
}

// build makes the items of the open view anew.
func (m *Model) build() {
	l := &m.List
	all := m.items()
	q := query.Parse(l.Filter)
	l.Items = all[:0]
	for _, it := range all {
		if (!l.Mine || m.needsOwner(&it)) && q.Matches(it.facts(), m.at) {
			l.Items = append(l.Items, it)
		}
	}
	l.hidden = len(all) - len(l.Items)
}

func (m *Model) items() []Item {
	switch m.List.View {
	case ViewJobs:
		return jobItems(m)
	case ViewRuns:
		return runItems(m, func(*wire.Run) bool { return true })
	case ViewSessions:
		return sessionItems(m)
	case ViewWorktrees:
		return treeItems(m)
	case ViewAgents:
		return agentItems(m)
	default:
	}
	serving := map[wire.RunHandle]bool{}
	for i := range m.Data.Jobs {
		if job := &m.Data.Jobs[i]; job.Run != nil {
			serving[*job.Run] = true
		}
	}
	out := append(jobItems(m), runItems(m, func(r *wire.Run) bool { return r.Live && !serving[r.Handle] })...)
	for i := range m.Data.Restorable {
		r := &m.Data.Restorable[i]
		out = append(out, Item{Key: "q " + string(r.ID), Waiting: r})
	}
	return out
}

// rank orders jobs by what a person looks for first: who waits for him, what works, what waits, what cannot be told, and
// what is over.
func rank(s wire.AgentState) int {
	switch {
	case s.NeedsAttention():
		return 0
	case s == wire.StateQueued:
		return 2
	case s == wire.StateUnknown:
		return 3
	case s.Final():
		return 4
	}
	return 1
}

func jobItems(m *Model) []Item {
	out := make([]Item, 0, len(m.Data.Jobs))
	for i := range m.Data.Jobs {
		job := &m.Data.Jobs[i]
		out = append(out, Item{Key: "j " + string(job.Ref()), Job: job})
	}
	slices.SortStableFunc(out, func(a, b Item) int {
		x, y := a.Job, b.Job
		if c := cmp.Compare(rank(x.State), rank(y.State)); c != 0 {
			return c
		}
		if x.State.Final() {
			if c := cmp.Compare(y.UpdatedUnixSeconds, x.UpdatedUnixSeconds); c != 0 {
				return c
			}
		}
		return cmp.Compare(y.Job.Number(), x.Job.Number())
	})
	return out
}

func runItems(m *Model, want func(*wire.Run) bool) []Item {
	var out []Item
	for i := range m.Data.Runs {
		if run := &m.Data.Runs[i]; want(run) {
			out = append(out, Item{Key: "r " + string(run.Handle), Run: run})
		}
	}
	slices.SortStableFunc(out, func(a, b Item) int {
		if a.Run.Live != b.Run.Live {
			if a.Run.Live {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Run.StartedUnixSeconds, a.Run.StartedUnixSeconds)
	})
	return out
}

func sessionItems(m *Model) []Item {
	var out []Item
	for i := range m.Data.Sessions {
		s := &m.Data.Sessions[i]
		out = append(out, Item{Key: "s " + string(s.ID), Session: s})
	}
	for i := range m.Data.Restorable {
		r := &m.Data.Restorable[i]
		out = append(out, Item{Key: "q " + string(r.ID), Waiting: r})
	}
	return out
}

func treeItems(m *Model) []Item {
	var out []Item
	for i := range m.Trees {
		out = append(out, Item{Key: "w " + m.Trees[i].Path, Tree: &m.Trees[i]})
	}
	return out
}

func agentItems(m *Model) []Item {
	var out []Item
	for i := range m.Agents {
		out = append(out, Item{Key: "a " + m.Agents[i].Name, Agent: &m.Agents[i]})
	}
	return out
}

// needsOwner reports whether an item waits for a person: its job asks, or asked and has a card.
func (m *Model) needsOwner(it *Item) bool {
	if it.Job == nil {
		return it.Run != nil && it.Run.State.NeedsAttention()
	}
	return it.Job.State.NeedsAttention() || slices.ContainsFunc(m.Data.Approvals, func(a wire.Approval) bool {
		return a.Job == it.Job.Job && a.Session == it.Job.Session
	})
}

// dropMarks forgets the marks of items that are gone.
func dropMarks(m *Model) {
	for key := range m.List.Marks {
		if key[0] == 'j' && !slices.ContainsFunc(m.Data.Jobs, func(j wire.Job) bool { return key[2:] == string(j.Ref()) }) {
			delete(m.List.Marks, key)
		}
	}
}

// clicked gives what the mouse did to what is under it.
func clicked(m *Model, c Clicked) []Effect {
	switch {
	case m.Focus == OnTerminal:
		return m.Taken.clicked(m, c)
	case c.pressed() || c.Wheel != 0:
		click(m, c)
	}
	return nil
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

// A Tally counts the jobs of the header.
type Tally struct{ Need, Working, Queued, Unknown, Done, Failed int }

// Tally counts what the daemon lists.
func (m *Model) Tally() Tally {
	var t Tally
	waiting := map[wire.JobRef]bool{}
	for i := range m.Requests {
		waiting[m.Requests[i].Session.Ref(m.Requests[i].Job)] = true
	}
	for i := range m.Data.Jobs {
		switch job := &m.Data.Jobs[i]; {
		case job.State.NeedsAttention():
			waiting[job.Ref()] = true
		case waiting[job.Ref()]:
		case job.State == wire.StateQueued:
			t.Queued++
		case job.State == wire.StateUnknown:
			t.Unknown++
		case job.State == wire.StateCompleted:
			t.Done++
		case job.State.Final():
			t.Failed++
		default:
			t.Working++
		}
	}
	t.Need = len(waiting)
	return t
}

// Name is how an item is named to people, and on the command line.
func (m *Model) Name(it *Item) string {
	switch {
	case it == nil:
		return ""
	case it.Job != nil:
		return wording.Name(m.Data, it.Job)
	case it.Run != nil:
		return string(it.Run.Handle)
	case it.Session != nil:
		return orElse(text(it.Session.Name), shortID(it.Session.ID))
	case it.Waiting != nil:
		return shortID(it.Waiting.ID)
	case it.Tree != nil:
		return it.Tree.Path[strings.LastIndexByte(it.Tree.Path, '/')+1:]
	case it.Agent != nil:
		return it.Agent.Name
	}
	return ""
}

// shortID is enough of a session's id to tell it from others.
func shortID(id wire.SessionID) string {
	if s, ok := strings.CutPrefix(string(id), "workbench-"); ok {
		return "wb-" + s[:min(len(s), 6)]
	}
	return string(id)[:min(len(id), 8)]
}

// facts are what a filter can ask of an item.
func (it *Item) facts() query.Facts {
	switch {
	case it.Job != nil:
		j := it.Job
		return query.Facts{State: j.State.String(), Agent: j.Agent, Since: moment(j.UpdatedUnixSeconds), Texts: []string{string(j.Job), j.Task, j.Agent, j.State.String(), text(j.Detail), j.Cwd, text(j.Conversation)}}
	case it.Run != nil:
		r := it.Run
		return query.Facts{State: r.State.String(), Agent: r.Agent, Since: moment(r.StartedUnixSeconds), Texts: []string{string(r.Handle), r.State.String(), r.Cwd, text(r.Detail), text(r.Job), text(r.Conversation)}}
	case it.Session != nil:
		s := it.Session
		return query.Facts{State: s.State.String(), Agent: "", Since: time.Time{}, Texts: []string{string(s.ID), s.Label, s.Workspace, s.State.String()}}
	case it.Waiting != nil:
		w := it.Waiting
		return query.Facts{State: "restorable", Agent: "", Since: moment(w.SavedUnixSeconds), Texts: []string{string(w.ID), w.Label, w.Workspace, text(w.Interrupted)}}
	case it.Tree != nil:
		return query.Facts{State: "", Agent: "", Since: time.Time{}, Texts: []string{it.Tree.Path, it.Tree.Branch, it.Tree.Repo}}
	case it.Agent != nil:
		return query.Facts{State: "", Agent: it.Agent.Name, Since: time.Time{}, Texts: []string{it.Agent.Name, it.Agent.Path}}
	}
	return query.Facts{}
}

// text is an optional text or id, empty when it is absent.
func text[T ~string](s *T) string {
	if s == nil {
		return ""
	}
	return string(*s)
}

// moment is a time of the wire, zero for none.
func moment(unix uint64) time.Time {
	if unix == 0 {
		return time.Time{}
	}
	return time.Unix(int64(unix), 0)
}
