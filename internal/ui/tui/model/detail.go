package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/sheet"
	"scv/internal/ui/tui/widget"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// A Pane is what the detail shows of the selected item.
type Pane uint8

// The panes of a job, in the order of tab. Other items have Info, runs Log too, and worktrees Forecast.
const (
	PaneLog Pane = iota
	PaneDiff
	PaneResult
	PaneInfo
	PaneWhy
	PaneUsage
	PaneForecast
	Panes
)

// String is the pane's name on its title.
func (p Pane) String() string {
	return [...]string{"Log", "Diff", "Result", "Info", "Why", "Usage", "Forecast", ""}[p]
}

// A Detail is what is shown of the selected item. What is loaded has a number; what comes for an older one is dropped.
type Detail struct {
	Pane   Pane
	Open   bool           // in place of the list, where both do not fit
	Body   *widget.Scroll // never nil; of an open session its own
	Note   string         // why the body is empty or incomplete
	Search string
	key    string  // what Body shows
	source uint64  // number of the load that may still add to it
	run    string  // run whose log is followed
	more   *uint64 // where the rest of a reply begins
	mine   bool    // the log's lines are the job's
	want   *wire.JobID
	height int
}

// PanesOf are the panes that an item has, of those that this daemon can fill.
func (m *Model) PanesOf(it *Item) []Pane {
	var panes []Pane
	switch {
	case it == nil:
		return nil
	case it.Job != nil:
		panes = []Pane{PaneLog, PaneDiff, PaneResult, PaneInfo, PaneWhy, PaneUsage}
		if it.Job.Worktree != nil {
			panes = append(panes, PaneForecast)
		}
	case it.Run != nil:
		panes = []Pane{PaneLog, PaneInfo}
	case it.Tree != nil:
		panes = []Pane{PaneInfo, PaneForecast}
	default:
		panes = []Pane{PaneInfo}
	}
	return slices.DeleteFunc(panes, func(p Pane) bool {
		return p == PaneDiff && !m.Has(wire.FeatureDiff) || p == PaneForecast && !m.Has(wire.FeatureForecast)
	})
}

// Shown is the pane that is shown of an item: the chosen one if it has it.
func (m *Model) Shown(it *Item) Pane {
	d := &m.Detail
	for _, p := range m.PanesOf(it) {
		if p == d.Pane {
			return p
		}
	}
	return PaneInfo
}

// settle loads what the pane is to show and drops what it showed before. It asks for nothing while nothing changed.
func (d *Detail) settle(m *Model, l Layout) []Effect {
	d.height = max(l.Detail.Rows-1, 1)
	d.Body.SetWidth(max(l.Detail.Cols, MinCols-1))
	if m.Chat.Open() && !l.Small {
		return m.Chat.settle(m, l)
	}
	it := m.List.Selected()
	if it == nil || l.Small {
		return d.unfollow("")
	}
	pane := m.Shown(it)
	var lines []widget.Line
	switch pane {
	case PaneLog:
		return d.settleLog(m, it)
	case PaneResult, PaneWhy, PaneDiff:
		return d.settleAsked(m, it, pane)
	case PaneUsage:
		lines = sheet.Usage(m.Data, it.Job, m.Opts.Zone)
	case PaneForecast:
		lines = sheet.Forecast(m.Data.Forecast, jobOf(it), m.Opts.Zone)
	default:
		lines = infoLines(m, it)
	}
	out := d.unfollow("")
	key := fmt.Sprintf("%d %s", pane, it.Key)
	if d.key != key {
		d.load(m, pane, key, false)
	}
	d.Note = ""
	d.Body.Set(lines)
	return out
}

// settleAsked asks the daemon for what the pane shows. The state stands in the key: a job that ends is asked again.
func (d *Detail) settleAsked(m *Model, it *Item, pane Pane) []Effect {
	key := fmt.Sprintf("%d %s %s %d %t", pane, it.Key, it.Job.State, it.Job.UpdatedUnixSeconds, m.Link.Up)
	out := d.unfollow("")
	if d.key == key {
		return out
	}
	d.load(m, pane, key, strings.HasPrefix(d.key, fmt.Sprintf("%d %s ", pane, it.Key)))
	switch pane {
	case PaneWhy:
		return append(out, d.askWhy(it.Job))
	case PaneDiff:
		return append(out, d.askDiff(it.Job))
	default:
	}
	return append(out, d.askResult(it.Job, 0))
}

