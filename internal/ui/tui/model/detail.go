package model

import (
	"fmt"
	"time"

	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/widget"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// A Pane is what the detail shows of the selected item.
type Pane uint8

// The panes of a job, in the order of tab. Other items have Info, and runs Log and Info.
const (
	PaneLog Pane = iota
	PaneResult
	PaneInfo
	PaneWhy
	PaneUsage
	Panes
)

// String is the pane's name on its title.
func (p Pane) String() string { return [...]string{"Log", "Result", "Info", "Why", "Usage", ""}[p] }

// A Detail is what is shown of the selected item. What is loaded has a number; what comes for an older one is dropped.
type Detail struct {
	Pane   Pane
	Open   bool // in place of the list, where both do not fit
	Body   widget.Scroll
	Note   string // why the body is empty or incomplete
	Search string
	key    string  // what Body shows
	source uint64  // number of the load that may still add to it
	run    string  // run whose log is followed
	more   *uint64 // where the rest of a reply begins
	mine   bool    // the log's lines are the job's
	want   *wire.JobID
	height int
}

// PanesOf are the panes that an item has.
func PanesOf(it *Item) []Pane {
	switch {
	case it == nil:
		return nil
	case it.Job != nil:
		return []Pane{PaneLog, PaneResult, PaneInfo, PaneWhy, PaneUsage}
	case it.Run != nil:
		return []Pane{PaneLog, PaneInfo}
	}
	return []Pane{PaneInfo}
}

// Shown is the pane that is shown of an item: the chosen one if it has it.
func (d *Detail) Shown(it *Item) Pane {
	for _, p := range PanesOf(it) {
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
	it := m.List.Selected()
	if it == nil || l.Small {
		return d.unfollow("")
	}
	pane := d.Shown(it)
	switch pane {
	case PaneLog:
		return d.settleLog(m, it)
	case PaneResult, PaneWhy:
		// The state stands in the key: a job that ends is asked again.
		key := fmt.Sprintf("%d %s %s %d %t", pane, it.Key, it.Job.State, it.Job.UpdatedUnixSeconds, m.Link.Up)
		out := d.unfollow("")
		if d.key == key {
			return out
		}
		same := len(d.key) > 0 && d.key[:2+len(it.Key)] == key[:2+len(it.Key)]
		d.load(m, pane, key, same)
		if pane == PaneWhy {
			return append(out, d.askWhy(it.Job))
		}
		return append(out, d.askResult(it.Job, 0))
	default:
	}
	out := d.unfollow("")
	key := fmt.Sprintf("%d %s", pane, it.Key)
	lines := infoLines(m, it)
	if pane == PaneUsage {
		lines = usageLines(m, it.Job)
	}
	if d.key != key {
		d.load(m, pane, key, false)
	}
	d.Note = ""
	d.Body.Set(lines)
	return out
}

// load begins something else. Of the same thing at another time, the place is kept.
func (d *Detail) load(m *Model, pane Pane, key string, same bool) {
	m.sources++
	d.source, d.key, d.more = m.sources, key, nil
	d.Note = "loading"
	if !same {
		d.Body = widget.NewScroll(d.Body.Width(), pane == PaneLog)
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
	d.Body.Move(by, d.height, it != nil && d.Shown(it) == PaneLog)
	if by > 0 && d.more != nil && d.Body.Below(d.height) < d.height && it != nil && it.Job != nil {
		after := *d.more
		d.more = nil
		return []Effect{d.askResult(it.Job, after)}
	}
	return nil
}
