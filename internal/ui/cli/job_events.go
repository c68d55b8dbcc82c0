package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

type jobEventsOptions struct {
	f      *factory
	follow bool
	json   jsonFlag
}

// An event is one change as --json prints it, in upstream's words.
type event struct {
	Type                 string           `json:"type"` // job.added, job.changed, job.removed, approval.requested, approval.resolved, run.event or ready
	Job                  *wire.Job        `json:"job,omitempty"`
	From                 *wire.AgentState `json:"from,omitempty"` // of job.changed
	Ref                  *wire.JobRef     `json:"ref,omitempty"`  // of job.removed
	Approval             *wire.Approval   `json:"approval,omitempty"`
	ID                   *wire.ApprovalID `json:"id,omitempty"` // of approval.resolved
	Run                  *wire.RunHandle  `json:"run,omitempty"`
	Event                *wire.RunEvent   `json:"event,omitempty"` // of run.event
	GeneratedUnixSeconds *uint64          `json:"generated_unix_seconds,omitempty"`
}

func newJobEventsCmd(f *factory, runF func(context.Context, *jobEventsOptions) error) *cobra.Command {
	opts := &jobEventsOptions{f: f}
	cmd := &cobra.Command{
		Use: "events", Args: exactly(),
		Short: "Print what changes, one line per change",
		Long: `Print the jobs there are, oldest first, then the line "ready"; with -f go on with
each change of a job and each line of a live run's log, until ctrl-C.`,
		Example: "  scv jobs events -f\n  scv jobs events -f --json=type,job",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobEvents(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.follow, "follow", "f", false, "go on with each change, until ctrl-C")
	addJSON[event](cmd, &opts.json)
	return cmd
}

func runJobEvents(ctx context.Context, opts *jobEventsOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	e := &eventStream{opts: opts, jobs: map[wire.JobRef]wire.Job{}, approvals: map[wire.ApprovalID]bool{}, runs: map[wire.RunHandle]bool{}}
	if !opts.follow {
		r, view, err := f.view(ctx)
		if err != nil {
			return err
		}
		defer r.close()
		return e.begin(view)
	}
	c, err := f.dial(ctx)
	if err != nil {
		return err
	}
	c.Close()
	ctx, done := whileHeard(ctx, f.sys.Out)
	defer done()
	return f.detached(ctx, e.follow(ctx), "")
}

// An eventStream turns views into events. The watching goroutine owns all but out; the goroutines that follow a log
// only write, under mu.
type eventStream struct {
	opts      *jobEventsOptions
	jobs      map[wire.JobRef]wire.Job
	approvals map[wire.ApprovalID]bool
	runs      map[wire.RunHandle]bool
	ready     bool
	target    client.Target

	mu sync.Mutex
}

func (e *eventStream) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var logs sync.WaitGroup
	defer logs.Wait()
	defer cancel(nil)
	e.target = e.opts.f.target(e.opts.f.opened)
	err := client.WatchWorkbench(ctx, e.target, func(view *wire.Snapshot, _ wire.WorkbenchDelta) error {
		show, from := e.changes, client.LogPosition{}
		if !e.ready { // what runs already is followed from where it is now
			show, from = e.begin, client.LogPosition{After: math.MaxInt64}
		}
		if err := show(view); err != nil {
			return err
		}
		for _, run := range view.Runs {
			if run.Live && !e.runs[run.Handle] {
				e.runs[run.Handle] = true
				logs.Go(func() {
					if err := e.followLog(ctx, run.Handle, from); err != nil {
						cancel(err)
					}
				})
			}
		}
		return nil
	})
	if cause := context.Cause(ctx); cause != nil && err != nil && ctx.Err() != nil {
		return cause
	}
	return err
}

// begin writes the jobs there are, oldest first, and that the list is complete.
func (e *eventStream) begin(view *wire.Snapshot) error {
	for _, job := range slices.Backward(view.Jobs) {
		e.jobs[job.Ref()] = job
		if err := e.write(event{Type: "job.added", Job: &job}); err != nil {
			return err
		}
	}
	if err := e.newApprovals(view); err != nil {
		return err
	}
	e.ready = true
	return e.write(event{Type: "ready", GeneratedUnixSeconds: &view.GeneratedUnixSeconds})
}

func (e *eventStream) changes(view *wire.Snapshot) error {
	there := map[wire.JobRef]bool{}
	for _, job := range slices.Backward(view.Jobs) {
		ref := job.Ref()
		there[ref] = true
		old, known := e.jobs[ref]
		e.jobs[ref] = job
		var err error
		switch {
		case !known:
			err = e.write(event{Type: "job.added", Job: &job})
		case old.State != job.State || value(old.Detail) != value(job.Detail):
			err = e.write(event{Type: "job.changed", From: &old.State, Job: &job})
		}
		if err != nil {
			return err
		}
	}
	for ref := range e.jobs {
		if !there[ref] {
			delete(e.jobs, ref)
			if err := e.write(event{Type: "job.removed", Ref: &ref}); err != nil {
				return err
			}
		}
	}
	return e.newApprovals(view)
}

func (e *eventStream) newApprovals(view *wire.Snapshot) error {
	there := map[wire.ApprovalID]bool{}
	for _, a := range view.Approvals {
		there[a.ID] = true
		if !e.approvals[a.ID] {
			e.approvals[a.ID] = true
			if err := e.write(event{Type: "approval.requested", Approval: &a}); err != nil {
				return err
			}
		}
	}
	for id := range e.approvals {
		if !there[id] {
			delete(e.approvals, id)
			if err := e.write(event{Type: "approval.resolved", ID: &id}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *eventStream) followLog(ctx context.Context, run wire.RunHandle, from client.LogPosition) error {
	err := client.FollowLog(ctx, e.target, run, from, func(page wire.RunLogPage) error {
		for _, line := range page.Events {
			if err := e.write(event{Type: "run.event", Run: &run, Event: &line}); err != nil {
				return err
			}
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (e *eventStream) write(ev event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.opts.f
	if e.opts.json.on() {
		return e.opts.json.print(f.sys.Out, &ev)
	}
	parts := []string{ev.Type}
	switch {
	case ev.Event != nil:
		parts = append(parts, string(*ev.Run), string(ev.Event.Kind), value(ev.Event.Status), ev.Event.Text)
	case ev.Job != nil:
		parts = append(parts, string(ev.Job.Job), ev.Job.State.String(), ev.Job.Agent, ev.Job.Task, value(ev.Job.Detail))
	case ev.Ref != nil:
		parts = append(parts, string(*ev.Ref))
	case ev.Approval != nil:
		parts = append(parts, string(ev.Approval.ID), string(ev.Approval.Job), ev.Approval.Risk, ev.Approval.Summary)
	case ev.ID != nil:
		parts = append(parts, string(*ev.ID))
	}
	for i := range parts {
		parts[i] = plain.Line(parts[i])
	}
	_, err := fmt.Fprintln(f.sys.Out, strings.TrimRight(strings.Join(parts, "\t"), "\t"))
	return err
}
