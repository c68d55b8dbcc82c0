package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"scv/internal/repo/git"
)

// countedFiles bounds how many files List looks at in one worktree.
const countedFiles = 200_000

// errCounted ends a walk that has seen as many files as it may.
var errCounted = errors.New("too many files to count")

// walk goes through the files of a worktree: how large they are, or whether an ignored one may be somebody's work.
type walk struct {
	status
	sizes bool // count bytes, also of caches
	left  int  // files still to be seen; below zero: no bound

	tracked, ignored int64
	newest           time.Time
	nested           string // a repository of its own inside
	unknown          string // the first ignored file that nobody can vouch for
	unknowns         int

	root     *os.Root
	filled   map[string]bool // submodules that SCV filled, which are asked about themselves
	ignores  map[string]bool
	included map[string]string
}

// quick counts sizes: of tracked files as the index has them, and only what the index does not have by looking. An index
// that cannot be read means that all is looked at.
func (w *walk) quick(ctx context.Context, t *Trees, r record) error {
	changed := map[string]bool{}
	for _, name := range w.changed {
		changed[name] = true
	}
	sum, err := git.ReadSizes(filepath.Join(r.Link, "index"), git.HashLength(r.Commit), changed)
	if err != nil || w.unmerged > 0 {
		return w.tree(ctx, t, r, r.dir())
	}
	if err := w.open(t, r, r.dir()); err != nil {
		return err
	}
	defer w.root.Close()
	w.tracked, w.newest = sum.Bytes, sum.Newest
	for name := range w.filled {
		if err := w.path(ctx, name, false); err != nil {
			return err
		}
	}
	inside := func(name string) bool {
		return slices.ContainsFunc(w.untracked, func(dir string) bool { return strings.HasSuffix(dir, "/") && strings.HasPrefix(name, dir) })
	}
	for _, name := range slices.Concat(w.changed, w.untracked, w.status.ignored) {
		if ignored := w.ignores[strings.TrimSuffix(name, "/")]; !ignored || !inside(name) {
			if err := w.path(ctx, strings.TrimSuffix(name, "/"), ignored); err != nil {
				return err
			}
		}
	}
	return nil
}

// path counts a file, or a directory with all that is in it.
func (w *walk) path(ctx context.Context, name string, ignored bool) error {
	info, err := w.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look through the files: %w", err)
	}
	if info.IsDir() {
		return w.dir(ctx, name, ignored, false)
	}
	return w.file(name, fs.FileInfoToDirEntry(info), ignored, false)
}

func (w *walk) tree(ctx context.Context, t *Trees, r record, dir string) error {
	if err := w.open(t, r, dir); err != nil {
		return err
	}
	defer w.root.Close()
	return w.dir(ctx, ".", false, false)
}

func (w *walk) open(t *Trees, r record, dir string) error {
	root, err := t.home.Root().OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the worktree: %w", err)
	}
	w.root, w.ignores, w.included, w.filled = root, map[string]bool{}, map[string]string{}, map[string]bool{}
	for _, m := range r.Modules {
		w.filled[m.Path] = true
	}
	for _, name := range w.status.ignored {
		w.ignores[strings.TrimSuffix(name, "/")] = true
	}
	for _, f := range r.Included {
		w.included[f.Path] = f.Sum
	}
	return nil
}

func (w *walk) dir(ctx context.Context, name string, ignored, cache bool) error {
	if ctx.Err() != nil {
		return fmt.Errorf("look through the files: %w", context.Cause(ctx))
	}
	entries, err := fs.ReadDir(w.root.FS(), name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed while we looked
	}
	if err != nil {
		return fmt.Errorf("look through the files: %w", err)
	}
	for _, e := range entries {
		at := path.Join(name, e.Name())
		if e.Name() == ".git" {
			if name != "." && !cache && w.nested == "" {
				w.nested = name
			}
			if name == "." {
				continue
			}
		}
		ignored := ignored || w.ignores[at]
		if e.IsDir() {
			inner := cache || ignored && w.isCache(at)
			if (inner || w.filled[at]) && !w.sizes {
				continue
			}
			if err := w.dir(ctx, at, ignored, inner); err != nil {
				return err
			}
			continue
		}
		if err := w.file(at, e, ignored, cache); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) file(at string, e fs.DirEntry, ignored, cache bool) error {
	if w.left == 0 {
		return errCounted
	}
	w.left--
	if w.sizes {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look through the files: %w", err)
		}
		if ignored {
			w.ignored += info.Size()
		} else {
			w.tracked += info.Size()
		}
		if info.ModTime().After(w.newest) {
			w.newest = info.ModTime()
		}
		return nil
	}
	if !ignored || cache || strings.HasSuffix(at, ".pyc") {
		return nil
	}
	if sum, ok := w.included[at]; ok {
		if now, err := fileSum(w.root, at); err == nil && now == sum {
			return nil
		}
	}
	w.unknowns++
	if w.unknown == "" {
		w.unknown = at
	}
	return nil
}

// isCache reports whether a directory holds nothing but what a tool makes again: it says so itself by a CACHEDIR.TAG, or
// its name is used for nothing else.
func (w *walk) isCache(at string) bool {
	switch path.Base(at) {
	case "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".gradle":
		return true
	}
	line, err := readLinkHead(w.root, at+"/CACHEDIR.TAG")
	return err == nil && strings.HasPrefix(line, "Signature: 8a477f597d28d172789f06886806bc55")
}
