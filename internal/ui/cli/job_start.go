package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/home/offer"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

type jobStartOptions struct {
	f                    *factory
	args                 []string
	agent, model, effort string
	mode, cwd, file      string
	transport            string
	worktree, changes    bool
	base, branch         string
	wait, quiet          bool
	timeout              time.Duration
	review               reviewFlags
	json                 jsonFlag
}

func newJobStartCmd(f *factory, runF func(context.Context, *jobStartOptions) error) *cobra.Command {
	opts := &jobStartOptions{f: f}
	cmd := &cobra.Command{
		Use: "start [PROMPT]", Aliases: []string{"run", "new"}, Args: cobra.ArbitraryArgs,
		Short: "Start a job and return at once",
		Long: `Start a job and return at once: it goes on when this terminal closes. The prompt is
the argument, or a file (--file), or standard input (- or a pipe). One that begins
with a dash comes after --.`,
		Example: `  scv jobs start --agent codex "fix the failing test"
  scv jobs start --agent claude --file task.md --wait
  scv jobs start --agent codex --worktree --base main "add a retry"
  scv jobs start --agent codex --review=claude --rounds 3 "add a retry"
  git diff | scv jobs start --agent claude -q -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.args = args
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobStart(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&opts.agent, "agent", "", "who works, such as codex, claude, gemini, opencode, demo")
	flags.StringVarP(&opts.file, "file", "F", "", "read the prompt from this file")
	flags.StringVarP(&opts.cwd, "cwd", "C", "", "directory to work in (default: this one)")
	flags.StringVar(&opts.model, "model", "", "model of the agent")
	flags.StringVar(&opts.effort, "effort", "", "reasoning effort of the agent")
	flags.StringVar(&opts.mode, "mode", "", "what it may do unasked: auto, on-risk, always, read-only")
	flags.StringVar(&opts.transport, "transport", "", "live (one process for all its turns) or cli (one per turn)")
	flags.BoolVarP(&opts.worktree, "worktree", "w", false, "work in a git worktree of its own, on a branch of its own")
	flags.StringVar(&opts.base, "base", "", "with --worktree: the branch, tag or commit to start from")
	flags.StringVar(&opts.branch, "branch", "", "with --worktree: the name of its branch")
	flags.BoolVar(&opts.changes, "with-changes", false, "with --worktree: bring along what is not committed here")
	opts.review.add(flags)
	flags.BoolVar(&opts.wait, "wait", false, "wait for the end and print the reply")
	addPatience(flags, &opts.timeout, "timeout", "with --wait: give up waiting after this time, such as 10m")
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "print only the id")
	addJSON[wire.DaemonStatus](cmd, &opts.json)
	_ = cmd.RegisterFlagCompletionFunc("agent", f.completeAgents)
	_ = cmd.RegisterFlagCompletionFunc("transport", cobra.FixedCompletions(transports(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("model", f.completeOffered(func(o offer.Offer, _ *cobra.Command) []wire.AgentChoice { return o.Models }))
	_ = cmd.RegisterFlagCompletionFunc("effort", f.completeOffered(offeredEfforts))
	_ = cmd.RegisterFlagCompletionFunc("land", cobra.FixedCompletions(landModes(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("review", f.completeAgents)
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(wording.Modes(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func transports() []string { return []string{wire.TransportLive, wire.TransportCLI} }

func runJobStart(ctx context.Context, opts *jobStartOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	cmd, err := opts.command(ctx)
	if err != nil {
		return err
	}
	st, err := f.call(ctx, cmd)
	if err != nil {
		return err
	}
	if st.WorkbenchJob == nil {
		return &fault{code: exitFailed, message: "the daemon took the prompt and named no job", next: "look for it: scv jobs"}
	}
	if opts.wait {
		return opts.await(ctx, *st.WorkbenchJob)
	}
	return opts.report(st)
}

// command checks what the daemon would refuse anyway, with better words, and makes the request.
func (o *jobStartOptions) command(ctx context.Context) (wire.WorkbenchStart, error) {
	none := wire.WorkbenchStart{}
	if o.timeout != 0 && !o.wait {
		return none, usage("add --wait, or leave --timeout out", "--timeout needs --wait")
	}
	if o.mode != "" && !wire.PermissionMode(o.mode).Valid() {
		return none, oneOf("mode", "--mode", o.mode, wording.Modes())
	}
	if o.transport != "" {
		if err := oneOf("transport", "--transport", o.transport, transports()); err != nil {
			return none, err
		}
	}
	review, err := o.review.request(o.args)
	if err != nil {
		return none, err
	}
	if review == nil && !o.worktree && (o.base != "" || o.branch != "" || o.changes) {
		return none, usage("add --worktree", "--base, --branch and --with-changes need --worktree or --review")
	}
	agent, err := o.chooseAgent()
	if err != nil {
		return none, err
	}
	prompt, err := o.f.prompt(ctx, o.args, o.file)
	if err != nil {
		return none, err
	}
	cwd, err := directory(o.cwd)
	if err != nil {
		return none, err
	}
	cmd := wire.WorkbenchStart{Workspace: workspace(cwd), Agent: agent, Prompt: prompt, Cwd: &cwd, Key: client.NewKey(), Worktree: o.worktree, WithChanges: o.changes}
	if cmd.Review = review; review != nil {
		cmd.Worktree = true
	}
	if o.base != "" {
		cmd.Base = &o.base
	}
	if o.branch != "" {
		cmd.Branch = &o.branch
	}
	if o.model != "" {
		cmd.Model = &o.model
	}
	if o.effort != "" {
		cmd.Effort = &o.effort
	}
	if o.mode != "" {
		cmd.Mode = new(wire.PermissionMode(o.mode))
	}
	if o.transport != "" {
		cmd.Transport = &o.transport
	}
	return cmd, nil
}

// chooseAgent is the named one, or the only real agent that is installed.
func (o *jobStartOptions) chooseAgent() (string, error) {
	if o.agent != "" {
		if !wire.ValidAgentName(o.agent) {
			return "", usage("list them: scv agents", "%q is no agent's name", o.agent)
		}
		return o.agent, nil
	}
	var found []string
	for _, name := range config.Served() {
		if wording.Aside(name) {
			continue
		}
		if _, err := exec.LookPath(name); err == nil {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", usage("install one (scv agents tells how), or try: scv jobs start --agent demo PROMPT", "no agent was named, and none was found")
	}
	return "", usage("name one: --agent "+found[0], "no agent was named, and %s are installed", strings.Join(found, " and "))
}

// directory resolves where the agent is to work: a directory that is there, by its real path.
func directory(path string) (string, error) {
	if path == "" {
		here, err := os.Getwd()
		if err != nil {
			return "", usage("go to one that exists: cd ~   Or name it: --cwd DIR", "the directory that you are in is gone")
		}
		path = here
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", usage("go to one that exists: cd ~   Or name it: --cwd DIR", "the directory that you are in is gone")
	}
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return "", usage("make it: mkdir -p "+home.Pretty(full), "there is no directory %s: %s", home.Pretty(full), cause(err))
	}
	info, err := os.Stat(real)
	if err != nil || !info.IsDir() {
		return "", usage("name a directory: --cwd DIR", "%s is not a directory", home.Pretty(full))
	}
	return real, nil
}

// workspace is the repository that holds a directory, or the directory itself.
func workspace(cwd string) string {
	for dir := cwd; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return cwd
		}
	}
}

// report prints the id, and what to do next.
func (o *jobStartOptions) report(st *wire.DaemonStatus) error {
	f := o.f
	_, job, ok := st.WorkbenchJob.Split()
	if !ok {
		job = wire.JobID(*st.WorkbenchJob)
	}
	return accepted(st, job).tell(f.screen, st, &o.json, o.quiet)
}

func trimDot(s string) string {
	for len(s) > 0 && (s[len(s)-1] == '.' || s[len(s)-1] == ' ') {
		s = s[:len(s)-1]
	}
	return s
}

// await waits for the job's end and prints its reply.
func (o *jobStartOptions) await(ctx context.Context, ref wire.JobRef) error {
	f := o.f
	_, job, _ := ref.Split()
	if !o.quiet {
		f.say("%s is accepted; waiting for its end. ctrl-C leaves it running", job)
	}
	w := &waiter{f: f, want: finalStates}
	ended, err := w.wait(ctx, o.timeout, []wire.JobRef{ref})
	if err != nil {
		return f.waitEnded(ctx, err, string(job))
	}
	r, err := f.read(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	if err := f.printResult(ctx, r, &ended[0], &o.json); err != nil {
		return err
	}
	return status(reviewExit(&ended[0], outcome(ended[0].State, ended[0].Class)))
}
