package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/home"
	"scv/internal/wire"
)

type jobOpenOptions struct {
	f     *factory
	id    string
	shell bool
}

func newJobOpenCmd(f *factory, runF func(context.Context, *jobOpenOptions) error) *cobra.Command {
	opts := &jobOpenOptions{f: f}
	cmd := &cobra.Command{
		Use: "open ID", Args: exactly("a job, such as job-3 or @last"), ValidArgsFunction: f.completeJobs,
		Short:   "Open a job's directory in your editor, or a shell there",
		Long:    "Open a job's directory in $VISUAL or $EDITOR; with --shell, or when neither is set, a\n$SHELL there.",
		Example: "  scv jobs open job-3\n  scv jobs open --shell @last",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.id = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobOpen(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.shell, "shell", false, "a shell, whatever editor there is")
	return cmd
}

func runJobOpen(ctx context.Context, opts *jobOpenOptions) error {
	f := opts.f
	job, err := f.namedJob(ctx, opts.id)
	if err != nil {
		return err
	}
	editor := orElse(f.env("VISUAL"), f.env("EDITOR"))
	if opts.shell || strings.TrimSpace(editor) == "" {
		shell := orElse(f.env("SHELL"), "/bin/sh")
		f.say("a shell in %s; leave it with ctrl-D", home.Pretty(job.Cwd))
		return f.there(ctx, job.Cwd, shell)
	}
	return f.there(ctx, job.Cwd, append(strings.Fields(editor), ".")...)
}

// there runs one of the owner's own programs in a directory, with the terminal.
func (f *factory) there(ctx context.Context, dir string, argv ...string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return &fault{code: exitNotFound, message: "the directory " + home.Pretty(dir) + " is not there", next: "list the worktrees: scv agents worktrees"}
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(f.sys.Environ[:len(f.sys.Environ):len(f.sys.Environ)], "PWD="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f.sys.In, f.sys.Out, f.sys.Err
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return &fault{code: exitNotFound, message: argv[0] + " is not installed", next: "install it, or do it in: " + home.Pretty(dir)}
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return status(max(e.ExitCode(), exitFailed))
	}
	return err
}

type jobPrOptions struct {
	f               *factory
	id, base, title string
	draft, dry      bool
}

func newJobPrCmd(f *factory, runF func(context.Context, *jobPrOptions) error) *cobra.Command {
	opts := &jobPrOptions{f: f}
	cmd := &cobra.Command{
		Use: "pr ID", Aliases: []string{"mr"}, Args: exactly("a job, such as job-3 or @last"), ValidArgsFunction: f.completeJobs,
		Short: "Open a pull request with your own gh or glab",
		Long: `Open a pull or merge request of a job's branch, with your own gh or glab and your sign-in
there. SCV itself connects to nothing. Commit first: scv jobs commit ID.`,
		Example: "  scv jobs pr job-3\n  scv jobs pr --draft --title \"Retry the upload\" @last\n  scv jobs pr --dry-run job-3",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.id = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runJobPr(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&opts.title, "title", "", "title (default: the job's task)")
	flags.StringVar(&opts.base, "base", "", "branch that it should go to (default: the forge's)")
	flags.BoolVar(&opts.draft, "draft", false, "as a draft")
	flags.BoolVar(&opts.dry, "dry-run", false, "print the command, and run nothing")
	return cmd
}

func runJobPr(ctx context.Context, opts *jobPrOptions) error {
	f := opts.f
	job, err := inWorktree(ctx, f, opts.id)
	if err != nil {
		return err
	}
	argv, err := opts.argv(job)
	if err != nil {
		return err
	}
	if opts.dry {
		_, err := fmt.Fprintln(f.sys.Out, strings.Join(quoted(argv), " "))
		return err
	}
	return f.there(ctx, job.Worktree.Path, argv...)
}

// argv is the command of the owner's program: gh, or glab where gh is not installed.
func (o *jobPrOptions) argv(job *wire.Job) ([]string, error) {
	title, body := orElse(o.title, job.Task), fmt.Sprintf("Made with %s as %s.", job.Agent, job.Job)
	var argv []string
	if _, err := exec.LookPath("gh"); err == nil {
		argv = []string{"gh", "pr", "create", "--head", job.Worktree.Branch, "--title", title, "--body", body}
		if o.base != "" {
			argv = append(argv, "--base", o.base)
		}
	} else if _, err := exec.LookPath("glab"); err == nil {
		argv = []string{"glab", "mr", "create", "--source-branch", job.Worktree.Branch, "--push", "--title", title, "--description", body}
		if o.base != "" {
			argv = append(argv, "--target-branch", o.base)
		}
	} else {
		return nil, &fault{code: exitNotFound, message: "neither gh nor glab is installed", next: "install one, or push the branch yourself: git -C " + home.Pretty(job.Worktree.Path) + " push -u origin " + job.Worktree.Branch}
	}
	if o.draft {
		argv = append(argv, "--draft")
	}
	return argv, nil
}

// quoted are the words of a command as a shell takes them.
func quoted(argv []string) []string {
	out := make([]string, 0, len(argv))
	for _, w := range argv {
		if strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:@") != "" || w == "" {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out = append(out, w)
	}
	return out
}
