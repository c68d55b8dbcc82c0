package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"scv/internal/home"
	"scv/internal/repo/git"
	"scv/internal/repo/submodule"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// Removal is how a worktree may be removed.
type Removal struct {
	// Force gives up what only the owner can: uncommitted, unmerged and unpushed work, ignored files, repositories
	// inside, a lock of his own. It overrides neither a live process nor a check that failed, and no commit that nothing
	// else names.
	Force bool
	// Busy is asked at the end of each of the two looks, with the worktree's path: an error of it (such as an unfinished
	// job) refuses. It may be nil.
	Busy func(path string) error
	// Branch removes the branch too, if it still stands where the worktree started: nothing was done on it.
	Branch bool
}

// remove removes the worktree that path lies in and returns a sentence about what stays. The branch stays. A
// refusal is a *wire.Error that names every reason; after it all is as it was. The directory is set aside before the
// last look, so that nothing can be added between look and removal.
func (t *Trees) remove(ctx context.Context, path string, how Removal) (string, error) {
	r, err := t.find(path)
	if err != nil {
		return "", err
	}
	release, err := t.turn(ctx, r.Common)
	if err != nil {
		return "", err
	}
	defer release()
	if !r.Made {
		if err := t.undo(ctx, r); err != nil {
			return "", err
		}
		return fmt.Sprintf("worktree %s, whose making was cut off, is removed.", r.Name), nil
	}
	state, err := t.standing(r)
	if err != nil {
		return "", err
	}
	if state == standsAside { // an earlier removal was cut off
		if _, err := os.Lstat(r.Link); errors.Is(err, fs.ErrNotExist) {
			return t.finish(r)
		}
		if err := t.rename(r, r.aside(), r.dir()); err != nil {
			return "", err
		}
		state = stands
	}
	if state == gone {
		if err := t.judgeGone(ctx, r); err != nil {
			return "", err
		}
		return t.finish(r)
	}
	if err := t.judge(ctx, r, r.dir(), how); err != nil {
		return "", err
	}
	if err := t.rename(r, r.dir(), r.aside()); err != nil {
		return "", err
	}
	if err := t.judge(ctx, r, r.aside(), how); err != nil {
		return "", errors.Join(err, t.rename(r, r.aside(), r.dir()))
	}
	return t.finish(r)
}

// Where the directory of a worktree is.
const (
	gone = iota
	stands
	standsAside
)

func (s *shelf) standing(r record) (int, error) {
	if err := s.plainDir(r.group()); err != nil {
		return gone, refused("worktree "+r.Name+" cannot be looked at", err)
	}
	_, own := s.home.Root().Lstat(r.dir())
	_, aside := s.home.Root().Lstat(r.aside())
	switch {
	case own == nil && aside == nil:
		return gone, wire.Refuse(wire.ReasonConflict, "look at both, and move one away",
			"worktree %s stands there twice: as itself, and as %s from a removal that was cut off.", r.Name, pretty(s.abs(r.aside())))
	case own == nil:
		return stands, nil
	case !errors.Is(own, fs.ErrNotExist):
		return gone, refused("worktree "+r.Name+" cannot be looked at", own)
	case aside == nil:
		return standsAside, nil
	case !errors.Is(aside, fs.ErrNotExist):
		return gone, refused("worktree "+r.Name+" cannot be looked at", aside)
	}
	return gone, nil
}

func (s *shelf) rename(r record, from, to string) error {
	if err := s.home.Root().Rename(from, to); err != nil {
		return refused("worktree "+r.Name+" could not be moved from "+pretty(s.abs(from))+" to "+pretty(s.abs(to)), err)
	}
	return nil
}

