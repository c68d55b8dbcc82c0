// Package submodule fills the submodules of a fresh worktree and tells whether they hold somebody's work. Only package
// repo uses it. It keeps nothing: what was filled is in the worktree's record.
//
// Each one is filled from the copy that the checkout has of it, which its owner fetched himself. Nothing else is asked for
// one: an address that a repository names would be the repository's word on whom SCV talks to (security.md section 3).
package submodule

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"scv/internal/repo/git"
	"scv/internal/safe/plain"
)

const (
	// fillTime bounds the filling of all submodules of a worktree; depth how far those of submodules are followed, and most
	// how many there may be.
	fillTime  = 5 * time.Minute
	depth     = 4
	most      = 500
	listBytes = 8 << 20
	listName  = ".gitmodules"
	// inner is the folder of a git directory that holds those of its submodules.
	inner = "modules"
)

// Filled is a submodule that SCV filled: where it is below the worktree, where its repository is below those of the
// worktree's submodules, and what it had then. While it has exactly that, it is nobody's work.
type Filled struct {
	Path   string `json:"path"`
	Repo   string `json:"repo"`
	Commit string `json:"commit"`
}

// A Tree is a worktree, whose link to its repository was proven.
type Tree struct {
	Git  *git.Runner
	At   git.Place // where it was made
	Root *os.Root  // its files, where they stand now
}

// place is where a filled submodule is, and its repository.
func (t Tree) place(f Filled) git.Place {
	dir := filepath.Join(t.At.GitDir, inner, filepath.FromSlash(f.Repo))
	return git.Place{Top: filepath.Join(t.At.Top, filepath.FromSlash(f.Path)), GitDir: dir, Common: dir}
}

// Fill fills, of the submodules that a commit has, those of which a copy with their commit is below one of the given
// folders; the others stay empty. The sentences tell of both. It never fails: a worktree without its submodules is one.
func (t Tree) Fill(ctx context.Context, sources []string, commit string) (filled []Filled, notes []string) {
	ctx, cancel := context.WithTimeout(ctx, fillTime)
	defer cancel()
	f := &filler{Tree: t}
	f.level(ctx, level{at: t.At, sources: sources, commit: commit})
	if n := len(f.filled); n > 0 {
		notes = append(notes, fmt.Sprintf("Filled from what your checkout has: %s, such as %s. SCV does not bring home what is done in it: push that from there.",
			plain.Count(n, "submodule"), plain.Quote(f.filled[0].Path)))
	}
	if n := len(f.empty); n > 0 {
		notes = append(notes, fmt.Sprintf("Left empty: %s, such as %s (%s). To fill what is empty: git -C %s submodule update --init --recursive",
			plain.Count(n, "submodule"), plain.Quote(f.empty[0]), strings.TrimSuffix(plain.Line(f.why.Error()), "."), plain.Line(t.At.Top)))
	}
	return f.filled, notes
}

// A filler is one filling.
type filler struct {
	Tree
	filled []Filled
	empty  []string
	why    error // of the first one that is empty
}

// A level is a repository whose submodules are filled: the worktree's own, or that of a submodule.
type level struct {
	at      git.Place // where they are to be
	below   string    // that is, below the worktree
	sources []string  // folders of the owner's copies
	repos   string    // where their repositories are to be, below those of the worktree
	commit  string
	depth   int
}

func (f *filler) level(ctx context.Context, l level) {
	list, err := f.listed(ctx, l)
	if err != nil {
		f.leave(path.Join(l.below, listName), err)
		return
	}
	for _, d := range list {
		if len(f.filled)+len(f.empty) >= most {
			f.leave(path.Join(l.below, d.at), fmt.Errorf("there are more than %d", most))
			return
		}
		if err := f.one(ctx, l, d); err != nil {
			f.leave(path.Join(l.below, d.at), err)
		}
	}
}

func (f *filler) leave(at string, why error) {
	f.empty = append(f.empty, at)
	if f.why == nil {
		f.why = why
	}
}

// A declared is a submodule as .gitmodules has it: name, and path below the work tree.
type declared struct{ name, at string }

func (d declared) local() bool {
	return filepath.IsLocal(d.at) && path.Clean(d.at) == d.at && d.at != "." && filepath.IsLocal(d.name) && path.Clean(d.name) == d.name && d.name != "."
}

// listed reads which submodules a work tree has.
func (f *filler) listed(ctx context.Context, l level) (all []declared, err error) {
	file := path.Join(l.below, listName)
	info, err := f.Root.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it is no plain file"))
	}
	out, err := f.Git.Run(ctx, git.Call{At: f.At, Output: 1 << 20, Args: []string{"config", "--file", filepath.Join(f.At.Top, file), "-z", "--get-regexp", `^submodule\..*\.path$`}})
	if git.Exited(err, 1) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if key, at, ok := strings.Cut(entry, "\n"); ok {
			all = append(all, declared{strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path"), at})
		}
	}
	return all, nil
}

