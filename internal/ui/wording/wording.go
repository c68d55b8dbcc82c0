// Package wording holds the words that every surface of SCV uses for the same things, so that a list, a screen and a page
// never name one state in two ways. Its functions are pure.
package wording

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/internal/wire"
)

// Glyph is the mark in front of a state's word.
func Glyph(s wire.AgentState) string {
	switch s {
	case wire.StateAwaitingInput:
		return "!"
	case wire.StateStarting, wire.StateWorking, wire.StateIdle:
		return "*"
	case wire.StateQueued:
		return "."
	case wire.StateCompleted:
		return "="
	case wire.StateUnknown:
		return "?"
	default:
	}
	return "x"
}

// Ago writes an age in its largest unit: 4s, 3m, 2h, 5d. It is for output that is printed once; what stays on a screen
// shows Clock.
func Ago(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	}
	return fmt.Sprintf("%dd", int(d/(24*time.Hour)))
}

// Clock writes a moment in five or six cells for output that stays: the time of a moment of the day of now, else the day
// and, in another year, the year. Zero is "-".
func Clock(at, now time.Time) string {
	if at.IsZero() || at.Unix() == 0 {
		return "-"
	}
	y, m, d := at.Date()
	ny, nm, nd := now.Date()
	switch {
	case y == ny && m == nm && d == nd:
		return at.Format("15:04")
	case y == ny:
		return at.Format("Jan02")
	}
	return at.Format("2006")
}

// Kind is the word of a log's line, at most KindWidth cells.
func Kind(k wire.RunEventKind) string {
	switch k {
	case wire.EventRunStarted:
		return "run"
	case wire.EventTurnStarted:
		return "prompt"
	case wire.EventToolFailed:
		return "failed"
	case wire.EventApprovalRequested:
		return "asks"
	case wire.EventApprovalResolved:
		return "answer"
	case wire.EventTurnEnded:
		return "turn end"
	case wire.EventRunEnded:
		return "run end"
	case wire.EventTruncated:
		return "cut"
	default:
	}
	return string(k)
}

// KindWidth is the column of the kinds in a log, in cells.
const KindWidth = 8

// RunsOf lists the runs that served a job, oldest first.
func RunsOf(view *wire.Snapshot, job *wire.Job) []wire.RunHandle {
	var runs []wire.Run
	for _, run := range view.Runs {
		if run.Session == job.Session && (run.Job != nil && *run.Job == job.Job || slices.Contains(run.Jobs, job.Job)) {
			runs = append(runs, run)
		}
	}
	slices.SortStableFunc(runs, func(a, b wire.Run) int { return cmp.Compare(a.StartedUnixSeconds, b.StartedUnixSeconds) })
	var out []wire.RunHandle
	for _, run := range runs {
		out = append(out, run.Handle)
	}
	if job.Run != nil && !slices.Contains(out, *job.Run) {
		out = append(out, *job.Run)
	}
	return out
}

// Name is how a job is named to people: its number, which is one job everywhere in a home, unless another session of this
// view has the same (an upstream daemon counts in each session).
func Name(view *wire.Snapshot, job *wire.Job) string {
	for i := range view.Jobs {
		if other := &view.Jobs[i]; other.Job == job.Job && other.Session != job.Session {
			return string(job.Ref())
		}
	}
	return string(job.Job)
}

// Modes are the permission modes of a job, in the order in which they are offered.
func Modes() []string { return []string{"auto", "on-risk", "always", "read-only"} }

// Used writes the figures of a job that its agent told; empty when it told none. One that is absent is not known, which is
// not 0.
func Used(u *wire.JobUsage) string {
	if u == nil {
		return ""
	}
	var parts []string
	if u.InputTokens != nil {
		parts = append(parts, fmt.Sprintf("%d tokens in", *u.InputTokens))
	}
	if u.OutputTokens != nil {
		parts = append(parts, fmt.Sprintf("%d out", *u.OutputTokens))
	}
	if u.CostUSD != nil {
		parts = append(parts, fmt.Sprintf("$%.4f", *u.CostUSD))
	}
	return strings.Join(parts, ", ")
}

// Aside reports whether an agent comes with SCV, the demo agents and SCV's own model: it works only for who names it, and
// counts as none where agents are looked for.
func Aside(agent string) bool { return strings.HasPrefix(agent, "demo") || agent == "scv" }
