package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/widget"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

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
func (m *Model) stamp(unix uint64) string {
	if unix == 0 {
		return "-"
	}
	return time.Unix(int64(unix), 0).In(m.Opts.Zone).Format("2006-01-02 15:04:05")
}

// infoLines is everything known about an item, a fact a line.
func infoLines(m *Model, it *Item) []widget.Line {
	var out []widget.Line
	put := func(name, value string) {
		if value != "" {
			out = append(out, widget.Line{Head: canvas.Row{canvas.Cell(canvas.Faint, name, 13), canvas.Text(" ")}, Text: value})
		}
	}
	switch {
	case it.Job != nil:
		jobInfo(m, it.Job, put)
	case it.Run != nil:
		runInfo(m, it.Run, put)
	case it.Session != nil:
		s := it.Session
		put("session", string(s.ID))
		put("serves", s.Label)
		put("workspace", s.Workspace)
		put("state", s.State.String())
		put("detail", text(s.Detail))
		put("live", yes(s.Live))
	case it.Waiting != nil:
		w := it.Waiting
		put("session", string(w.ID))
		put("serves", w.Label)
		put("workspace", w.Workspace)
		put("waiting", fmt.Sprintf("%d prompts of a process that is gone", w.Queued))
		put("cut off", text(w.Interrupted))
		put("saved", m.stamp(w.SavedUnixSeconds))
	case it.Tree != nil:
		put("path", it.Tree.Path)
		put("branch", it.Tree.Branch)
		put("repository", it.Tree.Repo)
		put("changed", changed(it.Tree.Dirty))
		for _, job := range it.Tree.Jobs {
			put("job", string(job))
		}
	case it.Agent != nil:
		agentInfo(m, it.Agent, put)
	}
	return out
}

func jobInfo(m *Model, j *wire.Job, put func(name, value string)) {
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
	put("created", m.stamp(j.CreatedUnixSeconds))
	put("changed", m.stamp(j.UpdatedUnixSeconds))
	if j.Resumable {
		put("resume", "scv jobs resume "+wording.Name(m.Data, j))
	}
	put("resumed as", text(j.ResumedAs))
	put("resumes", text(j.Resumes))
	put("retries", text(j.Retries))
	put("goes on from", text(j.Forks))
	if j.Models != nil {
		put("model", strings.TrimSpace(text(j.Models.Reported)+" "+asked(text(j.Models.Requested))))
	}
}

func runInfo(m *Model, r *wire.Run, put func(name, value string)) {
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
	put("started", m.stamp(r.StartedUnixSeconds))
	put("last sign", m.stamp(r.LastActivityUnixSeconds))
}

func agentInfo(m *Model, a *Agent, put func(name, value string)) {
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

func changed(dirty *bool) string {
	if dirty == nil {
		return "git could not tell"
	}
	return yes(*dirty)
}

// usageLines says what a job used, and all listed jobs of each agent.
func usageLines(m *Model, job *wire.Job) []widget.Line {
	out := []widget.Line{{Role: canvas.Strong, Text: wording.Name(m.Data, job) + ": " + usageText(job.Usage)}}
	sums := map[string]*wire.JobUsage{}
	counts := map[string]int{}
	for i := range m.Data.Jobs {
		j := &m.Data.Jobs[i]
		counts[j.Agent]++
		if j.Usage != nil {
			if sums[j.Agent] == nil {
				sums[j.Agent] = &wire.JobUsage{}
			}
			addUsage(sums[j.Agent], j.Usage)
		}
	}
	out = append(out, widget.Line{}, widget.Line{Role: canvas.Faint, Text: "All jobs that are listed, as far as their agents said:"})
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		head := canvas.Row{canvas.Cell(canvas.Body, name, 13), canvas.Text(" ")}
		out = append(out, widget.Line{Head: head, Text: fmt.Sprintf("%d jobs, %s", counts[name], usageText(sums[name]))})
	}
	return out
}

func addUsage(to, u *wire.JobUsage) {
	sum := func(to **uint64, n *uint64) {
		if n != nil {
			if *to == nil {
				*to = new(uint64)
			}
			**to += *n
		}
	}
	sum(&to.InputTokens, u.InputTokens)
	sum(&to.OutputTokens, u.OutputTokens)
	if u.CostUSD != nil {
		if to.CostUSD == nil {
			to.CostUSD = new(float64)
		}
		*to.CostUSD += *u.CostUSD
	}
}

// usageText names the figures that are known; one that is absent is not known, which is not 0.
func usageText(u *wire.JobUsage) string {
	if u == nil {
		return "usage not known"
	}
	var parts []string
	if u.InputTokens != nil {
		parts = append(parts, fmt.Sprintf("%d tokens in", *u.InputTokens))
	}
	if u.OutputTokens != nil {
		parts = append(parts, fmt.Sprintf("%d out", *u.OutputTokens))
	}
	if u.CostUSD != nil {
		parts = append(parts, fmt.Sprintf("%.4f USD", *u.CostUSD))
	}
	if len(parts) == 0 {
		return "usage not known"
	}
	return strings.Join(parts, ", ")
}