// jobOf is the job that an item is about, empty when it is about none or several.
func jobOf(it *Item) wire.JobRef {
	switch {
	case it.Job != nil:
		return it.Job.Ref()
	case it.Tree != nil && len(it.Tree.Jobs) == 1:
		return it.Tree.Jobs[0]
	}
	return ""
}

// load begins something else. Of the same thing at another time, the place is kept.
func (d *Detail) load(m *Model, pane Pane, key string, same bool) {
	m.sources++
	d.source, d.key, d.more = m.sources, key, nil
	d.Note = "loading"
	if !same {
		d.Body = new(widget.NewScroll(d.Body.Width(), pane == PaneLog))
	}
}

func (d *Detail) unfollow(run string) []Effect {
	if d.run == run {
		return nil
	}
	d.run = run
	return []Effect{Follow{Source: d.source, Run: wire.RunHandle(run)}}
}

// settleLog follows the newest run of a job, or a run.
func (d *Detail) settleLog(m *Model, it *Item) []Effect {
	var run string
	d.want = nil
	switch {
	case it.Run != nil:
		run = string(it.Run.Handle)
	default:
		if runs := wording.RunsOf(m.Data, it.Job); len(runs) > 0 {
			run = string(runs[len(runs)-1])
		}
		d.want = &it.Job.Job
	}
	key := fmt.Sprintf("%d %s %s", PaneLog, it.Key, run)
	if d.key == key && d.run == run {
		return nil
	}
	d.load(m, PaneLog, key, false)
	d.mine = true
	if run == "" {
		d.Note = "no log yet"
		if it.Job.Detail != nil {
			d.Note += ": " + *it.Job.Detail
		}
	}
	d.run = "" // asked for anew also when it is the same run, under another number
	return append(d.unfollow(run), d.stop(run)...)
}

// stop ends following when there is nothing to follow.
func (d *Detail) stop(run string) []Effect {
	if run != "" {
		return nil
	}
	return []Effect{Follow{Source: d.source}}
}

// logged takes lines of the log that is shown.
func (d *Detail) logged(m *Model, msg Logged) {
	if msg.Source != d.source {
		return
	}
	d.Note = ""
	if msg.Err != nil {
		d.Note = sentence(msg.Err)
	}
	var lines []widget.Line
	for i := range msg.Events {
		e := &msg.Events[i]
		if e.Kind == wire.EventTurnStarted && e.Job != nil && d.want != nil {
			d.mine = *e.Job == *d.want
		}
		if d.mine {
			lines = append(lines, logLine(m, e))
		}
	}
	d.Body.Add(lines...)
}

func logLine(m *Model, e *wire.RunEvent) widget.Line {
	said := e.Text
	if e.Status != nil {
		said = *e.Status + "  " + said
	}
	role, kind := canvas.Body, canvas.Body
	switch e.Kind {
	case wire.EventTool:
		kind = canvas.Work
	case wire.EventToolFailed:
		kind = canvas.Fail
	case wire.EventApprovalRequested:
		kind = canvas.Wait
	case wire.EventTurnStarted, wire.EventTurnEnded:
		kind, role = canvas.Strong, canvas.Strong
	case wire.EventRunStarted, wire.EventRunEnded, wire.EventNote:
		kind, role = canvas.Faint, canvas.Faint
	default:
	}
	clock := time.UnixMilli(int64(e.TsMs)).In(m.Opts.Zone).Format("15:04:05")
	return widget.Line{
		Head: canvas.Row{canvas.As(canvas.Faint, clock+" "), canvas.Cell(kind, wording.Kind(e.Kind), wording.KindWidth), canvas.Text(" ")},
		Role: role, Text: said,
	}
}

// Height is how many rows of the body are shown.
func (d *Detail) Height() int { return d.height }

// move turns the pane, and asks for the rest of a reply when its end comes near.
func (d *Detail) move(m *Model, by int) []Effect {
	it := m.List.Selected()
	d.Body.Move(by, d.height, m.Chat.Open() || it != nil && m.Shown(it) == PaneLog)
	if by > 0 && d.more != nil && d.Body.Below(d.height) < d.height && it != nil && it.Job != nil {
		after := *d.more
		d.more = nil
		return []Effect{d.askResult(it.Job, after)}
	}
	return nil
}

