package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/client/offline"
	"scv/internal/home"
	"scv/internal/safe/plain"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// Lines of a prompt and of a reply that the page of a job shows.
const (
	pageLines = 8
	pageCells = 600 // of one line
)

type jobShowOptions struct {
	f    *factory
	id   string
	json jsonFlag
}

// A jobPage is all that explains one job.
type jobPage struct {
	wire.Job
	Since     uint64          `json:"since_unix_seconds"` // of the state
	Prompt    string          `json:"prompt"`             // masked, whole
	Reply     string          `json:"reply"`              // its start, at most 4 KiB
	Error     string          `json:"error"`              // likewise
	Evidence  []wire.Evidence `json:"evidence"`
	Runs      []wire.Run      `json:"runs"` // oldest first; an old one may be left out
	Approvals []wire.Approval `json:"approvals"`
	Next      []string        `json:"next"` // commands, the most useful first

	name string
}

func newJobShowCmd(f *factory, runF func(context.Context, *jobShowOptions) error) *cobra.Command {
	opts := &jobShowOptions{f: f}
	cmd := &cobra.Command{
		Use: "show ID", Args: exactly("a job, such as job-3 or @last"), ValidArgsFunction: f.completeJobs,
		Short: "Explain a job on one page",
		Long: `Explain a job on one page: its state and what it rests on, the prompt, the runs that
served it, what it used, its worktree, the reply, and what can be done next.`,
		Example: "  scv jobs show job-3\n  scv jobs show @last --json=state,prompt,evidence",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.id = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobShow(cmd.Context(), opts)
		},
	}
	addJSON[jobPage](cmd, &opts.json)
	return cmd
}

func runJobShow(ctx context.Context, opts *jobShowOptions) error {
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
	page, err := r.page(ctx, view, job)
	if err != nil {
		return err
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, page)
	}
	return f.printPairs(page.lines(f.screen))
}

// page gathers what is known of a job. The prompt stands in the ledger alone, which can be read beside a daemon.
func (r *reading) page(ctx context.Context, view *wire.Snapshot, job *wire.Job) (*jobPage, error) {
	p := &jobPage{
		Job: *job, name: wording.Name(view, job), Since: job.UpdatedUnixSeconds,
		Evidence: []wire.Evidence{}, Runs: []wire.Run{}, Approvals: []wire.Approval{},
	}
	why, err := r.why(ctx, job.Ref())
	switch {
	case client.Predates(err): // it knows no evidence
	case err != nil:
		return nil, err
	default:
		p.Evidence, p.Since = append(p.Evidence, why.Evidence...), why.SinceUnixSeconds
	}
	disk, err := offline.Open(r.h)
	if err != nil {
		return nil, err
	}
	defer disk.Close()
	if p.Prompt, err = disk.Prompt(ctx, job.Session, job.Job); err != nil {
		return nil, err
	}
	if job.State.Final() {
		res, err := r.result(ctx, job.Ref(), 0)
		if err != nil {
			return nil, err
		}
		p.Reply, p.Error = value(res.Reply), value(res.Error)
	}
	served := wording.RunsOf(view, job)
	for _, run := range slices.Backward(view.Runs) {
		if slices.Contains(served, run.Handle) {
			p.Runs = append(p.Runs, run)
		}
	}
	for _, a := range view.Approvals {
		if a.Session == job.Session && a.Job == job.Job {
			p.Approvals = append(p.Approvals, a)
		}
	}
	p.Next = p.next()
	return p, nil
}