// one fills one submodule, and after an error has left it empty.
func (f *filler) one(ctx context.Context, l level, d declared) error {
	switch {
	case !d.local():
		return errors.New("its name or path leads elsewhere")
	case f.taken(l, d.name):
		return errors.New("its name is used twice")
	}
	out, err := f.Git.Run(ctx, git.Call{At: l.at, Extra: []string{"GIT_LITERAL_PATHSPECS=1"}, Args: []string{"ls-tree", "-z", l.commit, "--", d.at}})
	fields := strings.Fields(string(out))
	if err != nil || len(fields) < 3 || fields[0] != "160000" || !git.IsHash(fields[2]) {
		return errors.Join(err, errors.New("the commit does not have it as a submodule"))
	}
	one := Filled{Path: path.Join(l.below, d.at), Repo: path.Join(l.repos, d.name), Commit: fields[2]}
	if err := f.vacant(one.Path); err != nil {
		return err
	}
	from, err := f.source(ctx, l, d.name, one.Commit)
	if err != nil {
		return err
	}
	to := f.place(one)
	if err := f.copy(ctx, from, to, one); err != nil {
		return errors.Join(err, os.RemoveAll(to.GitDir), f.Root.RemoveAll(one.Path), f.Root.Mkdir(one.Path, 0o755))
	}
	f.filled = append(f.filled, one)
	if l.depth < depth {
		f.level(ctx, level{
			at: to, below: one.Path, commit: one.Commit, depth: l.depth + 1,
			sources: []string{filepath.Join(from.GitDir, inner)}, repos: one.Repo + "/" + inner,
		})
	}
	return nil
}

// taken reports whether the repository of a submodule would lie in that of another one, or around it.
func (f *filler) taken(l level, name string) bool {
	at := filepath.Join(f.At.GitDir, inner, filepath.FromSlash(l.repos))
	parts := strings.Split(name, "/")
	for _, part := range parts[:len(parts)-1] {
		at = filepath.Join(at, part)
		if there, err := git.Exists(filepath.Join(at, "HEAD")); there || err != nil {
			return true
		}
	}
	there, err := git.Exists(filepath.Join(at, parts[len(parts)-1]))
	return there || err != nil
}

// vacant refuses a place for a submodule that is no empty folder of its own, reached by no link.
func (f *filler) vacant(where string) error {
	if err := folder(f.Root, where); err != nil {
		return err
	}
	entries, err := fs.ReadDir(f.Root.FS(), where)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty", plain.Quote(where))
	}
	return err
}

// folder refuses what is no folder below a root, or is reached by a link.
func folder(root *os.Root, name string) error {
	at := ""
	for part := range strings.SplitSeq(name, "/") {
		at = path.Join(at, part)
		if info, err := root.Lstat(at); err != nil || !info.IsDir() {
			return errors.Join(err, fmt.Errorf("%s is no folder", plain.Quote(at)))
		}
	}
	return nil
}

// source finds the owner's copy of a submodule, with the commit.
func (f *filler) source(ctx context.Context, l level, name, commit string) (git.Place, error) {
	for _, all := range l.sources {
		dir := filepath.Join(all, filepath.FromSlash(name))
		if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
			continue
		}
		from := git.Place{Top: dir, GitDir: dir, Common: dir} // its own work tree may be gone
		if _, err := f.Git.Run(ctx, git.Call{At: from, Args: []string{"cat-file", "-e", commit + "^{commit}"}}); err != nil {
			return from, fmt.Errorf("your checkout's copy has no commit %.12s", commit)
		}
		return from, nil
	}
	return git.Place{}, errors.New("your checkout has no copy of it")
}

// copy makes the repository of a submodule with the history of its commit, and checks that out. No transport is used,
// and no setting of the owner's copy goes along but where it came from.
func (f *filler) copy(ctx context.Context, from, to git.Place, one Filled) error {
	bare := git.Place{GitDir: to.GitDir, Common: to.Common}
	run := func(c git.Call) func() error {
		c.Limit = fillTime
		return func() error {
			_, err := f.Git.Run(ctx, c)
			return err
		}
	}
	format := map[int]string{40: "sha1", 64: "sha256"}[len(one.Commit)]
	for _, step := range []func() error{
		func() error { return os.MkdirAll(filepath.Dir(to.GitDir), 0o755) },
		run(git.Call{Args: []string{"init", "--quiet", "--bare", "--template=", "--object-format=" + format, "--", to.GitDir}}),
		func() error { return f.settings(ctx, from, bare, to.Top) },
		func() error { return shallow(from.GitDir, to.GitDir) },
		run(git.Call{At: from, Stdin: []byte(one.Commit + "\n"), Args: []string{"pack-objects", "--quiet", "--revs", filepath.Join(to.GitDir, "objects", "pack", "pack")}}),
		run(git.Call{At: bare, Args: []string{"update-ref", "--no-deref", "HEAD", one.Commit}}),
		func() error {
			return f.Root.WriteFile(path.Join(one.Path, ".git"), []byte("gitdir: "+to.GitDir+"\n"), 0o644)
		},
		run(git.Call{At: to, Drivers: true, Args: []string{"read-tree", "-u", "--reset", one.Commit}}),
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// settings writes those of a fresh submodule: its work tree, and where the owner's copy came from.
func (f *filler) settings(ctx context.Context, from, bare git.Place, top string) error {
	file := func(dir string) string { return filepath.Join(dir, "config") }
	set := [][2]string{{"core.bare", "false"}, {"core.worktree", top}}
	out, err := f.Git.Run(ctx, git.Call{At: from, Args: []string{"config", "--file", file(from.GitDir), "--get", "remote.origin.url"}})
	if url := strings.TrimSuffix(string(out), "\n"); err == nil && url != "" {
		set = append(set, [2]string{"remote.origin.url", url}, [2]string{"remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"})
	}
	for _, kv := range set {
		if _, err := f.Git.Run(ctx, git.Call{At: bare, Args: []string{"config", "--file", file(bare.GitDir), kv[0], kv[1]}}); err != nil {
			return err
		}
	}
	return nil
}

// shallow takes over where the history of a copy ends, if it does not go back to the beginning.
func shallow(from, to string) error {
	data, err := os.ReadFile(filepath.Join(from, "shallow"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "shallow"), data, 0o644)
	}
	return err
}
