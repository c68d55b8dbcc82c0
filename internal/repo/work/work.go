// Package work is what is done with the work of a job in git: what it has changed, how it is committed and brought home,
// and what would conflict. The daemon owns the one Bench of a home; all of it may be called from any goroutine.
//
// Nothing here is lost on a conflict: each way home is tried first in git's object store, where no file and no branch is
// touched, and only then done. What changes a repository takes its turn there (repo.Ways.Turn).
package work

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

	"scv/internal/repo"
	"scv/internal/repo/git"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

const (
	listBytes = 64 << 20 // of names
	diffBytes = 32 << 20 // of a difference
)

// A Bench works on the repositories of jobs.
type Bench struct {
	ways repo.Ways
	git  *git.Runner
}

// New returns a bench over the worktrees of a home.
func New(t *repo.Trees) *Bench { return &Bench{ways: t.Ways(), git: t.Ways().Git()} }

// A Spot is the directory that a job works in, and the commit that its work is measured against.
type Spot struct {
	At   git.Place
	Base string
	Tree *repo.Held // nil: it works in a checkout of its owner
}

// Spot finds a job's place. A job in a worktree names that, any other its directory.
func (b *Bench) Spot(ctx context.Context, tree *wire.WorktreeRef, cwd string, base *string) (Spot, error) {
	if base == nil {
		return Spot{}, wire.Refuse(wire.ReasonUnavailable, "", "it did not begin in a git repository that has a commit, so there is nothing to compare with.")
	}
	s := Spot{Base: *base}
	if tree == nil {
		var err error
		s.At, err = b.ways.Checkout(ctx, cwd)
		return s, err
	}
	held, err := b.ways.Open(tree.Path)
	if err != nil {
		return Spot{}, err
	}
	s.At, s.Tree = held.At, &held
	return s, nil
}

// line runs a command that answers with one line.
func (b *Bench) line(ctx context.Context, at git.Place, args ...string) (string, error) {
	out, err := b.git.Run(ctx, git.Call{At: at, Args: args})
	return strings.TrimSpace(string(out)), err
}

// commit resolves a name to a commit.
func (b *Bench) commit(ctx context.Context, at git.Place, name string) (string, error) {
	return b.line(ctx, at, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
}

// An index is a copy of a work tree's index to which files that git does not know yet were made known, so that they
// show in a difference. The real index is never written.
type index struct {
	env   []string
	loose []string // files that git does not know, repositories inside left out
	file  string
}

func (x *index) remove() { _ = os.Remove(x.file) }

func (b *Bench) index(ctx context.Context, at git.Place) (*index, error) {
	x := &index{}
	to, err := os.CreateTemp("", "scv-index-")
	if err != nil {
		return nil, fmt.Errorf("copy the index: %w", err)
	}
	x.file = to.Name()
	from, err := os.Open(filepath.Join(at.GitDir, "index"))
	if err == nil {
		err = copyIndex(to, from)
		_ = from.Close()
	} else if errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(x.file) // git takes no index for an empty one, and an empty file for a broken one
	}
	if err := errors.Join(err, to.Close()); err != nil {
		x.remove()
		return nil, fmt.Errorf("copy the index: %w", err)
	}
	x.env = []string{"GIT_INDEX_FILE=" + x.file, "GIT_LITERAL_PATHSPECS=1"}
	if err := b.known(ctx, at, x); err != nil {
		x.remove()
		return nil, err
	}
	return x, nil
}

// copyIndex copies an index with its time: a file that changed in the second in which the index was written is looked at
// by git only while the index is not younger than that file.
func copyIndex(to, from *os.File) error {
	info, err := from.Stat()
	if err == nil {
		_, err = io.Copy(to, from)
	}
	if err == nil {
		err = os.Chtimes(to.Name(), info.ModTime(), info.ModTime())
	}
	return err
}

func (b *Bench) known(ctx context.Context, at git.Place, x *index) error {
	out, err := b.git.Run(ctx, git.Call{At: at, Extra: x.env, Output: listBytes, Args: []string{"ls-files", "-z", "--others", "--exclude-standard"}})
	if err != nil {
		return err
	}
	for _, name := range fields(out) {
		if !strings.HasSuffix(name, "/") { // a repository of its own
			x.loose = append(x.loose, name)
		}
	}
	if len(x.loose) == 0 {
		return nil
	}
	_, err = b.git.Run(ctx, git.Call{
		At: at, Extra: x.env, Drivers: true, Stdin: []byte(strings.Join(x.loose, "\x00")),
		Args: []string{"add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul"},
	})
	return err
}

// fields are the parts of an answer that ends each with a NUL.
func fields(out []byte) []string {
	out = bytes.TrimSuffix(out, []byte{0})
	if len(out) == 0 {
		return nil
	}
	return strings.Split(string(out), "\x00")
}

// some names at most three of many, for a sentence.
func some(names []string) string {
	shown := make([]string, 0, 3)
	for _, n := range names[:min(len(names), 3)] {
		shown = append(shown, plain.Truncate(plain.Line(n), 80))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
