package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

type worktreeCleanOptions struct {
	f    *factory
	id   string
	all  bool
	yes  bool
	json jsonFlag
}

func newWorktreeCleanCmd(f *factory, runF func(context.Context, *worktreeCleanOptions) error) *cobra.Command {
	opts := &worktreeCleanOptions{f: f}
	cmd := &cobra.Command{
		Use: "clean [ID]", Short: "Tell which folders tools can make again; --yes removes them", ValidArgsFunction: f.completeJobs,
		Args: cobra.MaximumNArgs(1),
		Long: `Tell which folders of a worktree, or of all with --all, are made again by a tool, such as
node_modules or target, and are ignored by git. Only with --yes are they removed. The
worktree stays, with all that is tracked or unknown. One in which a job or a process works is
left alone.`,
		Example: "  scv agents worktrees clean job-3\n  scv agents worktrees clean --all --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.id = strings.Join(args, ""); opts.all == (opts.id != "") {
				return usage("scv agents worktrees clean job-3   or: scv agents worktrees clean --all", "name one worktree, or all of them with --all")
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runWorktreeClean(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.all, "all", "a", false, "in all worktrees")
	cmd.Flags().BoolVarP(&opts.yes, "yes", "y", false, "remove the folders")
	addJSON[wire.CleanEntry](cmd, &opts.json)
	return cmd
}

func runWorktreeClean(ctx context.Context, opts *worktreeCleanOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	ask := wire.WorktreeClean{Apply: opts.yes}
	if !opts.all {
		w, err := findWorktree(ctx, f, opts.id)
		if err != nil {
			return err
		}
		ask.Path = w.Path
	}
	st, err := f.call(ctx, ask)
	if err != nil {
		return err
	}
	list := []wire.CleanEntry{}
	if st.Clean != nil {
		list = *st.Clean
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, list)
	}
	return opts.tell(list)
}

// tell prints a line for each folder, and for each worktree that is left alone.
func (o *worktreeCleanOptions) tell(list []wire.CleanEntry) error {
	f := o.f
	free := uint64(0)
	rows := make([][]cell, 0, len(list))
	for i := range list {
		e, what := &list[i], "may go"
		if o.yes {
			what = "removed"
		}
		if e.Kept != nil && (!o.yes || len(e.Folders) == 0) {
			what = "kept"
		}
		for j := range e.Folders {
			x := &e.Folders[j]
			if what != "kept" {
				free += x.Bytes
			}
			rows = append(rows, []cell{text(filepath.Base(e.Path)), text(x.Path), bytesCell(&x.Bytes), text(what), text(value(e.Kept))})
		}
		if len(e.Folders) == 0 && e.Kept != nil {
			rows = append(rows, []cell{text(filepath.Base(e.Path)), text("-"), text("-"), text(what), text(*e.Kept)})
		}
	}
	columns := []column{{name: "WORKTREE", shrink: 10}, {name: "FOLDER", shrink: 10}, {name: "SIZE"}, {name: "WHAT"}, {name: "WHY", shrink: 8}}
	if err := f.printTable(f.sys.Out, columns, rows); err != nil {
		return err
	}
	switch {
	case free == 0 && len(rows) > 0:
		f.say("nothing was removed, and nothing may go: see why above")
	case free == 0:
		f.say("there is nothing to clean: no folder is ignored by git and made again by a tool")
	case o.yes:
		f.say("%s freed; the worktrees stay", plain.Size(free))
	case o.all:
		f.say("%s may go. Remove them: scv agents worktrees clean --all --yes", plain.Size(free))
	default:
		f.say("%s may go. Remove them: scv agents worktrees clean --yes %s", plain.Size(free), o.id)
	}
	return nil
}
