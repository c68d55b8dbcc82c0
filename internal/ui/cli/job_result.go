package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/safe/plain"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

type jobResultOptions struct {
	f    *factory
	id   string
	json jsonFlag
}

func newJobResultCmd(f *factory, runF func(context.Context, *jobResultOptions) error) *cobra.Command {
	opts := &jobResultOptions{f: f}
	cmd := &cobra.Command{
		Use: "result ID", Args: exactly("a job, such as job-3 or @last"), ValidArgsFunction: f.completeJobs,
		Short: "Print the whole reply of a job that has ended",
		Long: `Print the whole reply of a job that has ended. The exit code tells how it ended:
0 completed, 1 failed, stopped or not approved by its reviewers, 4 needs a sign-in, 8 not ended yet.`,
		Example: "  scv jobs result job-3\n  scv jobs result @last --json=state,reply",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.id = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobResult(cmd.Context(), opts)
		},
	}
	addJSON[wire.JobResult](cmd, &opts.json)
	return cmd
}

func runJobResult(ctx context.Context, opts *jobResultOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	r, view, err := f.view(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	job, err := r.findAnyJob(ctx, view, opts.id)
	if err != nil {
		return err
	}
	if !job.State.Final() && !opts.json.on() {
		id := wording.Name(view, job)
		return &fault{code: exitConflict, message: fmt.Sprintf("%s has not ended; it is %s", id, job.State), next: "wait for it: scv jobs wait " + id}
	}
	if err := f.printResult(ctx, r, job, &opts.json); err != nil {
		return err
	}
	return status(reviewExit(job, outcome(job.State, job.Class)))
}

// printResult writes the whole reply to standard output, and how a job that did not complete ended to standard error.
func (f *factory) printResult(ctx context.Context, r *reading, job *wire.Job, asJSON *jsonFlag) error {
	res, err := f.wholeResult(ctx, r, job.Ref())
	if err != nil {
		return err
	}
	if asJSON.on() {
		return asJSON.print(f.sys.Out, res)
	}
	if reply := plain.Block(value(res.Reply)); reply != "" {
		if _, err := io.WriteString(f.sys.Out, strings.TrimRight(reply, "\n")+"\n"); err != nil {
			return err
		}
	}
	if res.Outcome != nil {
		sayOutcome(f, string(res.Job), res.Outcome)
	}
	if res.Facts != nil {
		f.say("%s by git: %s", res.Job, factLine(res.Facts))
	}
	if res.State == wire.StateCompleted {
		switch {
		case value(res.Reply) == "" && res.Outcome == nil:
			f.say("%s completed without a reply. Next: scv jobs log %s", res.Job, res.Job)
		case res.Detail != nil && res.Outcome == nil: // such as a reply that was cut, or tool calls that the mode refused
			f.say("%s completed: %s. Next: scv jobs log %s", res.Job, trimDot(plain.Line(*res.Detail)), res.Job)
		}
		return nil
	}
	why := value(res.Detail)
	if why == "" {
		why = firstLine(value(res.Error))
	}
	if why == "" {
		why = "no reason was given"
	}
	f.say("%s %s: %s. Next: %s", res.Job, res.State, trimDot(plain.Line(why)), afterFailure(job, string(res.Job)))
	return nil
}

// factLine is what git and exit codes say of a job.
func factLine(x *wire.JobFacts) string {
	if x.Problem != nil {
		return "not known: " + trimDot(*x.Problem)
	}
	parts := []string{fmt.Sprintf("%s changed (%d not committed), %s", plain.Count(x.Files, "file"), x.Uncommitted, plain.Count(x.Commits, "commit"))}
	if x.Before > 0 {
		parts = append(parts, fmt.Sprintf("%d were changed before", x.Before))
	}
	for _, t := range x.Tests {
		how := "passed"
		if !t.Passed {
			how = "failed"
			if t.Exit != nil {
				how = fmt.Sprintf("exit %d", *t.Exit)
			}
		}
		parts = append(parts, fmt.Sprintf("%s: %s", t.Command, how))
	}
	if x.Main != nil && *x.Main {
		parts = append(parts, "the main checkout was changed meanwhile")
	}
	return strings.Join(parts, "; ")
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// wholeResult reads all pages of a reply. A daemon that serves none gives the first part, and it is said.
func (f *factory) wholeResult(ctx context.Context, r *reading, ref wire.JobRef) (*wire.JobResult, error) {
	first, err := r.result(ctx, ref, 0)
	if err != nil {
		return nil, err
	}
	if first.Next == nil {
		if first.Truncated {
			f.say("the daemon gives only the first %d bytes of this reply; restart it to get all: scv restart", wire.MaxJobResultBytes)
		}
		return first, nil
	}
	var reply strings.Builder
	reply.WriteString(value(first.Reply))
	next := first.Next
	for next != nil {
		page, err := r.result(ctx, ref, *next)
		if client.Predates(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		if page.Next != nil && *page.Next <= *next {
			return nil, errors.New("the daemon repeats a page of the reply")
		}
		reply.WriteString(value(page.Reply))
		next = page.Next
	}
	whole := *first
	whole.Reply, whole.Next, whole.Truncated = new(reply.String()), nil, false
	return &whole, nil
}
