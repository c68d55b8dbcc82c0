package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

type jobReviewOptions struct {
	f      *factory
	id     string
	what   wire.ReviewDecision // empty: only looks
	rounds uint32
	json   jsonFlag
}

func newJobReviewCmd(f *factory) *cobra.Command {
	opts := &jobReviewOptions{f: f}
	cmd := reviewCmd(opts, &cobra.Command{
		Use: "review ID", Short: "Tell what happened in a reviewed job, and decide about it",
		Long: `Tell what happened in a reviewed job, round by round: who built, which commit was
reviewed, each verdict with its findings, and what was landed.`,
		Example: "  scv jobs review job-3\n  scv jobs review accept job-3\n  scv jobs review extend job-3 --rounds 2",
	})
	extend := &jobReviewOptions{f: f, what: wire.DecideExtend}
	more := reviewCmd(extend, &cobra.Command{
		Use: "extend ID", Short: "Give a reviewed job more rounds, also one that has ended",
		Long: `Give a reviewed job more rounds. One that has ended without an approval goes on as a new
job, in the same worktree and with the findings that are open.`,
		Example: "  scv jobs review extend job-3 --rounds 2",
	})
	more.Flags().Uint32Var(&extend.rounds, "rounds", 1, "how many more")
	cmd.AddCommand(
		reviewCmd(&jobReviewOptions{f: f, what: wire.DecideAccept}, &cobra.Command{
			Use: "accept ID", Short: "Approve what was reviewed last as it is",
			Long: `Approve the commit that was reviewed last as it is, over its reviewers. What they found
stays in the record.`,
			Example: "  scv jobs review accept job-3",
		}),
		reviewCmd(&jobReviewOptions{f: f, what: wire.DecideStop}, &cobra.Command{
			Use: "stop ID", Short: "End a reviewed job with the turns that run for it", Example: "  scv jobs review stop job-3",
		}),
		more,
	)
	return cmd
}

func reviewCmd(opts *jobReviewOptions, cmd *cobra.Command) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = exactly("a reviewed job, such as job-3 or @last"), opts.f.completeJobs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			opts.id = args[0]
		}
		return runJobReview(cmd.Context(), opts)
	}
	if opts.what == "" {
		addJSON[wire.ReviewReport](cmd, &opts.json)
	} else {
		addJSON[wire.DaemonStatus](cmd, &opts.json)
	}
	return cmd
}

func runJobReview(ctx context.Context, opts *jobReviewOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	job, err := f.namedJob(ctx, opts.id)
	if err != nil {
		return err
	}
	if opts.what == "" {
		return opts.tell(ctx, job)
	}
	st, err := f.call(ctx, wire.ReviewDecide{Session: job.Session, Job: job.Job, What: opts.what, Rounds: opts.rounds, Key: client.NewKey()})
	if err != nil {
		return err
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, st)
	}
	if st.WorkbenchJob != nil {
		_, made, _ := st.WorkbenchJob.Split()
		if _, err := fmt.Fprintln(f.sys.Out, made); err != nil {
			return err
		}
		f.say("%s goes on where %s ended. Next: scv jobs review %s", made, job.Job, made)
		return nil
	}
	f.say("%s", value(st.WorkbenchNote))
	return nil
}

func (o *jobReviewOptions) tell(ctx context.Context, job *wire.Job) error {
	f := o.f
	st, err := f.call(ctx, wire.JobReview{Session: job.Session, Job: job.Job})
	if err != nil {
		return err
	}
	r := st.Review
	if r == nil {
		return &fault{code: exitFailed, message: "the daemon answered without a record", next: "scv jobs show " + o.id}
	}
	if o.json.on() {
		return o.json.print(f.sys.Out, r)
	}
	return f.printPairs(reviewLines(f.screen, job, r))
}

// reviewLines is the record as names with their values.
func reviewLines(f *screen, job *wire.Job, r *wire.ReviewReport) [][2]string {
	lines := [][2]string{
		{"job", string(job.Job) + "  " + plain.Line(job.Task)},
		{"state", job.State.String() + "  " + value(job.Detail)},
		{"rounds", fmt.Sprintf("%d of %d, %s, land %s, journal %s", r.Status.Round, r.Status.Rounds, plain.Count(int(r.Status.Quorum), "approval")+" needed", r.Status.Land, r.Status.Journal)},
	}
	add := func(name, text string) { lines = append(lines, [2]string{name, text}) }
	round := uint32(0)
	for i := range r.Facts {
		x := &r.Facts[i]
		name := ""
		if x.Round > round {
			round = x.Round
			name = fmt.Sprintf("round %d", round)
		}
		for _, text := range factLines(x) {
			add(name, f.clock(x.AtMs)+"  "+plain.Line(text))
			name = ""
		}
	}
	for i := range r.Open {
		x := &r.Open[i]
		add([]string{"open", ""}[min(i, 1)], findingLine(x))
		for line := range strings.Lines(x.Detail) {
			add("", "    "+plain.Truncate(plain.Line(line), pageCells))
		}
	}
	if o := r.Outcome; o != nil {
		add("outcome", outcomeLine(o))
		if text := landingLine(&o.Landing); text != "" {
			add("landing", text)
		}
	}
	for i, next := range reviewNext(job, r) {
		add([]string{"next", ""}[min(i, 1)], next)
	}
	return lines
}

