package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"scv/internal/repo/git"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// Tree is a worktree as List tells it. Facts that git or the disk did not give are absent, and Problem says why.
type Tree struct {
	Intent
	Made    bool      // false: a crash cut its making off
	Dirty   *bool     // nil: not known
	Merged  *bool     // nothing on it that its base lacks; nil: not known
	Ahead   int       // commits that its base lacks; only with Merged
	Behind  int       // commits of the base that it lacks; only with Merged
	Now     string    // branch checked out now, empty when detached or not known
	Tracked int64     // bytes of files that git does not ignore
	Ignored int64     // bytes of files that git ignores
	Whole   bool      // all files were counted
	LastUse time.Time // newest change that was seen
	Problem string    // sentence
}

const (
	// countedFiles bounds how many files List looks at in one worktree.
	countedFiles = 200_000
	// groupEntries bounds a listing of records.
	maxLooks = 8
)

// List tells about every worktree of the home, sorted by path: in parallel, each within ctx. It is an error only when
// the directory of worktrees cannot be read; what is wrong with one worktree stands in its Problem.
func (t *Trees) List(ctx context.Context) ([]Tree, error) {
	found, err := t.inventory()
	if err != nil {
		return nil, err
	}
	trees := make([]Tree, len(found))
	slots := make(chan struct{}, min(maxLooks, 2*runtime.NumCPU()))
	var wg sync.WaitGroup
	for i, f := range found {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			trees[i] = t.tell(ctx, f)
		})
	}
	wg.Wait()
	return slices.DeleteFunc(trees, func(tree Tree) bool { return tree.Path == "" }), ctx.Err()
}

// entry is what lies in the directory of a group under one name: a record, a directory, or both.
type entry struct {
	group, name       string
	record            *record
	err               error // why the record cannot be read
	dir, aside, filed bool  // the worktree's directory, one set aside, the record's file
}

// inventory reads all groups. An error of any directory is an error of the whole: half an inventory proves nothing.
func (s *shelf) inventory() ([]*entry, error) {
	groups, err := fs.ReadDir(s.home.Root().FS(), treesDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, refused("the worktrees cannot be listed", err)
	}
	var all []*entry
	for _, g := range groups {
		if !g.IsDir() || !validGroup(g.Name()) {
			continue
		}
		files, err := fs.ReadDir(s.home.Root().FS(), treesDir+"/"+g.Name())
		if err != nil {
			return nil, refused("the worktrees cannot be listed", err)
		}
		all = append(all, s.sortOut(g.Name(), files)...)
	}
	slices.SortFunc(all, func(a, b *entry) int { return strings.Compare(a.group+"/"+a.name, b.group+"/"+b.name) })
	return all, nil
}

func (s *shelf) sortOut(group string, files []fs.DirEntry) []*entry {
	byName := map[string]*entry{}
	at := func(name string) *entry {
		if byName[name] == nil {
			byName[name] = &entry{group: group, name: name}
		}
		return byName[name]
	}
	var all []*entry
	for _, f := range files {
		name, isRecord := strings.CutSuffix(f.Name(), ".json")
		aside, isAside := strings.CutPrefix(f.Name(), ".removing-")
		switch {
		case isRecord && validName(name):
			e := at(name)
			e.filed = true
			if r, err := s.load(group, name); err != nil {
				e.err = err
			} else {
				e.record = &r
			}
		case isAside && validName(aside):
			at(aside).aside = true
		case f.IsDir() && validName(f.Name()):
			at(f.Name()).dir = true
		}
	}
	for _, e := range byName {
		all = append(all, e)
	}
	return all
}

