package repo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"scv/internal/repo/git"
	"scv/internal/repo/submodule"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

const (
	includeName = ".worktreeinclude"
	// includeBytes and includeFiles bound what .worktreeinclude may bring along; carryBytes what --with-changes may.
	includeBytes = 1 << 30
	includeFiles = 10_000
	carryBytes   = 4 << 30
	listBytes    = 8 << 20
)

// bring copies into a fresh worktree what its checkout has beside the commit: the wished changes, and the ignored files
// that .worktreeinclude names. What cannot be included is a note; what cannot be carried over is an error, since the
// agent would work on something else than its owner sees.
func (t *Trees) bring(ctx context.Context, r *record) ([]string, error) {
	from, err := os.OpenRoot(r.Repo)
	if err != nil {
		return nil, refused("the checkout cannot be opened", err)
	}
	defer from.Close()
	to, err := t.home.Root().OpenRoot(r.dir())
	if err != nil {
		return nil, refused("the fresh worktree cannot be opened", err)
	}
	defer to.Close()
	if r.WithChanges {
		err := t.git.carry(ctx, *r, from, to)
		if err == nil {
			err = t.git.remember(ctx, *r)
		}
		if err != nil {
			return nil, refused("the uncommitted changes could not be carried over", err)
		}
	}
	notes, err := t.git.include(ctx, r, from, to)
	if err != nil {
		notes = append(notes, fmt.Sprintf("not all files named by %s were copied: %s", includeName, plain.Line(err.Error())))
	}
	sources := []string{filepath.Join(r.GitDir, "modules"), filepath.Join(r.Common, "modules")}
	var said []string
	r.Modules, said = submodule.Tree{Git: t.git.Runner, At: r.at(), Root: to}.Fill(ctx, sources, r.Commit)
	notes = append(notes, said...)
	return notes, refused("the worktree was not finished", ctx.Err())
}

// carry copies each changed, staged or untracked file byte for byte, and removes what the checkout has removed. No
// filter is asked and no object is made. All arrives unstaged. Submodules stay as the commit has them.
func (g *helper) carry(ctx context.Context, r record, from, to *os.Root) error {
	if head, _, err := g.base(ctx, r.source(), ""); err != nil || head != r.Commit {
		return errors.Join(wire.Refuse(wire.ReasonConflict, "try again", "the checkout moved on meanwhile."), err)
	}
	out, err := g.Run(ctx, git.Call{At: r.source(), Drivers: true, Output: listBytes, Args: []string{
		"status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames",
	}})
	if err != nil {
		return err
	}
	s, err := readStatus(out)
	if err != nil {
		return err
	}
	if s.unmerged > 0 {
		return wire.Refuse(wire.ReasonRefused, "resolve them, or start without --with-changes",
			"the checkout has %s with merge conflicts.", plain.Count(s.unmerged, "file"))
	}
	left := int64(carryBytes)
	for _, name := range append(s.changed, s.untracked...) {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if strings.HasSuffix(name, "/") { // a repository of its own inside the checkout
			continue
		}
		n, _, err := copyEntry(from, to, name, true, left)
		if errors.Is(err, fs.ErrNotExist) {
			err = to.Remove(filepath.FromSlash(name))
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// Carried names, behind ReviewRefs and the name of a worktree, the commit of what it began with (--with-changes): what its
// work is compared with when that is brought to where the changes came from.
const Carried = "/carried"

// remember makes a commit of a fresh worktree with what was carried over, of which its own index and branch know nothing.
func (g *helper) remember(ctx context.Context, r record) error {
	file := filepath.Join(r.Link, "scv-carried-index")
	defer os.Remove(file)
	index := []string{"GIT_INDEX_FILE=" + file}
	tree := ""
	for _, c := range []git.Call{
		{Args: []string{"read-tree", r.Commit}, Extra: index},
		{Args: []string{"add", "--all"}, Extra: index, Drivers: true, Limit: git.LongTime},
		{Args: []string{"write-tree"}, Extra: index, Drivers: true}, // it looks at what changed in the moment of the index
	} {
		c.At = r.at()
		out, err := g.Run(ctx, c)
		if err != nil {
			return err
		}
		tree = strings.TrimSpace(string(out))
	}
	out, err := g.Run(ctx, git.Call{At: r.at(), Extra: git.Ourselves(), Stdin: []byte("carried over"), Args: []string{"commit-tree", tree, "-p", r.Commit}})
	if err != nil {
		return err
	}
	_, err = g.Run(ctx, git.Call{At: r.at(), Args: []string{"update-ref", ReviewRefs + r.Name + Carried, strings.TrimSpace(string(out))}})
	return err
}

// include copies the files that .worktreeinclude matches and git ignores. Nothing is overwritten.
func (g *helper) include(ctx context.Context, r *record, from, to *os.Root) ([]string, error) {
	info, err := from.Lstat(includeName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no plain file")
	}
	matched, err := g.Run(ctx, git.Call{At: r.source(), Output: listBytes, Args: []string{
		"ls-files", "-z", "--others", "--ignored", "--exclude-from=" + filepath.Join(r.Repo, includeName),
	}})
	if err != nil || len(matched) == 0 {
		return nil, err
	}
	ignored, err := g.Run(ctx, git.Call{At: r.source(), Output: listBytes, Stdin: matched, Args: []string{"check-ignore", "-z", "--stdin"}})
	if git.Exited(err, 1) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var notes []string
	left := int64(includeBytes)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(ignored), "\x00"), "\x00") {
		if ctx.Err() != nil {
			return notes, context.Cause(ctx)
		}
		if len(r.Included) >= includeFiles {
			return notes, fmt.Errorf("it names more than %d files", includeFiles)
		}
		n, sum, err := copyEntry(from, to, name, false, left)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s was not copied: %s.", plain.Quote(name), plain.Line(err.Error())))
			continue
		}
		left -= n
		r.Included = append(r.Included, includedFile{Path: name, Sum: sum})
	}
	return notes, nil
}

