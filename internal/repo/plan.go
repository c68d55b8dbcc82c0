package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"scv/internal/repo/git"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// Wish is what somebody wants a worktree for.
type Wish struct {
	Cwd         string // absolute directory inside a checkout
	Agent       string
	Task        string // masked; a few words of it go into the name
	Base        string // branch, tag or commit to start from; empty: what the checkout has now
	Branch      string // name for the branch; empty: scv/ and the worktree's name
	WithChanges bool   // carry over what is not committed in the checkout
	Run         wire.RunHandle
}

// draws is how often another name is drawn when one is taken.
const draws = 8

// Plan decides where a worktree will be and from which commit, and changes nothing. Refusals are *wire.Error: no
// repository, no commit yet, a bad or taken name, an unknown base.
func (t *Trees) Plan(ctx context.Context, w Wish) (Intent, error) {
	if !wire.ValidAgentName(w.Agent) {
		return Intent{}, wire.Refuse(wire.ReasonInvalid, "", "%s is not the name of an agent.", plain.Quote(w.Agent))
	}
	from, err := t.git.checkout(ctx, w.Cwd)
	if err != nil {
		return Intent{}, err
	}
	in := Intent{Repo: from.Top, Common: from.Common, GitDir: from.GitDir, WithChanges: w.WithChanges, Run: w.Run}
	if in.Sub, err = sub(from.Top, w.Cwd); err != nil {
		return Intent{}, err
	}
	if in.Commit, in.BaseRef, err = t.git.base(ctx, from, w.Base); err != nil {
		return Intent{}, err
	}
	if w.WithChanges && w.Base != "" {
		head, _, err := t.git.base(ctx, from, "")
		if err != nil {
			return Intent{}, err
		}
		if head != in.Commit {
			return Intent{}, wire.Refuse(wire.ReasonInvalid, "leave out --base, or commit the changes first",
				"uncommitted changes can be carried over only onto the commit they were made on, and %s is another one.", plain.Quote(w.Base))
		}
	}
	if in.Sub != "" && !t.git.holds(ctx, from, in.Commit, in.Sub) {
		in.Sub = ""
	}
	for range draws {
		in.Name = newName(w.Agent, w.Task, t.random(6))
		in.Path = t.abs(in.group() + "/" + in.Name)
		if in.Branch = w.Branch; w.Branch == "" {
			in.Branch = branchLead + in.Name
		}
		r := record{Intent: in}
		if err := t.check(r); err != nil && w.Branch == "" {
			return Intent{}, err
		}
		taken, err := t.taken(ctx, r, w.Branch != "")
		if err != nil {
			return Intent{}, err
		}
		if !taken {
			return in, nil
		}
	}
	return Intent{}, wire.Refuse(wire.ReasonConflict, "try again", "no free name for a worktree was found in %d draws.", draws)
}

// taken reports whether the name is in use. A branch name of the owner's choice is checked by git too, and refused
// when it exists.
func (t *Trees) taken(ctx context.Context, r record, chosen bool) (bool, error) {
	if chosen {
		if err := checkBranch(r.Branch); err != nil {
			return false, err
		}
		if _, err := t.git.Run(ctx, git.Call{At: r.source(), Args: []string{"check-ref-format", "--branch", r.Branch}}); err != nil {
			return false, wire.Refuse(wire.ReasonInvalid, "", "git does not take %s as the name of a branch.", plain.Quote(r.Branch))
		}
	}
	exists, err := t.git.branchExists(ctx, r)
	if err != nil {
		return false, refused("look for branch "+r.Branch, err)
	}
	if exists && chosen {
		return false, wire.Refuse(wire.ReasonConflict, "choose another name with --branch", "branch %s exists already.", r.Branch)
	}
	for _, name := range []string{r.dir(), r.file(), r.aside()} {
		if _, err := t.home.Root().Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
	}
	return exists, nil
}

func (g *helper) branchExists(ctx context.Context, r record) (bool, error) {
	_, err := g.Run(ctx, git.Call{At: r.admin(r.Common), Args: []string{"show-ref", "--verify", "--quiet", "--", "refs/heads/" + r.Branch}})
	if git.Exited(err, 1) {
		return false, nil
	}
	return err == nil, err
}