// tell gathers the facts about one worktree.
func (t *Trees) tell(ctx context.Context, e *entry) Tree {
	if e.record == nil {
		return Tree{} // not ours, or not this release's: Reconcile speaks of it
	}
	r := *e.record
	tree := Tree{Intent: r.Intent, Made: r.Made, LastUse: time.Unix(r.MadeUnix, 0)}
	if !r.Made {
		tree.Problem = "its making was cut off"
		return tree
	}
	s, err := t.look(ctx, r, r.dir(), true)
	if err != nil {
		tree.Problem = plain.Line(err.Error())
		if !e.dir {
			tree.Problem = "its directory is gone"
		}
		return tree
	}
	tree.Dirty, tree.Now = new(s.dirty()), s.head
	if tree.Behind, tree.Ahead, err = t.git.distance(ctx, r, r.at()); err != nil {
		tree.Problem = plain.Line(err.Error())
	} else {
		tree.Merged = new(tree.Ahead == 0)
	}
	w := walk{status: s, left: countedFiles, sizes: true}
	if err := w.tree(ctx, t, r, r.dir()); err != nil && !errors.Is(err, errCounted) {
		tree.Problem = plain.Line(err.Error())
	} else {
		tree.Whole = err == nil
	}
	tree.Tracked, tree.Ignored = w.tracked, w.ignored
	for _, seen := range []time.Time{w.newest, modified(r.Link + "/index"), modified(r.Link + "/logs/HEAD")} {
		if seen.After(tree.LastUse) {
			tree.LastUse = seen
		}
	}
	return tree
}

func modified(name string) time.Time {
	info, err := os.Lstat(name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// look proves the link of the worktree that stands at dir and asks git for its status there.
func (t *Trees) look(ctx context.Context, r record, dir string, ignored bool) (status, error) {
	if err := t.verify(r, dir); err != nil {
		return status{}, err
	}
	at := r.at()
	at.Top = t.abs(dir)
	args := []string{"status", "--porcelain=v2", "-z", "--branch", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames"}
	if ignored {
		args = append(args, "--ignored=traditional")
	}
	out, err := t.git.Run(ctx, git.Call{At: at, Args: args, Drivers: true, Output: listBytes})
	if err != nil {
		return status{}, err
	}
	return readStatus(out)
}

// distance counts the commits between the base of a worktree and what it has now. A base that is gone is replaced by
// the commit it started from.
func (g *helper) distance(ctx context.Context, r record, at git.Place) (behind, ahead int, err error) {
	base := r.Commit
	if r.BaseRef != "" {
		base = r.BaseRef
	}
	args := []string{"rev-list", "--left-right", "--count", "--end-of-options", base + "...HEAD", "--"}
	out, err := g.Run(ctx, git.Call{At: at, Args: args})
	if git.Exited(err, 128) && r.BaseRef != "" {
		args[4] = r.Commit + "...HEAD"
		out, err = g.Run(ctx, git.Call{At: at, Args: args})
	}
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscanf(string(out), "%d\t%d", &behind, &ahead); err != nil {
		return 0, 0, fmt.Errorf("git rev-list: unexpected Output: %w", err)
	}
	return behind, ahead, nil
}

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
	ignores  map[string]bool
	included map[string]string
}

func (w *walk) tree(ctx context.Context, t *Trees, r record, dir string) error {
	root, err := t.home.Root().OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the worktree: %w", err)
	}
	defer root.Close()
	w.root, w.ignores, w.included = root, map[string]bool{}, map[string]string{}
	for _, name := range w.status.ignored {
		w.ignores[strings.TrimSuffix(name, "/")] = true
	}
	for _, f := range r.Included {
		w.included[f.Path] = f.Sum
	}
	return w.dir(ctx, ".", false, false)
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
			if inner && !w.sizes {
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

// find returns the record of the worktree that a path lies in.
func (s *shelf) find(name string) (record, error) {
	group, own, ok := s.split(name)
	if !ok {
		return record{}, notOurs(name)
	}
	r, err := s.load(group, own)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, notOurs(name)
	}
	if err != nil {
		return record{}, refused("worktree "+pretty(name)+" cannot be told", err)
	}
	return r, nil
}

func notOurs(name string) error {
	return wire.Refuse(wire.ReasonNotFound, "list them with: scv agents worktrees", "%s is not a worktree of SCV.", pretty(name))
}