// judge refuses unless every question about the worktree at dir got a positive answer.
func (t *Trees) judge(ctx context.Context, r record, dir string, how Removal) error {
	cannot := "whether worktree " + r.Name + " may be removed cannot be told"
	s, err := t.look(ctx, r, dir, git.Call{Drivers: true})
	if err != nil {
		return refused(cannot, err)
	}
	if err := nobodyIn(r.Path, t.abs(dir)); err != nil {
		return err
	}
	reasons, err := t.work(ctx, r, dir, s)
	if err != nil {
		return refused(cannot, err)
	}
	if s.head == "" {
		if err := t.git.named(ctx, r); err != nil {
			return refused(cannot, err)
		}
	}
	if how.Busy != nil {
		if err := how.Busy(r.Path); err != nil {
			return refused("worktree "+r.Name+" is in use", err)
		}
	}
	if len(reasons) > 0 && !how.Force {
		return wire.Refuse(wire.ReasonRefused, "bring the work home first, or give it up with --force",
			"worktree %s is kept: %s.", r.Name, strings.Join(reasons, "; "))
	}
	return nil
}

// work lists what would be lost with the worktree and only the owner can give up.
func (t *Trees) work(ctx context.Context, r record, dir string, s status) ([]string, error) {
	var reasons []string
	add := func(yes bool, format string, args ...any) {
		if yes {
			reasons = append(reasons, fmt.Sprintf(format, args...))
		}
	}
	at := r.at()
	at.Top = t.abs(dir)
	_, ahead, err := t.git.distance(ctx, r, at)
	if err != nil {
		return nil, err
	}
	if ahead > 0 {
		if has, err := t.git.contained(ctx, r, at); err != nil {
			return nil, err
		} else if has {
			ahead = 0
		}
	}
	hidden, err := t.git.Hidden(ctx, at)
	if err != nil {
		return nil, err
	}
	w := walk{status: s, left: -1}
	if err := w.tree(ctx, t, r, dir); err != nil {
		return nil, err
	}
	reason, locked, err := lockReason(r)
	if err != nil {
		return nil, err
	}
	modules, err := t.modules(ctx, t.git.Runner, r, dir)
	if err != nil {
		return nil, err
	}
	if names := append(append([]string{}, s.changed...), s.untracked...); len(names) > 0 {
		add(true, "%s, such as %s", plain.Count(len(names), "uncommitted change"), plain.Quote(names[0]))
	}
	add(s.unmerged > 0, "%s", plain.Count(s.unmerged, "merge conflict"))
	add(hidden != "", "git was told not to look at %s", plain.Quote(hidden))
	add(git.Middle(r.Link) != "", "it is in the middle of %s", git.Middle(r.Link))
	add(ahead > 0, "%s not merged into what it started from", plain.Count(ahead, "commit"))
	add(s.ahead > 0, "%s not pushed to %s", plain.Count(s.ahead, "commit"), plain.Quote(s.upstream))
	add(w.unknowns > 0, "%s that SCV knows nothing about, such as %s", plain.Count(w.unknowns, "ignored file"), plain.Quote(w.unknown))
	add(w.nested != "", "%s is a repository of its own", plain.Quote(w.nested))
	add(modules != "", "%s", modules)
	add(locked && !strings.HasPrefix(reason, lockLead), "it is locked: %s", plain.Quote(reason))
	return reasons, nil
}

// contained reports whether the base of a worktree has all that its commits hold, as after a squash or a rebase: merging
// them into it would change nothing. A base that is gone has nothing.
func (g *helper) contained(ctx context.Context, r record, at git.Place) (bool, error) {
	if r.BaseRef == "" {
		return false, nil
	}
	own, err := g.Run(ctx, git.Call{At: at, Args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", r.BaseRef + "^{tree}"}})
	if git.Exited(err, 1) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	admin := r.admin(r.Link)
	out, err := g.Run(ctx, git.Call{At: admin, Args: []string{"rev-parse", "--end-of-options", "HEAD^{tree}", r.Commit + "^{tree}"}})
	if trees := strings.Fields(string(out)); err != nil || len(trees) != 3 || trees[1] == trees[2] {
		return false, err // commits without files say something all the same
	}
	out, err = g.Run(ctx, git.Call{At: admin, Drivers: true, Args: []string{"merge-tree", "--write-tree", "-z", "--no-messages", "--allow-unrelated-histories", r.BaseRef, "HEAD"}})
	if git.Exited(err, 1) { // a conflict
		return false, nil
	}
	tree, _, _ := strings.Cut(string(out), "\x00")
	return err == nil && tree == strings.TrimSpace(string(own)), err
}

// modules tells why the submodules of a worktree that stands at dir may hold work; empty when they do not.
func (s *shelf) modules(ctx context.Context, g *git.Runner, r record, dir string) (string, error) {
	root, err := s.home.Root().OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("open the worktree: %w", err)
	}
	defer root.Close()
	return submodule.Tree{Git: g, At: r.at(), Root: root}.Hold(ctx, r.Modules, s.abs(dir))
}

// named refuses when the worktree stands on commits that no branch or tag names: with it they would be lost for good.
func (g *helper) named(ctx context.Context, r record) error {
	out, err := g.Run(ctx, git.Call{At: r.admin(r.Link), Args: []string{"rev-list", "--max-count=1", "HEAD", "--not", "--branches", "--tags", "--remotes", "--"}})
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(out)) > 0 {
		return wire.Refuse(wire.ReasonRefused, "give them one: git -C "+pretty(r.Path)+" switch -c NAME",
			"worktree %s stands on commits that no branch names, which would be lost with it.", r.Name)
	}
	return nil
}

