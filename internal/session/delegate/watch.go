package delegate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/wire"
)

// find returns the named jobs of the session; one that is not there is a *tool.Failure.
func find(o Options, ids []wire.JobID) ([]wire.Job, error) {
	all := o.Workbench.Jobs(o.Session)
	var out []wire.Job
	for _, id := range ids {
		i := slices.IndexFunc(all, func(j wire.Job) bool { return j.Job == id })
		if i < 0 {
			return nil, &tool.Failure{Kind: wire.ToolInvalidArguments, Sentence: fmt.Sprintf("There is no job %.40q of this session.", string(id))}
		}
		out = append(out, all[i])
	}
	return out, nil
}

// open are the session's jobs that have not ended, oldest first.
func open(o Options) (ids []wire.JobID) {
	for _, j := range slices.Backward(o.Workbench.Jobs(o.Session)) {
		if !j.State.Final() {
			ids = append(ids, j.Job)
		}
	}
	return ids
}

// told is one job in words for the model.
func told(ctx context.Context, o Options, j *wire.Job) string {
	text := fmt.Sprintf("%s (%s) is %s", j.Job, j.Agent, j.State)
	if j.Detail != nil {
		text += ": " + *j.Detail
	}
	if j.State.Final() {
		text += "\n" + o.Workbench.Reply(ctx, o.Session, j.Job)
	}
	return text
}

// await waits for the end of jobs, for a time at most, and tells what they came to.
func await(ctx context.Context, o Options, name string, ids []wire.JobID, most time.Duration, env tool.Env) tool.Result {
	wake, done := o.Workbench.Changed()
	defer done()
	timer := time.NewTimer(most)
	defer timer.Stop()
	over := false
	for {
		jobs, err := find(o, ids)
		if err != nil {
			return tool.Failed(err)
		}
		running := 0
		for i := range jobs {
			if !jobs[i].State.Final() {
				running++
				env.Progress(told(ctx, o, &jobs[i]))
			}
		}
		if running == 0 || over || ctx.Err() != nil {
			return ended(ctx, o, name, jobs, running)
		}
		select {
		case <-wake:
		case <-timer.C:
			over = true
		case <-ctx.Done():
		}
	}
}

func ended(ctx context.Context, o Options, name string, jobs []wire.Job, running int) tool.Result {
	var r tool.Result
	var parts []string
	for i := range jobs {
		parts = append(parts, told(ctx, o, &jobs[i]))
		r.Jobs = append(r.Jobs, change(name, &jobs[i]))
	}
	r.Text = strings.Join(parts, "\n\n")
	switch {
	case ctx.Err() != nil:
		r.Text, r.Error = "The wait was cancelled; the jobs go on.\n"+r.Text, wire.ToolCancelled
	case running > 0:
		r.Text, r.Error = fmt.Sprintf("%d of %d have not ended in that time; they go on.\n%s", running, len(jobs), r.Text), wire.ToolLimit
	}
	return r
}

// wait waits for jobs.
type wait struct{ o Options }

type waitArgs struct {
	Jobs    []wire.JobID `json:"jobs"`
	Seconds int          `json:"timeout_seconds"`
}

// Spec implements tool.Tool.
func (t wait) Spec() provider.Tool {
	return provider.Tool{
		Name: "agent_wait", Description: "Wait for jobs that you started, and return what they said.",
		Schema: words(`{"type":"object","properties":{
"jobs":{"type":"array","items":{"type":"string"},"description":"such as job-3; default: all that run"},
"timeout_seconds":{"type":"integer","minimum":1}},"additionalProperties":false}`),
	}
}

// Parallel implements tool.Tool.
func (t wait) Parallel() bool { return true }

// Risk implements tool.Tool.
func (t wait) Risk(raw json.RawMessage) (tool.Assessment, error) {
	var a waitArgs
	if err := tool.Decode(raw, &a); err != nil {
		return tool.Assessment{}, err
	}
	_, err := find(t.o, a.Jobs)
	return tool.Assessment{Risk: tool.ReadOnly, Summary: "wait for jobs"}, err
}

