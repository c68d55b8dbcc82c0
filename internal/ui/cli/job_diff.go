package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

type jobDiffOptions struct {
	f                 *factory
	id                string
	stat, patch, word bool
	reviewed          bool
	round             uint32
	noPager           bool
	colour            string
	json              jsonFlag
}

func newJobDiffCmd(f *factory, runF func(context.Context, *jobDiffOptions) error) *cobra.Command {
	opts := &jobDiffOptions{f: f}
	cmd := &cobra.Command{
		Use: "diff ID", Args: exactly("a job, such as job-3 or @last"), ValidArgsFunction: f.completeJobs,
		Short: "Show what a job has changed",
		Long: `Show what a job's directory has changed since the job began: committed or not, and files
that git does not know yet. What looks like a secret is masked.`,
		Example: "  scv jobs diff job-3\n  scv jobs diff --stat @last\n  scv jobs diff --word job-3",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.id = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobDiff(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVarP(&opts.patch, "patch", "p", false, "show each changed line (default)")
	flags.BoolVar(&opts.stat, "stat", false, "show only how much of each file changed")
	flags.BoolVar(&opts.word, "word", false, "show changed words inside their line")
	flags.BoolVar(&opts.reviewed, "reviewed", false, "of a reviewed job: what its reviewers were shown")
	flags.Uint32Var(&opts.round, "round", 0, "with --reviewed: in this round (default: the last)")
	flags.StringVar(&opts.colour, "color", "auto", "auto, always or never")
	flags.BoolVar(&opts.noPager, "no-pager", false, "do not start $PAGER")
	addJSON[wire.DiffPage](cmd, &opts.json)
	return cmd
}

func runJobDiff(ctx context.Context, opts *jobDiffOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	how, err := opts.how()
	if err != nil {
		return err
	}
	r, view, err := f.asking(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	job, err := r.findAnyJob(ctx, view, opts.id)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, callPatience, client.ErrSilent)
	defer cancel()
	page, err := client.Diff(bounded, r.conn, wire.JobDiff{Session: job.Session, Job: job.Job, How: how, Reviewed: opts.reviewed, Round: opts.round}, 0)
	if err != nil {
		return err
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, page)
	}
	if page.Text == "" {
		f.say("%s has changed nothing since %.12s", job.Job, page.Base)
		return nil
	}
	body := plain.Block(page.Text)
	if opts.colour == "always" || opts.colour == "auto" && f.colour {
		body = colourDiff(body, how)
	}
	return f.page(ctx, strings.TrimRight(body, "\n")+"\n", opts.noPager)
}

func (o *jobDiffOptions) how() (wire.DiffHow, error) {
	n, how := 0, wire.DiffPatch
	for _, choice := range []struct {
		on  bool
		how wire.DiffHow
	}{{o.stat, wire.DiffStat}, {o.patch, wire.DiffPatch}, {o.word, wire.DiffWord}} {
		if choice.on {
			n, how = n+1, choice.how
		}
	}
	if n > 1 {
		return "", usage("choose one", "--stat, --patch and --word exclude each other")
	}
	if o.round > 0 && !o.reviewed {
		return "", usage("add --reviewed", "--round is one of a review")
	}
	if o.colour != "auto" && o.colour != "always" && o.colour != "never" {
		return "", usage("use auto, always or never", "there is no colour %q", o.colour)
	}
	return how, nil
}

const (
	red   = "31"
	green = "32"
	cyan  = "36"
	bold  = "1"
)

// colourDiff colours a difference that holds no escape sequences.
func colourDiff(body string, how wire.DiffHow) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		rest := strings.TrimSuffix(line, "\n")
		switch {
		case how == wire.DiffStat:
			rest = colourStat(rest)
		case strings.HasPrefix(rest, "@@"):
			rest = paint(cyan, rest)
		case strings.HasPrefix(rest, "diff --git "), strings.HasPrefix(rest, "index "), strings.HasPrefix(rest, "--- "), strings.HasPrefix(rest, "+++ "):
			rest = paint(bold, rest)
		case how == wire.DiffWord:
			rest = strings.NewReplacer("[-", "\x1b["+red+"m[-", "-]", "-]\x1b[0m", "{+", "\x1b["+green+"m{+", "+}", "+}\x1b[0m").Replace(rest)
		case strings.HasPrefix(rest, "+"):
			rest = paint(green, rest)
		case strings.HasPrefix(rest, "-"):
			rest = paint(red, rest)
		}
		b.WriteString(rest + "\n")
	}
	return b.String()
}

func paint(colour, s string) string { return "\x1b[" + colour + "m" + s + "\x1b[0m" }

// colourStat colours the row of signs at the end of a line.
func colourStat(line string) string {
	at := strings.LastIndexByte(line, ' ')
	signs := line[at+1:]
	if at < 0 || signs == "" || strings.Trim(signs, "+-") != "" {
		return line
	}
	plus := strings.Count(signs, "+")
	return line[:at+1] + paint(green, signs[:plus]) + paint(red, signs[plus:])
}

// page writes a text, through $PAGER when a person looks on.
func (f *factory) page(ctx context.Context, text string, direct bool) error {
	pager := f.env("PAGER")
	if pager == "" {
		pager = "less"
	}
	words := strings.Fields(pager)
	if direct || len(words) == 0 || words[0] == "cat" || !isTerminal(f.sys.Out) {
		_, err := io.WriteString(f.sys.Out, text)
		return err
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = strings.NewReader(text), os.Stdout, os.Stderr, f.sys.Environ
	if f.env("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		_, err = io.WriteString(f.sys.Out, text)
		return err
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	return nil
}