// admin is the repository without a work tree.
func (r record) admin(gitDir string) git.Place { return git.Place{GitDir: gitDir, Common: r.Common} }

// judgeGone decides about a worktree whose directory is not there any more.
func (t *Trees) judgeGone(ctx context.Context, r record) error {
	there, err := git.Exists(r.Link)
	if err == nil && there {
		if err = verifyBack(r); err == nil {
			err = t.git.named(ctx, r)
		}
	}
	return refused("whether what is left of worktree "+r.Name+" may be removed cannot be told", err)
}

// finish removes git's entry, the files set aside and the record, in the order that can be repeated after a crash.
func (s *shelf) finish(r record) (string, error) {
	if err := forget(r); err != nil {
		return "", refused("git's entry of worktree "+r.Name+" cannot be removed", err)
	}
	if err := removeAll(s.home.Root(), r.aside()); err != nil {
		return "", refused("worktree "+r.Name+" is forgotten by git, but some of its files are left at "+pretty(s.abs(r.aside())), err)
	}
	if err := s.home.Root().Remove(r.file()); err != nil {
		return "", refused("the record of worktree "+r.Name+" cannot be removed", err)
	}
	_ = s.home.Root().Remove(r.group()) // only when it is empty
	return fmt.Sprintf("worktree %s is removed; its branch stays. To delete that too: git -C %s branch -d %s",
		r.Name, pretty(r.Repo), r.Branch), nil
}

// forget removes git's entry of a worktree, whose link was just proven, with its lock. Git is not asked to, since it
// would also remove what somebody put in the worktree's git.Place meanwhile.
func forget(r record) error {
	root, err := os.OpenRoot(filepath.Dir(r.Link))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the entries: %w", err)
	}
	defer root.Close()
	if err := root.RemoveAll(filepath.Base(r.Link)); err != nil {
		return fmt.Errorf("remove the entry: %w", err)
	}
	_ = os.Remove(filepath.Dir(r.Link)) // as git does with the last entry; only when it is empty
	return nil
}

// removeAll removes what has a name below a root without following links, also when parts of it are read-only.
func removeAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	walkErr := fs.WalkDir(root.FS(), name, func(at string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			if chmod := root.Chmod(at, home.DirMode); chmod != nil {
				return fmt.Errorf("make %s writable: %w", plain.Quote(at), chmod)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		return nil
	})
	return errors.Join(walkErr, root.RemoveAll(name))
}

// readLinkHead reads the first line of a small file.
func readLinkHead(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, errors.ErrUnsupported)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", plain.Quote(name), err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 256))
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return string(line), err
}

// split finds group and name of the worktree that a path lies in.
func (s *shelf) split(name string) (group, own string, ok bool) {
	if !filepath.IsAbs(name) || strings.ContainsRune(name, 0) {
		return "", "", false
	}
	rel, err := filepath.Rel(s.abs(treesDir), filepath.Clean(name))
	if err != nil || !filepath.IsLocal(rel) {
		return "", "", false
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if len(parts) < 2 {
		return "", "", false
	}
	return parts[0], parts[1], true
}
