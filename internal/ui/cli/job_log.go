package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/safe/plain"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

type jobLogOptions struct {
	f      *factory
	id     string
	follow bool
	wait   bool
	tail   int
	cut    bool // the beginning was left out by --tail, which may be 0
	json   jsonFlag
}

// A logLine is an event of a run's log as --json prints it.
type logLine struct {
	Run wire.RunHandle `json:"run"`
	wire.RunEvent
}

func newJobLogCmd(f *factory, runF func(context.Context, *jobLogOptions) error) *cobra.Command {
	opts := &jobLogOptions{f: f}
	cmd := &cobra.Command{
		Use: "log ID", Aliases: []string{"logs"}, Args: exactly("a job or a run, such as job-3, @last or codex-3f9a2c"),
		ValidArgsFunction: f.completeJobs,
		Short:             "Print what a job did, and follow it",
		Long: `Print what a job did: all its runs, oldest first. A run's handle prints that run.
With -f the log is followed until the job has ended; ctrl-C leaves the job running.`,
		Example: "  scv jobs log job-3\n  scv jobs log -f @last\n  scv jobs log job-3 --json=ts_ms,kind,text",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.id = args[0]
			}
			opts.cut = cmd.Flags().Changed("tail")
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobLog(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&opts.follow, "follow", "f", false, "go on until the job has ended")
	flags.BoolVar(&opts.wait, "wait", false, "with -f: the exit code tells how the job ended")
	flags.IntVarP(&opts.tail, "tail", "n", 0, "begin with the last N lines")
	addJSON[logLine](cmd, &opts.json)
	return cmd
}

