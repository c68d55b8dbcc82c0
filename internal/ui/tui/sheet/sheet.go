// Package sheet writes what the dashboard's panes say of a noun, as lines before they are broken into rows: pure functions
// of what the daemon told. Package model decides which of them is shown.
package sheet

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/widget"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// Stamp is a moment in words that stay true; Unix seconds, and 0 is none.
func Stamp(zone *time.Location, unix uint64) string {
	if unix == 0 {
		return "-"
	}
	return time.Unix(int64(unix), 0).In(zone).Format("2006-01-02 15:04:05")
}

// Facts are names and what they stand for, a line each. Those without a value are left out.
type Facts struct {
	Zone  *time.Location
	Lines []widget.Line
}

// Put adds a fact.
func (f *Facts) Put(name, value string) {
	if value != "" {
		f.Lines = append(f.Lines, widget.Line{Head: canvas.Row{canvas.Cell(canvas.Faint, name, 13), canvas.Text(" ")}, Text: value})
	}
}

// at adds a moment.
func (f *Facts) at(name string, unix uint64) { f.Put(name, Stamp(f.Zone, unix)) }

// Job says everything known of a job.
func (f *Facts) Job(view *wire.Snapshot, j *wire.Job) {
	put := f.Put
	put("job", string(j.Ref()))
	put("task", j.Task)
	put("state", j.State.String())
	put("detail", text(j.Detail))
	put("class", text(j.Class))
	put("agent", j.Agent)
	put("mode", text(j.Mode))
	put("conversation", text(j.Conversation))
	put("run", text(j.Run))
	put("started by", string(j.StartedBy))
	put("cwd", j.Cwd)
	if j.Workspace != j.Cwd {
		put("workspace", j.Workspace)
	}
	if j.Worktree != nil {
		put("worktree", j.Worktree.Path)
		put("branch", j.Worktree.Branch)
	}
	f.at("created", j.CreatedUnixSeconds)
	f.at("changed", j.UpdatedUnixSeconds)
	f.follows(view, j)
	if j.Models != nil {
		put("model", strings.TrimSpace(text(j.Models.Reported)+" "+asked(text(j.Models.Requested))))
	}
	f.evidence(j.Facts)
}

// follows says what a job goes on from, and what goes on from it.
func (f *Facts) follows(view *wire.Snapshot, j *wire.Job) {
	if j.Resumable {
		f.Put("resume", "scv jobs resume "+wording.Name(view, j))
	}
	f.Put("resumed as", text(j.ResumedAs))
	f.Put("resumes", text(j.Resumes))
	f.Put("retries", text(j.Retries))
	f.Put("goes on from", text(j.Forks))
	if j.Attach != nil {
		f.Put("take over", cmp.Or(text(j.Attach.Detail), string(j.Attach.State)))
	}
}

// evidence says what git and exit codes tell of a job, whatever its agent says.
func (f *Facts) evidence(e *wire.JobFacts) {
	if e == nil {
		return
	}
	f.Put("git says", fmt.Sprintf("%s changed, %d of them not committed; %s", plain.Count(e.Files, "file"), e.Uncommitted, plain.Count(e.Commits, "commit")))
	if e.Before > 0 {
		f.Put("", fmt.Sprintf("%s not committed when it began", plain.Count(e.Before, "file")))
	}
	if e.Main != nil && *e.Main {
		f.Put("", "the checkout that its worktree comes from was changed meanwhile")
	}
	f.Put("", text(e.Problem))
	for _, t := range e.Tests {
		result := "passed"
		if !t.Passed {
			result = "FAILED"
			if t.Exit != nil {
				result = fmt.Sprintf("FAILED, exit %d", *t.Exit)
			}
		}
		f.Put("test", result+": "+t.Command)
	}
}

// Run says everything known of a run.
func (f *Facts) Run(r *wire.Run) {
	put := f.Put
	put("run", string(r.Handle))
	put("agent", r.Agent)
	put("transport", r.Transport)
	put("state", r.State.String())
	put("detail", text(r.Detail))
	put("conversation", text(r.Conversation))
	if r.Turn != nil {
		put("turn", fmt.Sprint(*r.Turn))
	}
	put("job", text(r.Job))
	put("cwd", r.Cwd)
	put("live", yes(r.Live))
	put("steerable", yes(r.Steerable))
	f.at("started", r.StartedUnixSeconds)
	f.at("last sign", r.LastActivityUnixSeconds)
}

// Session says everything known of a session.
func (f *Facts) Session(s *wire.Session) {
	f.Put("session", string(s.ID))
	f.Put("serves", s.Label)
	f.Put("workspace", s.Workspace)
	f.Put("state", s.State.String())
	f.Put("detail", text(s.Detail))
	f.Put("live", yes(s.Live))
}

// Waiting says what a session that is gone left.
func (f *Facts) Waiting(w *wire.RestorableSession) {
	f.Put("session", string(w.ID))
	f.Put("serves", w.Label)
	f.Put("workspace", w.Workspace)
	f.Put("waiting", plain.Count(w.Queued, "prompt")+" of a process that is gone")
	f.Put("cut off", text(w.Interrupted))
	f.at("saved", w.SavedUnixSeconds)
}

// asked names a model that was asked for.
func asked(model string) string {
	if model == "" {
		return ""
	}
	return "(asked for: " + model + ")"
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// text is an optional text or id, empty when it is absent.
func text[T ~string](s *T) string {
	if s == nil {
		return ""
	}
	return string(*s)
}
