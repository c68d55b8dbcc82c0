package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/home"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

type worktreesOptions struct {
	f     *factory
	quiet bool
	json  jsonFlag
}

// newWorktreesCmd is the noun worktrees; without a verb it lists.
func newWorktreesCmd(f *factory) *cobra.Command {
	return listing(&cobra.Command{
		Use: "worktrees", Aliases: []string{"worktree", "trees"},
		Short:   "Show and remove the git worktrees of jobs",
		Example: "  scv agents worktrees\n  cd $(scv agents worktrees path job-3)\n  scv agents worktrees clean --all",
	}, newWorktreesListCmd(f, nil),
		newWorktreesListCmd(f, nil), newWorktreePathCmd(f, nil), newWorktreeRmCmd(f, nil), newWorktreePruneCmd(f, nil), newWorktreeCleanCmd(f, nil), newWorktreeTrustCmd(f, nil))
}

func newWorktreesListCmd(f *factory, runF func(context.Context, *worktreesOptions) error) *cobra.Command {
	opts := &worktreesOptions{f: f}
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: exactly(), Short: "List the worktrees, what they hold and who uses them",
		Example: "  scv agents worktrees list\n  scv agents worktrees list --json=path,branch,dirty",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runWorktrees(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.quiet, "quiet", "q", false, "print only the paths")
	addJSON[wire.WorktreeInfo](cmd, &opts.json)
	return cmd
}

func runWorktrees(ctx context.Context, opts *worktreesOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	st, err := f.call(ctx, wire.WorktreesCommand{})
	if err != nil {
		return err
	}
	switch {
	case opts.json.on():
		return opts.json.print(f.sys.Out, st.Worktrees)
	case opts.quiet:
		for i := range st.Worktrees {
			if _, err := fmt.Fprintln(f.sys.Out, st.Worktrees[i].Path); err != nil {
				return err
			}
		}
		return nil
	case len(st.Worktrees) == 0:
		f.say("there are no worktrees. Make one: scv jobs start --worktree PROMPT")
		return nil
	}
	columns := []column{
		{name: "BRANCH", shrink: 12},
		{name: "WORK", keep: 6, shrink: 8},
		{name: "JOBS", keep: 5, shrink: 6},
		{name: "SIZE", keep: 3},
		{name: "IGNORED", keep: 1},
		{name: "USED", keep: 4},
		{name: "PATH", keep: 2, shrink: 10},
	}
	rows := make([][]cell, 0, len(st.Worktrees))
	for i := range st.Worktrees {
		w := &st.Worktrees[i]
		rows = append(rows, []cell{
			text(w.Branch), text(standing(w)), text(users(w.Jobs)), bytesCell(w.TrackedBytes), bytesCell(w.IgnoredBytes),
			f.when(value64(w.LastUseUnixSeconds)),
			{show: home.Pretty(w.Path), pipe: w.Path},
		})
	}
	return f.printTable(f.sys.Out, columns, rows)
}