func runJobLog(ctx context.Context, opts *jobLogOptions) error {
	if opts.tail < 0 {
		return usage("give how many lines to begin with, such as -n 20", "--tail cannot be %d", opts.tail)
	}
	if opts.json.helps(opts.f.sys.Out) {
		return nil
	}
	if opts.wait && !opts.follow {
		return usage("add -f, or use: scv jobs wait ID", "--wait needs -f")
	}
	if opts.follow {
		return followJobLog(ctx, opts)
	}
	f := opts.f
	r, view, err := f.view(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	runs, job, err := opts.runs(ctx, r, view)
	if err != nil {
		return err
	}
	if len(runs) == 0 && job.Reviewed {
		sayTurnsAreJobs(f, wording.Name(view, job))
		return nil
	}
	if len(runs) == 0 {
		f.say("%s has no log yet; it is %s. Follow it: scv jobs log -f %s", wording.Name(view, job), job.State, wording.Name(view, job))
		return nil
	}
	var lines []logLine
	for _, run := range runs {
		part, _, err := r.wholeLog(ctx, run)
		if err != nil {
			return err
		}
		lines = append(lines, ofJob(part, job)...)
	}
	return opts.print(opts.last(lines))
}

// sayTurnsAreJobs tells where the log of a reviewed job is.
func sayTurnsAreJobs(f *factory, id string) {
	f.say("%[1]s has no log of its own: its turns are jobs. See them: scv jobs review %[1]s", id)
}

// runs resolves the id: a run by its handle, else the runs of a job.
func (o *jobLogOptions) runs(ctx context.Context, r *reading, view *wire.Snapshot) ([]wire.RunHandle, *wire.Job, error) {
	if handle, ok := findRun(view, o.id); ok {
		return []wire.RunHandle{handle}, nil, nil
	}
	job, err := r.findAnyJob(ctx, view, o.id)
	if err == nil {
		return wording.RunsOf(view, job), job, nil
	}
	if handle, bad := wire.ParseRunHandle(o.id); bad == nil { // of a run that is not listed any more
		return []wire.RunHandle{handle}, nil, nil
	}
	return nil, nil, err
}

// wholeLog reads all pages of a run's log, and returns the position behind them.
func (r *reading) wholeLog(ctx context.Context, run wire.RunHandle) (lines []logLine, at client.LogPosition, err error) {
	for {
		before := at
		page, err := r.log(ctx, run, at)
		if err != nil {
			return nil, at, err
		}
		at.Take(page, r.hasTail())
		for _, event := range page.Events {
			lines = append(lines, logLine{Run: run, RunEvent: event})
		}
		if !page.More || at == before && len(page.Events) == 0 {
			return lines, at, nil
		}
	}
}

// last are the lines that --tail leaves.
func (o *jobLogOptions) last(lines []logLine) []logLine {
	if !o.cut {
		return lines
	}
	return lines[max(0, len(lines)-o.tail):]
}

// ofJob keeps the lines of one job of a run that served several: those from the start of its turn to the next one's.
func ofJob(lines []logLine, job *wire.Job) []logLine {
	if job == nil {
		return lines
	}
	other := func(l logLine) bool {
		return l.Kind == wire.EventTurnStarted && l.Job != nil && *l.Job != job.Job
	}
	if !slices.ContainsFunc(lines, other) {
		return lines
	}
	var out []logLine
	mine := true
	for _, line := range lines {
		if line.Kind == wire.EventTurnStarted && line.Job != nil {
			mine = *line.Job == job.Job
		}
		if mine {
			out = append(out, line)
		}
	}
	return out
}

func (o *jobLogOptions) print(lines []logLine) error {
	for i := range lines {
		if err := o.f.printLogLine(&lines[i], &o.json); err != nil {
			return err
		}
	}
	return nil
}

// printLogLine writes one event of a log as one line.
func (f *screen) printLogLine(line *logLine, asJSON *jsonFlag) error {
	if asJSON.on() {
		return asJSON.print(f.sys.Out, line)
	}
	said := plain.Line(line.Text)
	if line.Status != nil {
		said = strings.TrimSpace(plain.Line(*line.Status) + "  " + said)
	}
	if f.columns == 0 {
		_, err := fmt.Fprintf(f.sys.Out, "%s\t%s\t%s\n", f.clock(line.TsMs), line.Kind, said)
		return err
	}
	kind := plain.Pad(wording.Kind(line.Kind), wording.KindWidth)
	if colour := kindColour(line.Kind); colour != "" && f.colour {
		kind = "\x1b[" + colour + "m" + kind + "\x1b[0m"
	}
	clock := f.clock(line.TsMs)
	_, err := fmt.Fprintf(f.sys.Out, "%s %s %s\n", clock, kind, f.hang(len(clock)+1+wording.KindWidth+1, said))
	return err
}

func kindColour(k wire.RunEventKind) string {
	switch k {
	case wire.EventTool:
		return "36"
	case wire.EventToolFailed:
		return "31"
	case wire.EventApprovalRequested:
		return "1;33"
	case wire.EventTurnStarted, wire.EventTurnEnded:
		return "1"
	case wire.EventText:
		return ""
	default:
	}
	return "2"
}

// followJobLog prints the logs of a job's runs as they grow, until the job has ended.
func followJobLog(ctx context.Context, opts *jobLogOptions) error {
	f := opts.f
	c, err := f.dial(ctx)
	if err != nil {
		return err
	}
	r := &reading{f: f, h: f.opened, conn: c}
	defer r.close()
	view, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	ctx, done := whileHeard(ctx, f.sys.Out)
	defer done()
	if handle, ok := findRun(view, opts.id); ok {
		return f.detached(ctx, opts.followRun(ctx, r, handle, nil, false), "")
	}
	job, err := r.findAnyJob(ctx, view, opts.id)
	if err != nil {
		return err
	}
	id := wording.Name(view, job)
	if job.Reviewed {
		sayTurnsAreJobs(f, id)
	}
	last, err := opts.followJob(ctx, r, job)
	if err != nil {
		return f.detached(ctx, err, id)
	}
	if !opts.json.on() && f.columns > 0 {
		f.say("%s %s. Next: scv jobs result %s", id, last.State, id)
	}
	if opts.wait {
		return status(outcome(last.State, last.Class))
	}
	return nil
}

// followJob follows each run of the job in turn: the next one begins after the one before has ended.
func (o *jobLogOptions) followJob(ctx context.Context, r *reading, job *wire.Job) (*wire.Job, error) {
	f, seen, last := o.f, []wire.RunHandle{}, *job
	waiting := false
	for {
		var next []wire.RunHandle
		var live []bool
		err := client.WatchWorkbench(ctx, f.target(r.h), func(view *wire.Snapshot, _ wire.WorkbenchDelta) error {
			at := slices.IndexFunc(view.Jobs, func(j wire.Job) bool { return j.Ref() == job.Ref() })
			if at < 0 { // dismissed, or older than what is listed
				return errDone
			}
			last = view.Jobs[at]
			next = slices.DeleteFunc(wording.RunsOf(view, &last), func(h wire.RunHandle) bool { return slices.Contains(seen, h) })
			for _, run := range next {
				live = append(live, isLive(view, run))
			}
			if len(next) > 0 || last.State.Final() {
				return errDone
			}
			if !waiting && !o.json.on() {
				waiting = true
				f.say("%s is %s; waiting for it to begin. %s", wording.Name(view, &last), last.State, value(last.Detail))
			}
			return nil
		})
		if err != nil && !errors.Is(err, errDone) {
			return nil, err
		}
		if len(next) == 0 {
			return &last, nil
		}
		for i, run := range next {
			seen = append(seen, run)
			if err := o.followRun(ctx, r, run, job, live[i]); err != nil {
				return nil, err
			}
		}
	}
}

// followRun prints one run's log until it has ended. A live run goes on after a job: with one, its turn's end is the end.
func (o *jobLogOptions) followRun(ctx context.Context, r *reading, run wire.RunHandle, job *wire.Job, live bool) error {
	var after client.LogPosition
	mine := true
	ends := func(e *wire.RunEvent) bool { return live && job != nil && e.Kind == wire.EventTurnEnded }
	if o.cut {
		lines, next, err := r.wholeLog(ctx, run)
		if err != nil {
			return err
		}
		own := ofJob(lines, job)
		if err := o.print(o.last(own)); err != nil {
			return err
		}
		if slices.ContainsFunc(own, func(l logLine) bool { return ends(&l.RunEvent) }) {
			return nil
		}
		after, mine = next, len(lines) == 0 || len(own) > 0 && own[len(own)-1].Seq == lines[len(lines)-1].Seq
	}
	err := client.FollowLog(ctx, o.f.target(r.h), run, after, func(page wire.RunLogPage) error {
		for _, event := range page.Events {
			if job != nil && event.Kind == wire.EventTurnStarted && event.Job != nil {
				mine = *event.Job == job.Job
			}
			if !mine {
				continue
			}
			if err := o.f.printLogLine(&logLine{Run: run, RunEvent: event}, &o.json); err != nil {
				return err
			}
			if ends(&event) {
				return errDone
			}
		}
		return nil
	})
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// isLive reports whether a run serves several turns in one process.
func isLive(view *wire.Snapshot, handle wire.RunHandle) bool {
	return slices.ContainsFunc(view.Runs, func(r wire.Run) bool {
		return r.Handle == handle && r.Transport != wire.TransportCLI
	})
}