// checkout finds the checkout that a directory lies in. Git itself refuses one of another user here.
func (g *helper) checkout(ctx context.Context, cwd string) (git.Place, error) {
	if !filepath.IsAbs(cwd) || strings.ContainsRune(cwd, 0) {
		return git.Place{}, wire.Refuse(wire.ReasonInvalid, "", "%s is not an absolute directory.", plain.Quote(cwd))
	}
	out, err := g.Run(ctx, git.Call{Dir: cwd, Args: []string{
		"rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "--git-common-dir",
	}})
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err == nil && len(lines) == 3 {
		return git.Place{Top: lines[0], GitDir: filepath.Clean(lines[1]), Common: filepath.Clean(lines[2])}, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return git.Place{}, wire.Refuse(wire.ReasonNotFound, "", "%s does not exist.", pretty(cwd))
	}
	e, ok := errors.AsType[*git.Error](err)
	switch {
	case err == nil: // a path with a line feed in it
		return git.Place{}, wire.Refuse(wire.ReasonInvalid, "", "the path of the repository at %s cannot be used.", pretty(cwd))
	case ok && strings.Contains(e.Said, "dubious ownership"):
		return git.Place{}, wire.Refuse(wire.ReasonRefused, "if you trust it: git config --global --add safe.directory "+pretty(cwd),
			"the repository at %s belongs to another user, whose settings git would obey.", pretty(cwd))
	case ok && (strings.Contains(e.Said, "not a git repository") || strings.Contains(e.Said, "cannot use bare repository") ||
		strings.Contains(e.Said, "must be run in a work tree")):
		return git.Place{}, wire.Refuse(wire.ReasonNotFound, "start the job without --worktree, or run: git init",
			"%s is not inside a git checkout, so there is nothing to make a worktree of.", pretty(cwd))
	}
	return git.Place{}, refused(fmt.Sprintf("git cannot tell about %s", pretty(cwd)), err)
}

// holds reports whether a commit has a directory, which is no link and not reached by one.
func (g *helper) holds(ctx context.Context, from git.Place, commit, dir string) bool {
	out, err := g.Run(ctx, git.Call{At: from, Args: []string{"cat-file", "-t", commit + ":" + filepath.ToSlash(dir)}})
	return err == nil && strings.TrimSpace(string(out)) == "tree"
}

// sub is where cwd lies below the top of its checkout, empty for the top.
func sub(top, cwd string) (string, error) {
	real, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", pretty(cwd), err)
	}
	rel, err := filepath.Rel(top, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", wire.Refuse(wire.ReasonInvalid, "", "%s lies outside its checkout %s.", pretty(cwd), pretty(top))
	}
	if rel == "." {
		return "", nil
	}
	return rel, nil
}

// base resolves where the worktree starts: the commit, and the full name of the branch or tag it was named by.
func (g *helper) base(ctx context.Context, from git.Place, name string) (commit, ref string, err error) {
	if name != "" {
		if err := checkBase(name); err != nil {
			return "", "", err
		}
	}
	spec := name
	if name == "" {
		spec = "HEAD"
	}
	out, err := g.Run(ctx, git.Call{At: from, Args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", spec + "^{commit}"}})
	commit = string(bytes.TrimSpace(out))
	if err == nil && !git.IsHash(commit) {
		err = errors.New("git rev-parse: unexpected output")
	}
	switch {
	case git.Exited(err, 1) && name == "":
		return "", "", wire.Refuse(wire.ReasonRefused, "make a first commit there, or start the job without --worktree",
			"the repository at %s has no commit yet, so a worktree would be empty.", pretty(from.Top))
	case git.Exited(err, 1):
		return "", "", wire.Refuse(wire.ReasonNotFound, "", "%s names no commit of the repository at %s.", plain.Quote(name), pretty(from.Top))
	case err != nil:
		return "", "", refused("git cannot tell where to start from", err)
	}
	out, err = g.Run(ctx, git.Call{At: from, Args: []string{"rev-parse", "--verify", "--quiet", "--symbolic-full-name", "--end-of-options", spec}})
	if ref = string(bytes.TrimSpace(out)); err != nil || !strings.HasPrefix(ref, "refs/") {
		ref = "" // detached, or a commit by its hash
	}
	return commit, ref, nil
}
