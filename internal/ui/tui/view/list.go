package view

import (
	"time"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/model"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// A column of the list. The flexible one takes what the others leave.
type column struct {
	name string
	wide int // cells
	flex bool
	cell func(*painter, *model.Item) (canvas.Role, string)
}

type columns []column

// columns are those that fit into so many cells: where there is little room the least important are left out.
func (p *painter) columns(cells int) columns {
	state := column{"STATE", 11, false, stateCell}
	since := column{"SINCE", 5, false, sinceCell}
	detail := column{"DETAIL", max(cells/6, 8), false, detailCell}
	var all columns
	switch p.m.List.View {
	case model.ViewSessions:
		all = columns{state, {"SESSION", 10, false, nameCell}, {"SERVES", 12, false, labelCell}, {"WORKSPACE", 0, true, placeCell}, since}
	case model.ViewWorktrees:
		all = columns{{"CHANGED", 11, false, stateCell}, {"WORKTREE", 24, false, nameCell}, {"BRANCH", 0, true, labelCell}}
	case model.ViewAgents:
		all = columns{state, {"AGENT", 10, false, nameCell}, {"MODE", 10, false, labelCell}, {"PATH, OR HOW TO GET IT", 0, true, placeCell}}
	case model.ViewRuns:
		all = columns{state, {"RUN", 16, false, nameCell}, {"JOB", 8, false, jobCell}, {"CWD", 0, true, placeCell}, since}
	default:
		all = columns{state, {"JOB", nameWidth(p), false, nameCell}, {"AGENT", 8, false, agentCell}, {"TASK", 0, true, taskCell}}
		if cells >= 70 {
			all = append(all, detail)
		}
		all = append(all, since)
	}
	left := cells - 2 // the glyph
	for _, c := range all {
		if !c.flex {
			left -= c.wide + 1
		}
	}
	for i := range all {
		if all[i].flex {
			all[i].wide = max(left-1, 4)
		}
	}
	return all
}

// nameWidth is as wide as the longest name in the list needs, within reason.
func nameWidth(p *painter) int {
	n := 6
	for i := range p.visible() {
		n = max(n, plain.Width(plain.Line(p.m.Name(&p.visible()[i]))))
	}
	return min(n, 16)
}

// visible are the items that the list shows.
func (p *painter) visible() []model.Item {
	items := p.m.List.Items
	top := min(p.m.List.Top, len(items))
	return items[top:min(top+p.l.ListItems(), len(items))]
}

func (c columns) head() canvas.Row {
	row := canvas.Row{canvas.As(canvas.Faint, "! ")}
	for _, col := range c {
		row = append(row, canvas.Cell(canvas.Faint, col.name, col.wide), canvas.Text(" "))
	}
	return row
}

func (p *painter) list(cols columns) []canvas.Row {
	items := p.visible()
	if len(p.m.List.Items) == 0 {
		return p.empty()
	}
	var rows []canvas.Row
	for i := range items {
		it := &items[i]
		row := p.row(cols, it)
		if p.l.Two {
			row = p.short(it)
		}
		chosen := p.m.List.Top+i == p.m.List.At()
		if chosen {
			row = canvas.Fit(row, p.l.List.Cols).Choose()
		}
		rows = append(rows, row)
		if p.l.Two {
			_, task := taskCell(p, it)
			second := canvas.Row{canvas.Text("  " + task)}
			if chosen {
				second = canvas.Fit(second, p.l.List.Cols).Choose()
			}
			rows = append(rows, second)
		}
	}
	return rows
}

func (p *painter) row(cols columns, it *model.Item) canvas.Row {
	row := p.lead(it)
	for _, c := range cols {
		role, text := c.cell(p, it)
		row = append(row, canvas.Cell(role, text, c.wide), canvas.Text(" "))
	}
	return row
}

// lead is the glyph, or the mark of a marked item.
func (p *painter) lead(it *model.Item) canvas.Row {
	role, _ := stateCell(p, it)
	glyph := " "
	switch {
	case p.m.List.Marks[it.Key]:
		return canvas.Row{canvas.As(canvas.Strong, "# ")}
	case it.Job != nil:
		glyph = wording.Glyph(it.Job.State)
	case it.Run != nil:
		glyph = wording.Glyph(it.Run.State)
	case it.Session != nil:
		glyph = wording.Glyph(it.Session.State)
	}
	return canvas.Row{canvas.As(role, glyph+" ")}
}

// short is the first of the two rows of an item on a narrow screen.
func (p *painter) short(it *model.Item) canvas.Row {
	role, state := stateCell(p, it)
	_, since := sinceCell(p, it)
	left := append(p.lead(it), canvas.Cell(role, state, 12), canvas.Text(p.m.Name(it)))
	return canvas.Ends(left, canvas.Row{canvas.Text(since)}, p.l.List.Cols)
}

// stateWord is the word of a state in the list; the one that needs a person stands out by its letters too.
func stateWord(s wire.AgentState) string {
	if s.NeedsAttention() {
		return "WAITS"
	}
	return s.String()
}

func stateRole(s wire.AgentState) canvas.Role {
	switch s {
	case wire.StateAwaitingInput:
		return canvas.Wait
	case wire.StateStarting, wire.StateWorking, wire.StateIdle:
		return canvas.Work
	case wire.StateCompleted:
		return canvas.Done
	case wire.StateUnknown, wire.StateInterrupted:
		return canvas.Doubt
	case wire.StateQueued, wire.StateCancelled:
		return canvas.Body
	default:
	}
	return canvas.Fail
}

func stateCell(_ *painter, it *model.Item) (canvas.Role, string) {
	var s wire.AgentState
	switch {
	case it.Job != nil:
		s = it.Job.State
	case it.Run != nil:
		s = it.Run.State
	case it.Session != nil:
		s = it.Session.State
	case it.Waiting != nil:
		return canvas.Doubt, "left over"
	case it.Tree != nil && it.Tree.Dirty == nil:
		return canvas.Doubt, "unknown"
	case it.Tree != nil && *it.Tree.Dirty:
		return canvas.Wait, "changed"
	case it.Tree != nil:
		return canvas.Body, "clean"
	case it.Agent.Problem != "":
		return canvas.Fail, "problem"
	case it.Agent.Path == "":
		return canvas.Doubt, "missing"
	default:
		return canvas.Done, "found"
	}
	return stateRole(s), stateWord(s)
}

func nameCell(p *painter, it *model.Item) (canvas.Role, string) { return canvas.Body, p.m.Name(it) }

func agentCell(_ *painter, it *model.Item) (canvas.Role, string) {
	switch {
	case it.Job != nil:
		return canvas.Body, it.Job.Agent
	case it.Run != nil:
		return canvas.Body, it.Run.Agent
	}
	return canvas.Body, ""
}

func jobCell(_ *painter, it *model.Item) (canvas.Role, string) {
	if it.Run != nil && it.Run.Job != nil {
		return canvas.Body, string(*it.Run.Job)
	}
	return canvas.Faint, "-"
}

func taskCell(p *painter, it *model.Item) (canvas.Role, string) {
	switch {
	case it.Job != nil:
		return canvas.Body, it.Job.Task
	case it.Run != nil:
		return canvas.Faint, "(serves no job) " + it.Run.Cwd
	case it.Waiting != nil:
		return canvas.Faint, plain.Count(it.Waiting.Queued, "prompt") + " left in a session that is gone"
	}
	return placeCell(p, it)
}

func detailCell(_ *painter, it *model.Item) (canvas.Role, string) {
	switch {
	case it.Job != nil && it.Job.Detail != nil:
		return canvas.Faint, *it.Job.Detail
	case it.Run != nil && it.Run.Detail != nil:
		return canvas.Faint, *it.Run.Detail
	}
	return canvas.Body, ""
}

func labelCell(_ *painter, it *model.Item) (canvas.Role, string) {
	switch {
	case it.Session != nil:
		return canvas.Body, it.Session.Label
	case it.Waiting != nil:
		return canvas.Body, it.Waiting.Label
	case it.Tree != nil:
		return canvas.Body, it.Tree.Branch
	case it.Agent != nil:
		return canvas.Body, it.Agent.Mode
	}
	return canvas.Body, ""
}

func placeCell(_ *painter, it *model.Item) (canvas.Role, string) {
	switch {
	case it.Run != nil:
		return canvas.Body, it.Run.Cwd
	case it.Session != nil:
		return canvas.Body, it.Session.Workspace
	case it.Waiting != nil:
		return canvas.Body, it.Waiting.Workspace
	case it.Agent != nil && it.Agent.Path == "":
		return canvas.Body, it.Agent.Install
	case it.Agent != nil:
		return canvas.Body, it.Agent.Path
	}
	return canvas.Body, ""
}

func sinceCell(p *painter, it *model.Item) (canvas.Role, string) {
	var unix uint64
	switch {
	case it.Job != nil:
		unix = it.Job.UpdatedUnixSeconds
	case it.Run != nil:
		unix = it.Run.StartedUnixSeconds
	case it.Waiting != nil:
		unix = it.Waiting.SavedUnixSeconds
	}
	if unix == 0 {
		return canvas.Faint, "-"
	}
	return canvas.Faint, wording.Clock(time.Unix(int64(unix), 0).In(p.m.Opts.Zone), p.m.At())
}

// empty is what stands in place of a list without rows: what to do next.
func (p *painter) empty() []canvas.Row {
	say := func(texts ...string) []canvas.Row {
		rows := []canvas.Row{{}}
		for _, t := range texts {
			rows = append(rows, canvas.Row{canvas.Text("  " + t)})
		}
		return rows
	}
	l := &p.m.List
	switch {
	case l.Filter != "" || l.Mine:
		return say("Nothing matches. esc shows all again.")
	case l.View == model.ViewAll || l.View == model.ViewJobs:
		return firstRun(p, say)
	case l.View == model.ViewAgents:
		return say("Looking for agents.")
	}
	return say("None.")
}

// firstRun tells who opens the dashboard for the first time how to begin.
func firstRun(p *painter, say func(...string) []canvas.Row) []canvas.Row {
	var found, missing []model.Agent
	for _, a := range p.m.Agents {
		switch {
		case a.BuiltIn():
		case a.Path == "":
			missing = append(missing, a)
		default:
			found = append(found, a)
		}
	}
	switch {
	case !p.m.Looked:
		return say("No jobs yet.")
	case len(found) > 0:
		return say("No jobs yet. n starts one with "+found[0].Name+"; it goes on when you leave.", "See it work without an agent: scv demo")
	}
	rows := say("No agent is installed. Get one of these, then sign in:")
	for _, a := range missing {
		rows = append(rows, canvas.Row{canvas.Text("    "), canvas.Cell(canvas.Strong, a.Name, 10), canvas.Text(a.Install)})
	}
	return append(rows, canvas.Row{}, canvas.Row{canvas.Text("  See it work without one: scv demo   Or here: n, agent demo")}, canvas.Row{canvas.Text("  Look again: 6")})
}
