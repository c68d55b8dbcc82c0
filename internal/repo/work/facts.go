package work

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"scv/internal/repo/git"
	"scv/internal/wire"
)

// lookedAt bounds how many changed files of a checkout are looked at one by one for its digest.
const lookedAt = 2000

// A Footing is what a turn begins on.
type Footing struct {
	Head   string // commit
	Loose  int    // files that are not committed
	Source string // digest of the checkout that a worktree comes from; empty for a place of its owner
}

// Footing looks at a place before a turn. In a repository without a commit the head is empty.
func (b *Bench) Footing(ctx context.Context, tree *wire.WorktreeRef, cwd string) (Footing, error) {
	var f Footing
	var at git.Place
	if tree == nil {
		var err error
		if at, err = b.ways.Checkout(ctx, cwd); err != nil {
			return f, err
		}
	} else {
		held, err := b.ways.Open(tree.Path)
		if err != nil {
			return f, err
		}
		at = held.At
		if f.Source, err = b.digest(ctx, held.Source); err != nil {
			return f, err
		}
	}
	head, err := b.commit(ctx, at, "HEAD")
	if git.Exited(err, 1) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	f.Head = head
	if tree == nil {
		names, err := b.loose(ctx, at)
		f.Loose = len(names)
		return f, err
	}
	return f, nil
}

// digest is the same as long as a checkout has the same commit checked out and the same changes. The changes are told
// by name, size and time, not by content.
func (b *Bench) digest(ctx context.Context, at git.Place) (string, error) {
	out, err := b.git.Run(ctx, git.Call{
		At: at, Drivers: true, Output: listBytes,
		Args: []string{"status", "--porcelain=v2", "-z", "--branch", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames"},
	})
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for i, entry := range fields(out) {
		fmt.Fprintf(sum, "%s\x00", entry)
		if i > lookedAt || entry == "" || entry[0] == '#' {
			continue
		}
		if info, err := os.Lstat(filepath.Join(at.Top, pathOf(entry))); err == nil {
			fmt.Fprintf(sum, "%d %d\x00", info.Size(), info.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// pathOf is the path in a line of status --porcelain=v2 without renames.
func pathOf(entry string) string {
	spaces := map[byte]int{'1': 8, 'u': 10, '?': 1}[entry[0]]
	for i := range len(entry) {
		if entry[i] == ' ' {
			if spaces--; spaces == 0 {
				return entry[i+1:]
			}
		}
	}
	return ""
}

// Facts tells what a place has changed since its base, and whether the checkout that its worktree comes from changed
// since before, the Source of its Footing.
func (b *Bench) Facts(ctx context.Context, s Spot, before string) (wire.JobFacts, error) {
	var f wire.JobFacts
	x, err := b.index(ctx, s.At)
	if err != nil {
		return f, err
	}
	defer x.remove()
	files, err := b.changed(ctx, s, x)
	if err != nil {
		return f, err
	}
	f.Files = uint32(len(files))
	loose, err := b.loose(ctx, s.At)
	if err != nil {
		return f, err
	}
	f.Uncommitted = uint32(len(loose))
	head, err := b.commit(ctx, s.At, "HEAD")
	if err != nil {
		return f, err
	}
	f.Head = &head
	if head != s.Base {
		text, err := b.line(ctx, s.At, "rev-list", "--count", s.Base+".."+head, "--")
		if err != nil {
			return f, err
		}
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return f, fmt.Errorf("git rev-list: %w", err)
		}
		f.Commits = uint32(n)
	}
	if s.Tree != nil && before != "" {
		now, err := b.digest(ctx, s.Tree.Source)
		if err != nil {
			return f, err
		}
		f.Main = new(now != before)
	}
	return f, nil
}
