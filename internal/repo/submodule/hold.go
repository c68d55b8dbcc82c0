package submodule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"scv/internal/repo/git"
	"scv/internal/safe/plain"
)

// Hold tells why the submodules of a worktree may hold somebody's work; empty when each is as it was filled, and there
// are no others. The worktree's files may stand elsewhere by now than where they were made: at.
func (t Tree) Hold(ctx context.Context, filled []Filled, at string) (string, error) {
	known := map[string]bool{}
	for _, f := range filled {
		known[t.place(f).GitDir] = true
		if why, err := t.holds(ctx, f, at); err != nil || why != "" {
			return why, err
		}
	}
	all, other := filepath.Join(t.At.GitDir, inner), false
	err := filepath.WalkDir(all, func(at string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && at == all:
			return fs.SkipAll
		case err != nil:
			return err
		case d.Name() == "HEAD" && !known[filepath.Dir(at)]:
			other = true
			return fs.SkipAll
		case d.IsDir() && known[filepath.Dir(at)] && d.Name() != inner:
			return fs.SkipDir
		}
		return nil
	})
	if other {
		return "its submodules may hold work", err
	}
	return "", err
}

func (t Tree) holds(ctx context.Context, f Filled, at string) (string, error) {
	work := fmt.Sprintf("its submodule %s may hold work", plain.Quote(f.Path))
	place := t.place(f)
	if err := folder(t.Root, f.Path); err != nil {
		return work, nil //nolint:nilerr // somebody put something else there
	}
	root, err := t.Root.OpenRoot(f.Path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if link, err := git.LinkOf(root); err != nil || link != place.GitDir {
		return work, nil //nolint:nilerr // likewise
	}
	place.Top = filepath.Join(at, filepath.FromSlash(f.Path))
	for _, args := range [][]string{
		// Each lists what was not there when it was filled: commits that a name or a look back leads to, another one checked
		// out, and files.
		{"rev-list", "--max-count=1", "--all", "--reflog", "--not", f.Commit, "--"},
		{"rev-list", "--max-count=1", "HEAD..." + f.Commit, "--"},
		{"status", "--porcelain", "--untracked-files=normal", "--ignored=traditional", "--ignore-submodules=all"},
	} {
		out, err := t.Git.Run(ctx, git.Call{At: place, Drivers: true, Output: listBytes, Args: args})
		if err != nil {
			return "", err
		}
		if len(bytes.TrimSpace(out)) > 0 {
			return work, nil
		}
	}
	hidden, err := t.Git.Hidden(ctx, place)
	if err != nil || hidden == "" && git.Middle(place.GitDir) == "" {
		return "", err
	}
	return work, nil
}
