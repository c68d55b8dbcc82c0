package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/safe/plain"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// recent is how many finished jobs a list shows unless all are asked for.
const recent = 20

type jobListOptions struct {
	f      *factory
	all    bool
	states []string
	agents []string
	quiet  bool
	watch  bool
	noCut  bool
	page   int
	paged  bool // --page was given
	filter filterFlag
	json   jsonFlag
}

func newJobListCmd(f *factory, runF func(context.Context, *jobListOptions) error) *cobra.Command {
	opts := &jobListOptions{f: f}
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: exactly(),
		Short:   "List the jobs that run, wait, or ended lately",
		Example: "  scv jobs list\n  scv jobs list --state failed --all\n  scv jobs list --json=job,state,detail",
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.paged = cmd.Flags().Changed("page")
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobList(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&opts.all, "all", "a", false, "all jobs of this home, however old")
	flags.StringSliceVar(&opts.states, "state", nil, "only jobs in one of these states")
	flags.StringSliceVar(&opts.agents, "agent", nil, "only jobs of one of these agents")
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "print only the ids")
	flags.BoolVarP(&opts.watch, "watch", "w", false, "then print each change as a line, until ctrl-C")
	flags.BoolVar(&opts.noCut, "no-trunc", false, "do not cut texts to fit the terminal")
	flags.IntVar(&opts.page, "page", 0, "of all jobs the N-th hundred, newest first")
	addJSON[wire.Job](cmd, &opts.json)
	addFilter[wire.Job](cmd, &opts.filter)
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(stateWords(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("agent", f.completeAgents)
	return cmd
}

func runJobList(ctx context.Context, opts *jobListOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	for _, word := range opts.states {
		if err := oneOf("state", "--state", word, stateWords()); err != nil {
			return err
		}
	}
	if opts.page < 0 || opts.page == 0 && opts.paged {
		return usage("leave it out for what is new, or count from 1 on", "--page cannot be %d", opts.page)
	}
	var look wire.WorkbenchCommand
	if !opts.all && len(opts.states) == 0 && len(opts.agents) == 0 {
		look.Finished = new(uint32(recent))
	}
	r, view, err := f.look(ctx, look)
	if err != nil {
		return err
	}
	defer r.close()
	jobs, more, err := opts.choose(ctx, r, view)
	if opts.page > 0 {
		jobs, more, err = opts.history(ctx, r)
	}
	if err != nil {
		return err
	}
	if jobs, err = filtered(&opts.filter, jobs); err != nil {
		return err
	}
	if err := opts.print(view, jobs, more); err != nil || !opts.watch {
		return err
	}
	return opts.follow(ctx, r)
}

// choose picks the jobs to list, newest first, and counts the finished ones that are left out.
func (o *jobListOptions) choose(ctx context.Context, r *reading, view *wire.Snapshot) (jobs []wire.Job, more int, err error) {
	finished := 0
	for _, job := range view.Jobs {
		if !o.wants(&job) {
			continue
		}
		if job.State.Final() && !job.Resumable {
			if finished++; finished > recent && !o.all {
				more++
				continue
			}
		}
		jobs = append(jobs, job)
	}
	if !o.all || len(view.Jobs) < wire.MaxFinishedJobs {
		return jobs, more + int(view.Omitted), nil
	}
	seen := map[wire.JobRef]bool{}
	for i := range view.Jobs {
		seen[view.Jobs[i].Ref()] = true
	}
	var after *string
	for {
		page, err := r.history(ctx, after)
		if client.Predates(err) {
			return jobs, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		for _, job := range page.Jobs {
			if !seen[job.Ref()] && o.wants(&job) {
				jobs = append(jobs, job)
			}
		}
		if page.Next == nil {
			return jobs, 0, nil
		}
		after = page.Next
	}
}

// history is one page of all jobs, and 0: what is left out is told by the page's end.
func (o *jobListOptions) history(ctx context.Context, r *reading) ([]wire.Job, int, error) {
	var after *string
	for at := 1; ; at++ {
		page, err := r.history(ctx, after)
		if err != nil {
			return nil, 0, err
		}
		if at == o.page {
			if page.Next != nil {
				o.f.say("page %d; the next: scv jobs list --page %d", at, at+1)
			}
			return slices.DeleteFunc(page.Jobs, func(job wire.Job) bool { return !o.wants(&job) }), 0, nil
		}
		if page.Next == nil {
			return nil, 0, &fault{code: exitNotFound, message: fmt.Sprintf("there are only %s", plain.Count(at, "page")), next: fmt.Sprintf("the last: scv jobs list --page %d", at)}
		}
		after = page.Next
	}
}

func (o *jobListOptions) wants(job *wire.Job) bool {
	return (len(o.states) == 0 || slices.Contains(o.states, job.State.String())) &&
		(len(o.agents) == 0 || slices.Contains(o.agents, job.Agent))
}

func (o *jobListOptions) print(view *wire.Snapshot, jobs []wire.Job, more int) error {
	f := o.f
	switch {
	case o.json.on():
		return o.json.print(f.sys.Out, jobs)
	case o.quiet:
		for i := range jobs {
			if _, err := fmt.Fprintln(f.sys.Out, wording.Name(view, &jobs[i])); err != nil {
				return err
			}
		}
		return nil
	case len(jobs) == 0 && (len(o.states) > 0 || len(o.agents) > 0):
		f.say("no job is one of those. All: scv jobs list --all")
		return nil
	case len(jobs) == 0:
		f.say("no jobs. Next: scv jobs start --agent codex PROMPT   Or see it work: scv demo")
		return nil
	}
	columns, rows := jobColumns(), make([][]cell, 0, len(jobs))
	nested := slices.ContainsFunc(jobs, func(j wire.Job) bool { return j.Parent != nil })
	if nested {
		columns = append(columns, column{name: "FROM", keep: 4})
	}
	if o.noCut {
		for i := range columns {
			columns[i].shrink, columns[i].keep = 0, 0
		}
	}
	for i := range jobs {
		cells := f.jobRow(view, &jobs[i])
		if nested {
			cells = append(cells, parentCell(&jobs[i]))
		}
		rows = append(rows, cells)
	}
	if err := f.printTable(f.sys.Out, columns, rows); err != nil {
		return err
	}
	if view.Storage != "" {
		f.say("%s", view.Storage)
	}
	if more > 0 {
		f.say("%d more ended earlier. All of them: scv jobs list --all", more)
	}
	return nil
}

// parentCell names the job from inside which another was started.
func parentCell(j *wire.Job) cell {
	if j.Parent == nil {
		return text("-")
	}
	_, id, _ := j.Parent.Split()
	return cell{show: string(id), pipe: string(*j.Parent)}
}

func jobColumns() []column {
	return []column{
		{name: "STATE"},
		{name: "JOB"},
		{name: "AGENT", keep: 3},
		{name: "TASK", shrink: 8},
		{name: "DETAIL", keep: 1, shrink: 10},
		{name: "SINCE", keep: 2},
	}
}

func (f *screen) jobRow(view *wire.Snapshot, job *wire.Job) []cell {
	state := cell{show: wording.Glyph(job.State) + " " + job.State.String(), pipe: job.State.String(), colour: stateColour(job.State)}
	return []cell{
		state,
		{show: plain.Line(wording.Name(view, job)), pipe: string(job.Ref())},
		text(job.Agent), text(job.Task), text(value(job.Detail)),
		f.when(job.UpdatedUnixSeconds),
	}
}

// follow prints one line for each change of a job.
func (o *jobListOptions) follow(ctx context.Context, r *reading) error {
	f := o.f
	if f.columns > 0 {
		f.say("each change follows; ctrl-C ends this and no job")
	}
	ctx, done := whileHeard(ctx, f.sys.Out)
	defer done()
	last := map[wire.JobRef]wire.AgentState{}
	first := true
	err := client.WatchWorkbench(ctx, f.target(r.h), func(view *wire.Snapshot, delta wire.WorkbenchDelta) error {
		for i := range delta.Jobs {
			job := &delta.Jobs[i]
			if from, known := last[job.Ref()]; o.wants(job) && !first && (!known || from != job.State) {
				if err := f.changeLine(view, job); err != nil {
					return err
				}
			}
			last[job.Ref()] = job.State
		}
		first = false
		return nil
	})
	return f.detached(ctx, err, "")
}

// changeLine is a job's change as one line.
func (f *screen) changeLine(view *wire.Snapshot, job *wire.Job) error {
	parts := []string{f.clock(job.UpdatedUnixSeconds * 1000), job.State.String(), wording.Name(view, job), job.Agent, plain.Line(job.Task)}
	if job.Detail != nil {
		parts = append(parts, plain.Line(*job.Detail))
	}
	sep := "\t"
	if f.columns > 0 {
		sep = "  "
	}
	_, err := fmt.Fprintln(f.sys.Out, strings.Join(parts, sep))
	return err
}

// stateWords are the words of all states, in their order.
func stateWords() []string {
	out := make([]string, 0, wire.AgentStates)
	for s := range wire.AgentState(wire.AgentStates) {
		out = append(out, s.String())
	}
	return out
}

func stateColour(s wire.AgentState) string {
	switch s {
	case wire.StateAwaitingInput:
		return "1;33"
	case wire.StateStarting, wire.StateWorking:
		return "36"
	case wire.StateCompleted:
		return "32"
	case wire.StateUnknown, wire.StateInterrupted:
		return "33"
	case wire.StateQueued, wire.StateIdle:
		return ""
	default:
	}
	return "31"
}