// Run implements tool.Tool.
func (t wait) Run(ctx context.Context, raw json.RawMessage, env tool.Env) tool.Result {
	var a waitArgs
	if err := tool.Decode(raw, &a); err != nil {
		return tool.Failed(err)
	}
	if len(a.Jobs) == 0 {
		if a.Jobs = open(t.o); len(a.Jobs) == 0 {
			return tool.Result{Text: "No job of this session runs."}
		}
	}
	most := t.o.Timeout
	if a.Seconds > 0 {
		most = min(time.Duration(a.Seconds)*time.Second, t.o.MaxWait)
	}
	return await(ctx, t.o, "agent_wait", a.Jobs, most, env)
}

// status looks at jobs.
type status struct{ o Options }

type jobArgs struct {
	Job wire.JobID `json:"job"`
}

// Spec implements tool.Tool.
func (t status) Spec() provider.Tool {
	return provider.Tool{
		Name: "agent_status", Description: "Look at the jobs that you started: their state, and what a finished one said.",
		Schema: words(`{"type":"object","properties":{"job":{"type":"string","description":"default: all"}},"additionalProperties":false}`),
	}
}

// Parallel implements tool.Tool.
func (t status) Parallel() bool { return true }

// Risk implements tool.Tool.
func (t status) Risk(raw json.RawMessage) (tool.Assessment, error) {
	var a jobArgs
	return tool.Assessment{Risk: tool.ReadOnly, Summary: "look at jobs"}, tool.Decode(raw, &a)
}

// Run implements tool.Tool.
func (t status) Run(ctx context.Context, raw json.RawMessage, _ tool.Env) tool.Result {
	var a jobArgs
	if err := tool.Decode(raw, &a); err != nil {
		return tool.Failed(err)
	}
	if a.Job != "" {
		jobs, err := find(t.o, []wire.JobID{a.Job})
		if err != nil {
			return tool.Failed(err)
		}
		return tool.Result{Text: told(ctx, t.o, &jobs[0])}
	}
	var lines []string
	for _, j := range t.o.Workbench.Jobs(t.o.Session) {
		lines = append(lines, fmt.Sprintf("%s (%s) is %s: %s", j.Job, j.Agent, j.State, j.Task))
	}
	if len(lines) == 0 {
		return tool.Result{Text: "This session has started no jobs."}
	}
	return tool.Result{Text: strings.Join(lines, "\n")}
}

// cancel ends a job.
type cancel struct{ o Options }

// Spec implements tool.Tool.
func (t cancel) Spec() provider.Tool {
	return provider.Tool{
		Name: "agent_cancel", Description: "End a job that you started.",
		Schema: words(`{"type":"object","properties":{"job":{"type":"string"}},"required":["job"],"additionalProperties":false}`),
	}
}

// Parallel implements tool.Tool.
func (t cancel) Parallel() bool { return false }

// Risk implements tool.Tool.
func (t cancel) Risk(raw json.RawMessage) (tool.Assessment, error) {
	var a jobArgs
	if err := tool.Decode(raw, &a); err != nil {
		return tool.Assessment{}, err
	}
	_, err := find(t.o, []wire.JobID{a.Job})
	return tool.Assessment{Risk: tool.Process, Summary: fmt.Sprintf("end %s", a.Job)}, err
}

// Run implements tool.Tool.
func (t cancel) Run(ctx context.Context, raw json.RawMessage, _ tool.Env) tool.Result {
	var a jobArgs
	if err := tool.Decode(raw, &a); err != nil {
		return tool.Failed(err)
	}
	note, err := t.o.Workbench.Cancel(ctx, t.o.Session, a.Job)
	if err != nil {
		return refused(err)
	}
	return tool.Result{Text: note}
}
