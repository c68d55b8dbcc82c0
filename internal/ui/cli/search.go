package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"scv/internal/client/offline"
	"scv/internal/safe/plain"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

type searchOptions struct {
	f     *factory
	query offline.Query
	since string
	all   bool
	quiet bool
	json  jsonFlag
}

func newSearchCmd(f *factory, runF func(context.Context, *searchOptions) error) *cobra.Command {
	opts := &searchOptions{f: f}
	cmd := &cobra.Command{
		Use: "search TEXT", Args: exactly("a text, in quotes when it has spaces"),
		Short: "Search prompts, replies and logs of all jobs",
		Long: `Search the prompts, replies, errors and logs of all jobs for a text, the jobs started
last first. It is found as it stands; small and capital letters are the same, and so
are wide and narrow ones. It reads the disk, with or without a daemon. The exit code
is 1 when nothing has the text.`,
		Example: "  scv search deadlock\n  scv search \"go test ./net\" --agent codex --since 7d -C 2\n  scv search 重试 --json=job,places",
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.query.Text = args[0]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runSearch(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&opts.query.Agents, "agent", nil, "only jobs of one of these agents")
	addSince(flags, &opts.since)
	flags.IntVarP(&opts.query.Jobs, "limit", "n", 20, "stop after so many jobs")
	flags.BoolVarP(&opts.all, "all", "a", false, "all jobs that have the text")
	flags.IntVar(&opts.query.Hits, "places", 3, "show so many places of a job, at most 100")
	flags.IntVarP(&opts.query.Around, "context", "C", 0, "lines before and behind each place, at most 20")
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "print only the ids")
	addJSON[offline.Found](cmd, &opts.json)
	_ = cmd.RegisterFlagCompletionFunc("agent", f.completeAgents)
	return cmd
}

func runSearch(ctx context.Context, opts *searchOptions) error {
	f, q := opts.f, opts.query
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	if strings.TrimSpace(q.Text) == "" || strings.ContainsAny(q.Text, "\r\n") {
		return usage(`give a text of one line, such as: scv search "retry test"`, "there is nothing to look for in %q", q.Text)
	}
	if q.Jobs <= 0 || q.Hits <= 0 || q.Around < 0 {
		return usage("leave the flag out, or give a number above 0; --all for all jobs", "--limit, --places and --context are numbers of lines and jobs")
	}
	var err error
	if q.Since, err = sinceTime(opts.since, f.now()); err != nil {
		return err
	}
	if opts.all {
		q.Jobs = 0
	}
	h, err := f.openHome()
	if err != nil {
		return err
	}
	disk, err := offline.Open(h)
	if err != nil {
		return err
	}
	defer disk.Close()
	found := 0
	err = disk.Search(ctx, q, func(job *offline.Found) error {
		found++
		return opts.print(job)
	})
	switch {
	case err != nil:
		return err
	case found == 0:
		f.say("nothing has %q. Next: look at the jobs there are: scv jobs list --all", q.Text)
		return status(exitFailed)
	case found == q.Jobs && !opts.json.on() && !opts.quiet:
		f.say("these are the last %d; all: add --all", found)
	}
	return nil
}

func (o *searchOptions) print(job *offline.Found) error {
	f := o.f
	switch {
	case o.json.on():
		return o.json.print(f.sys.Out, job)
	case o.quiet:
		_, err := fmt.Fprintln(f.sys.Out, job.Job)
		return err
	}
	if job.Unread != "" {
		f.say("the log of %s could not be read: %s. Next: scv doctor", job.Job, trimDot(plain.Line(job.Unread)))
	}
	if f.columns == 0 {
		return o.printPipe(job)
	}
	var b strings.Builder
	head := fmt.Sprintf("%s  %s  %s  %s  %s", job.Job, job.Agent, job.State, f.when(job.UpdatedUnixSeconds).show, plain.Line(job.Task))
	b.WriteString(plain.Truncate(head, f.columns) + "\n")
	for _, p := range job.Places {
		for _, line := range p.Before {
			b.WriteString("           " + f.hang(11, plain.Line(line)) + "\n")
		}
		b.WriteString("  " + plain.Pad(wording.Kind(wire.RunEventKind(p.In)), 8) + " " + f.hang(11, plain.Line(p.Line)) + "\n")
		for _, line := range p.After {
			b.WriteString("           " + f.hang(11, plain.Line(line)) + "\n")
		}
	}
	if more := job.Total - len(job.Places); more > 0 {
		fmt.Fprintf(&b, "  (%s more; scv search --places %d)\n", plain.Count(more, "place"), min(job.Total, 100))
	}
	_, err := f.sys.Out.Write([]byte(b.String()))
	return err
}

// printPipe writes a line for each place: job, where, text.
func (o *searchOptions) printPipe(job *offline.Found) error {
	ref := job.Session.Ref(job.Job)
	for _, p := range job.Places {
		for _, line := range p.Before {
			if _, err := fmt.Fprintf(o.f.sys.Out, "%s\t-\t%s\n", ref, plain.Line(line)); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(o.f.sys.Out, "%s\t%s\t%s\n", ref, p.In, plain.Line(p.Line)); err != nil {
			return err
		}
		for _, line := range p.After {
			if _, err := fmt.Fprintf(o.f.sys.Out, "%s\t-\t%s\n", ref, plain.Line(line)); err != nil {
				return err
			}
		}
	}
	return nil
}

// addSince gives a command --since.
func addSince(flags *pflag.FlagSet, text *string) {
	flags.StringVar(text, "since", "", "only what changed since then: 7d, 12h or 2026-11-01")
}

// sinceTime reads --since: an age, a day or a moment. Empty is the beginning.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.Add(-time.Duration(n) * 24 * time.Hour), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if at, err := time.ParseInLocation("2006-01-02", text, time.Local); err == nil {
		return at, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	return time.Time{}, usage("write it as 7d, 12h, 2026-11-01 or 2026-11-01T12:00:00Z", "%q is no time", text)
}
