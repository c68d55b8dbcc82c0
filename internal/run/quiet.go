package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"scv/internal/agent"
	"scv/internal/run/control"
	"scv/internal/run/proc"
	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// Bounds of a notice: the processes that it names, and its words on the tool call in bytes.
const (
	maxShown = 3
	maxTool  = 120
)

// sayQuiet tells once that a running turn has been silent: since when, what tool call is open, which processes there are
// and what they worked, and how to end the turn. It is advice: nothing is ended for it. With a tool call open it is still
// at work, and only its detail says so; with none it is unknown.
func (r talk) sayQuiet() {
	c := &r.clocks
	c.said = true
	since := "no report since " + c.signAt.Local().Format("15:04")
	if c.tool != "" {
		since += " while this runs: " + agent.Shorten(c.tool, maxTool)
	}
	since += "; " + r.processes()
	if w := r.c.Hub.Wishes(r.h); w.Turn != nil {
		since += fmt.Sprintf("; to end the turn: scv jobs cancel %s", wire.JobID(w.Turn.Job))
	}
	if c.tool == "" {
		r.report(row.Life{Kind: row.LifeUnreachable, Detail: since})
		return
	}
	_, seq := r.fold.Read()
	r.quiet++
	r.c.Hub.Report(r.h, []row.Step{{
		Kind: row.StepRetry, Pos: row.Pos{Frame: seq, Index: 1<<31 + r.quiet}, At: r.c.Now(), Turn: c.running, Detail: since,
	}})
}

// processes says what of the run is alive, besides its shim, and how much each has worked: the youngest first, since those
// are what a tool call started.
func (r talk) processes() string {
	shim, err := control.ReadShim(r.dir)
	if err != nil || shim.Agent == 0 {
		return "its process runs"
	}
	below, err := proc.Descendants(shim.Agent)
	if err != nil {
		return "its process runs"
	}
	if len(below) == 0 {
		return "its process runs (" + worked(shim.Agent) + ") and has started no other"
	}
	var shown []string
	for i := len(below) - 1; i >= 0 && len(shown) < maxShown; i-- {
		p := below[i]
		name := plain.Line(r.c.Mask().Text(p.Name))
		shown = append(shown, fmt.Sprintf("%s (process %d, %s)", name, p.PID, worked(p.PID)))
	}
	text := "below it run " + strings.Join(shown, ", ")
	if more := len(below) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// worked is the time that a process has had on a processor.
func worked(pid int) string {
	used, known := proc.Worked(pid)
	if !known {
		return "CPU time not known"
	}
	return fmt.Sprintf("%s of CPU time", used.Round(100*time.Millisecond))
}

// look has the shim see where processes of the run listen. What is new comes back through the spool.
func (r talk) look(ctx context.Context) error {
	r.clocks.look = time.Time{}
	r.clocks.looks++
	if r.fold.Exited() || r.deaf {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, r.c.Timing.Ask)
	defer cancel()
	err := r.link.Look(bounded)
	if r.deaf = errors.Is(err, control.ErrUnknownRequest); r.deaf {
		return nil
	}
	if refused, ok := errors.AsType[*control.RefusedError](err); ok {
		r.log.Debug("it is not known where processes of a run listen", "error", refused)
		return nil
	}
	return err
}
