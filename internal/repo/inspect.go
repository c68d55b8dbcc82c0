package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	// maxLooks is how many worktrees are looked at at the same time.
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
	tour := &tour{t: t, crowded: len(found) >= runtime.NumCPU(), harmless: map[string]func() ([]string, error){}, tips: map[string]func() (string, error){}}
	slots := make(chan struct{}, min(maxLooks, 2*runtime.NumCPU()))
	var wg sync.WaitGroup
	for i, f := range found {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			trees[i] = tour.tell(ctx, f)
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

// A tour is one look at all worktrees. What is the same for several of them is asked once.
type tour struct {
	t        *Trees
	crowded  bool // there are worktrees for every processor, so none needs to look with several threads
	mu       sync.Mutex
	harmless map[string]func() ([]string, error) // git.Neutral, by repository
	tips     map[string]func() (string, error)   // commit of a base, by repository and name
}

// once returns what makes an answer the first time that it is asked for.
func once[T any](o *tour, known map[string]func() (T, error), key string, ask func() (T, error)) (T, error) {
	o.mu.Lock()
	f, ok := known[key]
	if !ok {
		f = sync.OnceValues(ask)
		known[key] = f
	}
	o.mu.Unlock()
	return f()
}

// drivers are the settings that undo those of a worktree's repository; nil when they are its own, and must be asked for.
func (o *tour) drivers(ctx context.Context, r record) ([]string, error) {
	if there, err := git.Exists(filepath.Join(r.Link, "config.worktree")); err != nil || there {
		return nil, err
	}
	return once(o, o.harmless, r.Common, func() ([]string, error) {
		env, err := o.t.git.Neutral(ctx, git.Call{At: r.admin(r.Common)})
		if env == nil {
			env = []string{}
		}
		return env, err
	})
}

// distance is helper.distance, without asking git for a worktree that stands where its base does.
func (o *tour) distance(ctx context.Context, r record, commit string) (behind, ahead int, err error) {
	tip := r.Commit
	if r.BaseRef != "" {
		tip, err = once(o, o.tips, r.Common+" "+r.BaseRef, func() (string, error) {
			out, err := o.t.git.Run(ctx, git.Call{At: r.admin(r.Common), Args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", r.BaseRef}})
			return strings.TrimSpace(string(out)), err
		})
	}
	if err == nil && tip == commit {
		return 0, 0, nil
	}
	return o.t.git.distance(ctx, r, r.at())
}

// tell gathers the facts about one worktree.
func (o *tour) tell(ctx context.Context, e *entry) Tree {
	t := o.t
	if e.record == nil {
		return Tree{} // not ours, or not this release's: Reconcile speaks of it
	}
	r := *e.record
	tree := Tree{Intent: r.Intent, Made: r.Made, LastUse: time.Unix(r.MadeUnix, 0)}
	if !r.Made {
		tree.Problem = "its making was cut off"
		return tree
	}
	harmless, err := o.drivers(ctx, r)
	var s status
	if err == nil {
		s, err = t.look(ctx, r, r.dir(), git.Call{Drivers: harmless == nil, Extra: harmless, Single: o.crowded})
	}
	if err != nil {
		tree.Problem = plain.Line(err.Error())
		if !e.dir {
			tree.Problem = "its directory is gone"
		}
		return tree
	}
	tree.Dirty, tree.Now = new(s.dirty()), s.head
	if tree.Behind, tree.Ahead, err = o.distance(ctx, r, s.commit); err != nil {
		tree.Problem = plain.Line(err.Error())
	} else {
		tree.Merged = new(tree.Ahead == 0)
	}
	w := walk{status: s, left: countedFiles, sizes: true}
	if err := w.quick(ctx, t, r); err != nil && !errors.Is(err, errCounted) {
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

// look proves the link of the worktree that stands at dir and asks git for its status there, ignored files included, by a
// call that says how drivers are undone.
func (t *Trees) look(ctx context.Context, r record, dir string, how git.Call) (status, error) {
	if err := t.verify(r, dir); err != nil {
		return status{}, err
	}
	how.At, how.Output = r.at(), listBytes
	how.At.Top = t.abs(dir)
	how.Args = []string{"status", "--porcelain=v2", "-z", "--branch", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames", "--ignored=traditional"}
	out, err := t.git.Run(ctx, how)
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