// copyEntry copies one file or link below from to the same git.Place below to, with its mode, and returns its bytes and
// their SHA-256. Neither side is left by a link. fs.ErrExist when it is there and must not be replaced.
func copyEntry(from, to *os.Root, name string, replace bool, left int64) (int64, string, error) {
	name = filepath.FromSlash(name)
	info, err := from.Lstat(name)
	if err != nil {
		return 0, "", fmt.Errorf("look at %s: %w", plain.Quote(name), err)
	}
	if info.Size() > left {
		return 0, "", errors.New("together they are too large")
	}
	if dir := filepath.Dir(name); dir != "." {
		if err := to.MkdirAll(dir, 0o755); err != nil {
			return 0, "", fmt.Errorf("make the directory of %s: %w", plain.Quote(name), err)
		}
	}
	if replace {
		if err := to.RemoveAll(name); err != nil {
			return 0, "", fmt.Errorf("replace %s: %w", plain.Quote(name), err)
		}
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if err == nil {
			err = to.Symlink(target, name)
		}
		if err != nil {
			return 0, "", fmt.Errorf("copy link %s: %w", plain.Quote(name), err)
		}
		return 0, linkSum(target), nil
	case info.Mode().IsRegular():
		return copyFile(from, to, name, info.Mode().Perm())
	}
	return 0, "", fmt.Errorf("%s is neither a file nor a link", plain.Quote(name))
}

func copyFile(from, to *os.Root, name string, mode fs.FileMode) (int64, string, error) {
	in, err := from.Open(name)
	if err != nil {
		return 0, "", fmt.Errorf("copy %s: %w", plain.Quote(name), err)
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return 0, "", fmt.Errorf("copy %s: %w", plain.Quote(name), err)
	}
	// From file to file, so that the kernel shares the blocks where the file system can; read for its sum afterwards.
	n, err := io.Copy(out, in)
	if err := errors.Join(err, out.Chmod(mode), out.Close()); err != nil {
		return n, "", fmt.Errorf("copy %s: %w", plain.Quote(name), err)
	}
	sum := sha256.New()
	_, err = in.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.Copy(sum, io.LimitReader(in, n))
	}
	if err != nil {
		return n, "", fmt.Errorf("copy %s: %w", plain.Quote(name), err)
	}
	return n, hex.EncodeToString(sum.Sum(nil)), nil
}

func linkSum(target string) string {
	sum := sha256.Sum256([]byte("link " + target))
	return hex.EncodeToString(sum[:])
}

// fileSum is what copyEntry returned for a file that has not changed since.
func fileSum(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", plain.Quote(name), err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := root.Readlink(name)
		if err != nil {
			return "", fmt.Errorf("read link %s: %w", plain.Quote(name), err)
		}
		return linkSum(target), nil
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is neither a file nor a link", plain.Quote(name))
	}
	f, err := root.Open(name)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", plain.Quote(name), err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read %s: %w", plain.Quote(name), err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// status is what git status says about a work tree.
type status struct {
	head     string // branch, empty when detached
	commit   string // checked out
	upstream string
	ahead    int // of the upstream
	unmerged int
	changed  []string // tracked paths, submodules left out
	// untracked and ignored: a name that ends in a slash is a directory with nothing tracked in it.
	untracked, ignored []string
}

func (s status) dirty() bool { return s.unmerged > 0 || len(s.changed) > 0 || len(s.untracked) > 0 }

// readStatus reads status --porcelain=v2 -z --no-renames, with or without --branch and --ignored. What it does not know
// is an error: an answer that is not understood proves nothing.
func readStatus(out []byte) (status, error) {
	var s status
	for entry := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		line := string(entry)
		if line == "" {
			continue
		}
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "#":
			s.header(rest)
		case "1":
			fields := strings.SplitN(rest, " ", 8)
			if len(fields) != 8 {
				return status{}, fmt.Errorf("git status: unexpected line %q", line)
			}
			if fields[2] == "160000" || fields[3] == "160000" { // a submodule's commit changed
				s.changed = append(s.changed, fields[7]+"/")
			} else {
				s.changed = append(s.changed, fields[7])
			}
		case "u":
			s.unmerged++
		case "?":
			s.untracked = append(s.untracked, rest)
		case "!":
			s.ignored = append(s.ignored, rest)
		default:
			return status{}, fmt.Errorf("git status: unexpected line %q", line)
		}
	}
	return s, nil
}

func (s *status) header(rest string) {
	key, value, _ := strings.Cut(rest, " ")
	switch key {
	case "branch.head":
		if value != "(detached)" {
			s.head = value
		}
	case "branch.oid":
		s.commit = value
	case "branch.upstream":
		s.upstream = value
	case "branch.ab":
		if _, err := fmt.Sscanf(value, "+%d", &s.ahead); err != nil {
			s.ahead = 1 // not understood: taken for not pushed
		}
	}
}