// askWhy asks what the state of a job rests on.
func (d *Detail) askWhy(job *wire.Job) Effect {
	source := d.source
	return Call{Cmd: wire.Why{Session: job.Session, Job: job.Job}, Then: func(m *Model, st *wire.DaemonStatus, err error) []Effect {
		d := &m.Detail
		if d.source != source {
			return nil
		}
		if err != nil || st.Why == nil {
			d.Note = sentence(err)
			return nil
		}
		d.Note = ""
		lines := []widget.Line{{Role: canvas.Strong, Text: fmt.Sprintf("%s is %s since %s. It rests on:", st.Why.Job, st.Why.State, m.stamp(st.Why.SinceUnixSeconds))}}
		for _, e := range st.Why.Evidence {
			clock := time.UnixMilli(int64(e.AtMs)).In(m.Opts.Zone).Format("15:04:05")
			lines = append(lines, widget.Line{Head: canvas.Row{canvas.As(canvas.Faint, clock+" "), canvas.Cell(canvas.Work, e.Source, 8), canvas.Text(" ")}, Text: e.Fact})
		}
		d.Body.Set(lines)
		return nil
	}}
}

// askDiff asks what a job has changed: how much of each file, then each line.
func (d *Detail) askDiff(job *wire.Job) Effect {
	source, id := d.source, job.Job
	return Compare{Session: job.Session, Job: id, Then: func(m *Model, diff *Difference, err error) []Effect {
		d := &m.Detail
		if d.source != source {
			return nil
		}
		if err != nil {
			d.Note = sentence(err)
			return nil
		}
		if d.Note = ""; diff.Patch == "" {
			d.Body.Set(nil)
			d.Note = fmt.Sprintf("%s has changed nothing since %.12s", id, diff.Base)
			return nil
		}
		lines := append(sheet.Diff(diff.Stat, true), widget.Line{})
		lines = append(lines, sheet.Diff(diff.Patch, false)...)
		if diff.Left > 0 {
			lines = append(lines, widget.Line{}, widget.Line{Role: canvas.Wait, Text: fmt.Sprintf("%s more; whole: scv jobs diff %s", plain.Size(diff.Left), id)})
		}
		d.Body.Set(lines)
		return nil
	}}
}

// askResult asks for a part of what a job said; a part comes after the one before.
func (d *Detail) askResult(job *wire.Job, after uint64) Effect {
	source := d.source
	return Call{Cmd: wire.JobResultCommand{Session: job.Session, Job: job.Job, After: after}, Then: func(m *Model, st *wire.DaemonStatus, err error) []Effect {
		d := &m.Detail
		if d.source != source {
			return nil
		}
		if err != nil || st.JobResult == nil {
			d.Note = sentence(err)
			return nil
		}
		d.took(st.JobResult, after)
		if d.more != nil && d.Body.Len() < 3*d.height { // a page that is too short to scroll
			next := *d.more
			d.more = nil
			return []Effect{d.askResult(job, next)}
		}
		return nil
	}}
}

// took puts a part of a reply below what was there.
func (d *Detail) took(r *wire.JobResult, after uint64) {
	d.Note, d.more = "", r.Next
	if after == 0 {
		d.Body.Set(nil)
		switch {
		case r.Reply == nil && !r.State.Final():
			d.Note = "no reply yet: the job is " + r.State.String()
		case r.Reply == nil:
			d.Note = "it ended without a reply"
		}
		if r.Detail != nil && *r.Detail != "" {
			d.Body.Add(widget.Line{Role: canvas.Faint, Text: *r.Detail})
		}
		if r.Error != nil {
			d.Body.AddText(canvas.Fail, *r.Error, false)
		}
	}
	d.Body.AddText(canvas.Body, text(r.Reply), after > 0)
	if r.Truncated && r.Next == nil {
		d.Note = "the daemon keeps no more of it"
	}
}

// stamp is a moment in words that stay true.
func (m *Model) stamp(unix uint64) string { return sheet.Stamp(m.Opts.Zone, unix) }

// infoLines is everything known about an item, a fact a line.
func infoLines(m *Model, it *Item) []widget.Line {
	f := sheet.Facts{Zone: m.Opts.Zone}
	switch {
	case it.Job != nil:
		f.Job(m.Data, it.Job)
	case it.Run != nil:
		f.Run(it.Run)
	case it.Session != nil:
		f.Session(it.Session)
	case it.Waiting != nil:
		f.Waiting(it.Waiting)
	case it.Tree != nil:
		f.Tree(it.Tree)
	case it.Agent != nil:
		agentInfo(it.Agent, f.Put)
	}
	return f.Lines
}

func agentInfo(a *Agent, put func(name, value string)) {
	put("agent", a.Name)
	put("found", orElse(a.Path, "no"))
	put("mode", a.Mode)
	put("model", a.Model)
	if a.Path == "" {
		put("install", a.Install)
	}
	put("sign in", a.SignIn)
	put("problem", a.Problem)
	put("check", "scv agents check "+a.Name)
}
