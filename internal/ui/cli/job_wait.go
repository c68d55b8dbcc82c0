package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/safe/plain"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

type jobWaitOptions struct {
	f       *factory
	ids     []string
	state   string
	timeout time.Duration
	quiet   bool
	json    jsonFlag
}

func newJobWaitCmd(f *factory, runF func(context.Context, *jobWaitOptions) error) *cobra.Command {
	opts := &jobWaitOptions{f: f}
	cmd := &cobra.Command{
		Use: "wait ID...", Args: atLeastOne("a job, such as job-3 or @last"), ValidArgsFunction: f.completeJobs,
		Short: "Wait until jobs have ended",
		Long: `Wait until every named job has ended. The exit code is the worst of theirs: 0 all
completed, 1 one failed or was stopped, 4 one needs a sign-in; 124 when --timeout
passed first, 130 after ctrl-C. The jobs go on in both cases.`,
		Example: "  scv jobs wait job-3\n  scv jobs wait job-3 job-4 --timeout 10m\n  scv jobs wait @last --for working",
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ids = args
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobWait(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	addPatience(flags, &opts.timeout, "timeout", "give up waiting after this time, such as 10m")
	flags.StringVar(&opts.state, "for", "", "wait for this state instead of the end")
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "print nothing")
	addJSON[wire.JobResult](cmd, &opts.json)
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(stateWords(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runJobWait(ctx context.Context, opts *jobWaitOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	want, err := wantedState(opts.state)
	if err != nil {
		return err
	}
	r, refs, err := f.resolve(ctx, opts.ids)
	if err != nil {
		return err
	}
	defer r.close()
	w := &waiter{f: f, want: want, each: func(view *wire.Snapshot, job *wire.Job) error { return opts.print(ctx, r, view, job) }}
	ended, err := w.wait(ctx, opts.timeout, refs)
	if err != nil {
		return f.waitEnded(ctx, err, string(refs[0]))
	}
	codes := make([]int, 0, len(ended))
	for _, job := range ended {
		if job.State.Final() {
			codes = append(codes, reviewExit(&job, outcome(job.State, job.Class)))
		}
	}
	return status(worst(codes...))
}

func wantedState(word string) (func(wire.AgentState) bool, error) {
	if word == "" {
		return finalStates, nil
	}
	if err := oneOf("state", "--for", word, stateWords()); err != nil {
		return nil, err
	}
	state, _ := wire.ParseAgentState(word)
	// A job that ended will not come into the state any more.
	return func(s wire.AgentState) bool { return s == state || s.Final() }, nil
}

func finalStates(s wire.AgentState) bool { return s.Final() }

// print says how one job ended.
func (o *jobWaitOptions) print(ctx context.Context, r *reading, view *wire.Snapshot, job *wire.Job) error {
	f := o.f
	if o.json.on() {
		res, err := r.result(ctx, job.Ref(), 0)
		if err != nil {
			return err
		}
		return o.json.print(f.sys.Out, res)
	}
	if o.quiet {
		return nil
	}
	id := wording.Name(view, job)
	if _, err := fmt.Fprintf(f.sys.Out, "%s\t%s\n", id, job.State); err != nil {
		return err
	}
	switch {
	case job.State == wire.StateCompleted:
		f.say("%s completed. Next: scv jobs result %s", id, id)
	case job.State == wire.StateAwaitingInput:
		f.say("%s asks: %s. Next: look at it, then approve or deny: scv approvals show %s", id, trimDot(plain.Line(value(job.Detail))), id)
	case job.Detail != nil:
		f.say("%s: %s. Next: %s", id, trimDot(plain.Line(*job.Detail)), afterFailure(job, id))
	}
	return nil
}

// resolve turns what a person calls jobs into their wide names, with the daemon running.
func (f *factory) resolve(ctx context.Context, ids []string) (*reading, []wire.JobRef, error) {
	c, err := f.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	r := &reading{f: f, h: f.opened, conn: c}
	view, err := r.snapshot(ctx)
	if err != nil {
		r.close()
		return nil, nil, err
	}
	refs := make([]wire.JobRef, 0, len(ids))
	for _, id := range ids {
		job, err := r.findAnyJob(ctx, view, id)
		if err != nil {
			r.close()
			return nil, nil, err
		}
		if !slices.Contains(refs, job.Ref()) {
			refs = append(refs, job.Ref())
		}
	}
	return r, refs, nil
}

// A waiter follows the workbench until all jobs are in a wanted state.
type waiter struct {
	f    *factory
	want func(wire.AgentState) bool
	each func(view *wire.Snapshot, job *wire.Job) error // once for each job, as it comes
	seen func(job *wire.Job)                            // each look at a job that has not come yet; may be nil
}

var errDone = errors.New("all are there")

// wait returns the jobs in the order of refs. A timeout of 0 waits for ever; its end is errTimeout.
func (w *waiter) wait(ctx context.Context, timeout time.Duration, refs []wire.JobRef) ([]wire.Job, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errTimeout)
		defer cancel()
	}
	got := make(map[wire.JobRef]wire.Job, len(refs))
	err := client.WatchWorkbench(ctx, w.f.target(w.f.opened), func(view *wire.Snapshot, _ wire.WorkbenchDelta) error {
		return w.look(ctx, view, refs, got)
	})
	if err != nil && !errors.Is(err, errDone) {
		if errors.Is(context.Cause(ctx), errTimeout) {
			return nil, errTimeout
		}
		return nil, err
	}
	out := make([]wire.Job, 0, len(refs))
	for _, ref := range refs {
		out = append(out, got[ref])
	}
	return out, nil
}

// look takes the jobs of a view that are where they should be. A job that is not listed any more has ended long ago:
// its record is asked for.
func (w *waiter) look(ctx context.Context, view *wire.Snapshot, refs []wire.JobRef, got map[wire.JobRef]wire.Job) error {
	for _, ref := range refs {
		if _, done := got[ref]; done {
			continue
		}
		at := slices.IndexFunc(view.Jobs, func(j wire.Job) bool { return j.Ref() == ref })
		var job wire.Job
		if at >= 0 {
			job = view.Jobs[at]
		} else {
			old, err := w.record(ctx, ref)
			if err != nil {
				return err
			}
			job = old
		}
		if w.seen != nil {
			w.seen(&job)
		}
		if !w.want(job.State) {
			if w.f.noInput && job.State.NeedsAttention() {
				return waitsForOwner(view, &job)
			}
			continue
		}
		got[ref] = job
		if w.each != nil {
			if err := w.each(view, &job); err != nil {
				return err
			}
		}
	}
	if len(got) == len(refs) {
		return errDone
	}
	return nil
}

// waitsForOwner ends waiting under --no-input: what the job asks for is nothing that time brings.
func waitsForOwner(view *wire.Snapshot, job *wire.Job) error {
	id, next := wording.Name(view, job), "scv approvals"
	for _, a := range view.Approvals {
		if a.Session == job.Session && a.Job == job.Job {
			next = "look at it, then approve or deny: scv approvals show " + string(a.ID)
		}
	}
	return &fault{code: exitWaiting, message: id + " waits for an approval; it goes on when it is answered", next: next}
}

func (w *waiter) record(ctx context.Context, ref wire.JobRef) (wire.Job, error) {
	session, job, _ := ref.Split()
	st, err := w.f.call(ctx, wire.JobResultCommand{Session: session, Job: job})
	if err != nil {
		return wire.Job{}, err
	}
	if st.JobResult == nil {
		return wire.Job{}, noJob(string(ref))
	}
	return wire.Job{Session: session, Job: job, Agent: st.JobResult.Agent, State: st.JobResult.State, Detail: st.JobResult.Detail}, nil
}

// waitEnded says what it means that waiting ended before the job: the job goes on.
func (f *screen) waitEnded(ctx context.Context, err error, job string) error {
	if errors.Is(err, errTimeout) {
		return &fault{code: exitTimeout, message: job + " has not ended in the given time; it goes on", next: "scv jobs log -f " + job}
	}
	if ctx.Err() != nil {
		f.say("detached; %s goes on. Stop it: scv jobs cancel %s", job, job)
		return status(exitInterrupted)
	}
	return err
}