// factLines tell a fact of a review; the words of agents are marked as theirs.
func factLines(x *wire.ReviewFact) []string {
	who := x.Agent
	if x.Job != nil {
		who += " (" + string(*x.Job) + ")"
	}
	switch x.What {
	case wire.ReviewTurnStarted:
		return []string{who + " begins: " + string(x.Phase)}
	case wire.ReviewRecorded:
		return []string{fmt.Sprintf("recorded as %.12s: %s changed since %.12s", x.Head, plain.Count(x.Files, "file"), x.Base)}
	case wire.ReviewLandChecked:
		return []string{"landing: " + x.Text}
	case wire.ReviewExtended:
		return []string{fmt.Sprintf("you gave it %s more", plain.Count(int(x.Rounds), "round"))}
	case wire.ReviewAccepted:
		return []string{"you accepted it as it is"}
	case wire.ReviewEnded:
		return []string{"you ended it"}
	case wire.ReviewFailed:
		return []string{"it cannot go on: " + x.Text}
	case wire.ReviewFinished:
		return []string{"decided: " + x.Text}
	default:
	}
	if v := x.Verdict; v != nil {
		out := []string{fmt.Sprintf("%s: %s. It says: %s", who, v.Verdict, v.Summary)}
		for i := range v.Findings {
			out = append(out, "    "+findingLine(&v.Findings[i]))
		}
		if x.Text != "" {
			out = append(out, "    "+x.Text)
		}
		return out
	}
	text := who + " ended"
	if x.State != nil {
		text += " " + x.State.String()
	}
	if x.Result != "" {
		text += ", no verdict (" + string(x.Result) + ")"
	}
	if x.Text != "" {
		text += ": " + x.Text
	}
	return []string{text}
}

func findingLine(x *wire.ReviewFinding) string {
	text := strings.TrimSpace(x.ID + " " + x.Severity + ": " + x.Title)
	if x.Location != "" {
		text += " (" + x.Location + ")"
	}
	if len(x.By) > 0 {
		text += ", found by " + strings.Join(x.By, " and ")
	}
	return plain.Line(text)
}

// outcomeLine is a decision in one line, with the reviewer's words marked as such.
func outcomeLine(o *wire.JobOutcome) string {
	r := &o.Review
	text := strings.ReplaceAll(string(r.Outcome), "_", " ")
	if r.Reason != nil {
		text += " (" + strings.ReplaceAll(*r.Reason, "_", " ") + ")"
	}
	text += fmt.Sprintf(", round %d of %d", r.Round, r.Rounds)
	if r.OpenCount > 0 {
		text += fmt.Sprintf(", %s open", plain.Count(int(r.OpenCount), "blocking finding"))
	}
	if r.Summary != nil {
		text += "; " + orElse(r.Reviewer, "the reviewer") + " says: " + *r.Summary
	}
	return plain.Line(text)
}

// landingLine tells what became of the commits; empty where nothing was to become of them.
func landingLine(l *wire.LandingSummary) string {
	if l.Status == wire.LandingNotRequested {
		return ""
	}
	text := strings.ReplaceAll(string(l.Status), "_", " ")
	if l.Ref != nil {
		text += " on " + *l.Ref
	}
	if len(l.Commits) > 0 {
		text += " as " + strings.Join(l.Commits, ", ")
	}
	if l.Unauthorized {
		text += ", which nobody allowed"
	}
	if l.Reason != nil {
		text += "; " + *l.Reason
	}
	if l.Evidence != nil {
		text += "; " + strings.ReplaceAll(string(*l.Evidence), "_", " ")
	}
	if l.Detail != nil {
		text += "; the builder says: " + *l.Detail
	}
	return plain.Line(text)
}

// reviewNext lists what can be done with a reviewed job.
func reviewNext(job *wire.Job, r *wire.ReviewReport) []string {
	id := string(job.Job)
	approved := r.Outcome != nil && r.Outcome.Review.Outcome == wire.ReviewApproved
	switch {
	case !job.State.Final():
		return []string{"scv jobs review stop " + id, "scv jobs list"}
	case approved:
		return []string{"scv jobs diff --reviewed " + id, "scv jobs apply " + id}
	}
	return []string{"scv jobs diff --reviewed " + id, "scv jobs review extend " + id + " --rounds 2", "scv jobs review accept " + id}
}

// reviewExit is the exit code of a job whose reviewers did not approve it.
func reviewExit(job *wire.Job, code int) int {
	if code != exitOK || !job.Reviewed || job.Review != nil && job.Review.Outcome != nil && *job.Review.Outcome == wire.ReviewApproved {
		return code
	}
	return exitFailed
}