// next lists what can be done with a job in its state, the most useful command first.
func (p *jobPage) next() []string {
	var out []string
	for _, a := range p.Approvals {
		out = append(out, "scv approvals show "+string(a.ID))
	}
	verbs := []string{"jobs log -f", "jobs cancel"}
	switch {
	case p.State == wire.StateQueued:
		verbs = []string{"why", "jobs queue edit", "jobs cancel"}
	case p.Resumable:
		verbs = []string{"jobs resume", "jobs log", "why"}
	case p.State == wire.StateCompleted:
		verbs = []string{"jobs result", "jobs log", "jobs send"}
	case p.State.Final():
		verbs = []string{"jobs log", "why", "jobs retry"}
	case p.State == wire.StateUnknown:
		verbs = []string{"why", "jobs log", "jobs cancel"}
	}
	for _, verb := range verbs {
		line := "scv " + verb + " " + p.name
		if verb == "jobs send" {
			line += ` "and now ..."`
		}
		out = append(out, line)
	}
	return out
}

// lines is the page as names with their values.
func (p *jobPage) lines(f *screen) [][2]string {
	lines := [][2]string{
		{"job", p.name + "  " + string(p.Ref())},
		{"state", p.State.String() + ", since " + f.since(p.Since)},
	}
	add := func(name, text string) {
		if text != "" {
			lines = append(lines, [2]string{name, text})
		}
	}
	add("detail", value(p.Detail))
	if p.Class != nil {
		add("kind", string(*p.Class))
	}
	add("agent", p.how())
	add("folder", home.Pretty(p.Cwd))
	if w := p.Worktree; w != nil {
		add("worktree", home.Pretty(w.Path)+"  branch "+w.Branch)
	}
	add("started", f.since(p.CreatedUnixSeconds)+" by "+string(p.StartedBy))
	add("thread", p.thread())
	add("used", wording.Used(p.Usage))
	for i := range p.Runs {
		add("run", runLine(f, &p.Runs[i]))
	}
	for _, a := range p.Approvals {
		add("asks", string(a.ID)+"  "+a.Risk+"  "+a.Summary)
	}
	for i, e := range p.Evidence {
		add([]string{"because", ""}[min(i, 1)], f.clock(e.AtMs)+"  "+e.Source+"  "+e.Fact)
	}
	lines = append(lines, excerpt("prompt", p.Prompt)...)
	lines = append(lines, excerpt("error", p.Error)...)
	lines = append(lines, excerpt("reply", p.Reply)...)
	for i, next := range p.Next {
		add([]string{"next", ""}[min(i, 1)], next)
	}
	return lines
}

// how is the agent with what it was asked to use.
func (p *jobPage) how() string {
	out := p.Agent
	if m := p.Models; m != nil && (m.Reported != nil || m.Requested != nil) {
		out += "  model " + orElse(value(m.Reported), value(m.Requested))
	}
	if p.Mode != nil {
		out += "  mode " + string(*p.Mode)
	}
	return out
}

// thread is what the job goes on with, and what goes on with it.
func (p *jobPage) thread() string {
	var parts []string
	if p.Conversation != nil {
		parts = append(parts, string(*p.Conversation))
	}
	for _, link := range []struct {
		word string
		to   *wire.JobRef
	}{{"resumes", p.Resumes}, {"retries", p.Retries}, {"forked from", p.Forks}, {"resumed as", p.ResumedAs}} {
		if link.to != nil {
			_, job, _ := link.to.Split()
			parts = append(parts, link.word+" "+string(job))
		}
	}
	return strings.Join(parts, "  ")
}

func runLine(f *screen, run *wire.Run) string {
	life := "ended"
	if run.Live {
		life = "live"
	}
	return fmt.Sprintf("%s  %s  %s  since %s", run.Handle, run.State, life, f.since(run.StartedUnixSeconds))
}

// excerpt is the start of a text, a line each, and how much follows.
func excerpt(name, text string) [][2]string {
	text = strings.TrimSpace(plain.Block(text))
	if text == "" {
		return nil
	}
	all := strings.Split(text, "\n")
	var out [][2]string
	for i, line := range all[:min(len(all), pageLines)] {
		if i > 0 {
			name = ""
		}
		out = append(out, [2]string{name, plain.Truncate(line, pageCells)})
	}
	if more := len(all) - pageLines; more > 0 {
		out = append(out, [2]string{"", fmt.Sprintf("(%s more)", plain.Count(more, "line"))})
	}
	return out
}