// standing is what a worktree holds, in a few words.
func standing(w *wire.WorktreeInfo) string {
	if w.Problem != nil {
		return *w.Problem
	}
	var parts []string
	if w.Dirty != nil && *w.Dirty {
		parts = append(parts, "not committed")
	}
	if n := value64(w.Ahead); n > 0 {
		parts = append(parts, strconv.FormatUint(n, 10)+" ahead")
	}
	if n := value64(w.Behind); n > 0 {
		parts = append(parts, strconv.FormatUint(n, 10)+" behind")
	}
	if w.Now != nil {
		parts = append(parts, "on "+*w.Now)
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func users(jobs []wire.JobRef) string {
	if len(jobs) == 0 {
		return "-"
	}
	names := make([]string, 0, len(jobs))
	for _, ref := range jobs {
		_, id, _ := ref.Split()
		names = append(names, string(id))
	}
	return strings.Join(names, " ")
}

func bytesCell(n *uint64) cell {
	if n == nil {
		return cell{show: "?"}
	}
	return cell{show: plain.Size(*n), pipe: strconv.FormatUint(*n, 10)}
}

func value64(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

type worktreeOptions struct {
	f     *factory
	id    string
	force bool
}

func newWorktreePathCmd(f *factory, runF func(context.Context, *worktreeOptions) error) *cobra.Command {
	opts := &worktreeOptions{f: f}
	return worktreeCmd(&cobra.Command{
		Use: "path ID", Short: "Print the path of a worktree", ValidArgsFunction: f.completeJobs,
		Long:    "Print the path of a worktree, named by a job that works in it, its branch, its directory's\nname or any path in it.",
		Example: "  cd $(scv agents worktrees path job-3)",
	}, opts, runF, func(ctx context.Context, o *worktreeOptions) error {
		w, err := findWorktree(ctx, f, o.id)
		if err == nil {
			_, err = fmt.Fprintln(f.sys.Out, w.Path)
		}
		return err
	})
}

func newWorktreeRmCmd(f *factory, runF func(context.Context, *worktreeOptions) error) *cobra.Command {
	opts := &worktreeOptions{f: f}
	cmd := worktreeCmd(&cobra.Command{
		Use: "rm ID", Aliases: []string{"remove"}, Short: "Remove a worktree; its branch stays", ValidArgsFunction: f.completeJobs,
		Long: `Remove a worktree, if nothing would be lost with it: what is not committed, not merged,
not pushed, or ignored and unknown keeps it, and is named. --force gives that up. A
process or job that works in it, and a check that fails, keep it in any case.`,
		Example: "  scv agents worktrees rm job-3\n  scv agents worktrees rm --force scv/codex-fix-retry-3f9a2c",
	}, opts, runF, func(ctx context.Context, o *worktreeOptions) error {
		w, err := findWorktree(ctx, f, o.id)
		if err != nil {
			return err
		}
		st, err := f.call(ctx, wire.WorktreeRemove{Path: w.Path, Force: o.force})
		if err != nil {
			return err
		}
		f.say("%s", value(st.WorkbenchNote))
		return nil
	})
	cmd.Flags().BoolVarP(&opts.force, "force", "f", false, "give up the work in it")
	return cmd
}

func worktreeCmd(cmd *cobra.Command, opts *worktreeOptions, runF, run func(context.Context, *worktreeOptions) error) *cobra.Command {
	if runF == nil {
		runF = run
	}
	cmd.Args = exactly("a worktree: its job, branch or path")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			opts.id = args[0]
		}
		return runF(cmd.Context(), opts)
	}
	return cmd
}

// findWorktree resolves what a person calls a worktree: a job in it, its branch, its directory's name, or a path in it.
func findWorktree(ctx context.Context, f *factory, name string) (*wire.WorktreeInfo, error) {
	r, view, err := f.asking(ctx)
	if err != nil {
		return nil, err
	}
	defer r.close()
	st, err := f.call(ctx, wire.WorktreesCommand{})
	if err != nil {
		return nil, err
	}
	path, _ := filepath.Abs(name)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	job, jobErr := findJob(view, name)
	if jobErr == nil && job.Worktree != nil {
		path = job.Worktree.Path
	}
	i := slices.IndexFunc(st.Worktrees, func(w wire.WorktreeInfo) bool {
		return w.Branch == name || filepath.Base(w.Path) == name || path == w.Path || strings.HasPrefix(path, w.Path+"/")
	})
	switch {
	case i >= 0:
		return &st.Worktrees[i], nil
	case jobErr == nil && job.Worktree == nil:
		return nil, &fault{code: exitNotFound, message: name + " does not work in a worktree of its own", next: "list them: scv agents worktrees"}
	}
	return nil, &fault{code: exitNotFound, message: fmt.Sprintf("there is no worktree %q", name), next: "list them: scv agents worktrees"}
}

type worktreePruneOptions struct {
	f    *factory
	yes  bool
	json jsonFlag
}

func newWorktreePruneCmd(f *factory, runF func(context.Context, *worktreePruneOptions) error) *cobra.Command {
	opts := &worktreePruneOptions{f: f}
	cmd := &cobra.Command{
		Use: "prune", Args: exactly(), Short: "Tell which worktrees hold nobody's work; --yes removes them",
		Long: `Tell for each worktree whether it may go, or why it is kept. Only with --yes are those
removed that are clean, merged and unused. Branches stay.`,
		Example: "  scv agents worktrees prune\n  scv agents worktrees prune --yes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runWorktreePrune(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.yes, "yes", "y", false, "remove them")
	addJSON[wire.PruneEntry](cmd, &opts.json)
	return cmd
}

func runWorktreePrune(ctx context.Context, opts *worktreePruneOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	st, err := f.call(ctx, wire.WorktreePrune{Apply: opts.yes})
	if err != nil {
		return err
	}
	list := []wire.PruneEntry{}
	if st.Prune != nil {
		list = *st.Prune
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, list)
	}
	may := 0
	rows := make([][]cell, 0, len(list))
	for i := range list {
		what := "kept"
		if list[i].Kept == nil {
			may++
			if what = "may go"; opts.yes {
				what = "removed"
			}
		}
		rows = append(rows, []cell{text(filepath.Base(list[i].Path)), text(what), text(value(list[i].Kept))})
	}
	if err := f.printTable(f.sys.Out, []column{{name: "WORKTREE", shrink: 10}, {name: "WHAT"}, {name: "WHY", shrink: 10}}, rows); err != nil {
		return err
	}
	switch {
	case may == 0:
		f.say("no worktree may go without losing something")
	case opts.yes:
		f.say("%d removed; their branches stay", may)
	default:
		f.say("%d may go. Remove them: scv agents worktrees prune --yes", may)
	}
	return nil
}
