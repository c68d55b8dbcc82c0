package repo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"scv/internal/wire"
)

const linkBytes = 8 << 10

// readLink reads a small file that holds one path or one line. What is no plain file is an error.
func readLink(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("read %s: it is no plain file", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, linkBytes))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	line := strings.TrimRight(string(data), "\r\n")
	if strings.ContainsAny(line, "\x00\n") {
		return "", fmt.Errorf("read %s: it holds more than a line", name)
	}
	return line, nil
}

// linkOf reads which git directory a fresh worktree at dir (below the home) names.
func (s *shelf) linkOf(dir string) (string, error) {
	root, err := s.home.Root().OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("open the worktree: %w", err)
	}
	defer root.Close()
	line, err := readLink(root, ".git")
	if err != nil {
		return "", err
	}
	link, ok := strings.CutPrefix(line, "gitdir: ")
	if !ok || !filepath.IsAbs(link) || filepath.Clean(link) != link {
		return "", errors.New("read .git: it names no git directory")
	}
	return link, nil
}

// verify proves that the directory dir (the worktree's own, or where it stands while it is removed) is the one that SCV
// made, and that it and the repository still name each other. Only then may git run there (security.md T28, T33).
func (s *shelf) verify(r record, dir string) error {
	if err := s.plainDir(dir); err != nil {
		return err
	}
	info, err := s.home.Root().Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at the worktree: %w", err)
	}
	if device, inode := identity(info); inode != r.Inode || device != r.Device {
		return changed(r, "another directory stands in its place")
	}
	link, err := s.linkOf(dir)
	if err != nil {
		return changed(r, "its .git file cannot be read as one")
	}
	if link != r.Link {
		return changed(r, "its .git file names another one")
	}
	return verifyBack(r)
}

// verifyBack proves the half of the link that lies in the repository.
func verifyBack(r record) error {
	if filepath.Dir(r.Link) != filepath.Join(r.Common, "worktrees") {
		return changed(r, "its git directory lies elsewhere")
	}
	for _, dir := range []string{r.Common, r.Link} {
		if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
			return changed(r, "its repository has moved or is reached by a link")
		}
	}
	root, err := os.OpenRoot(r.Link)
	if err != nil {
		return fmt.Errorf("open the worktree's git directory: %w", err)
	}
	defer root.Close()
	back, err := readLink(root, "gitdir")
	if err != nil || back != filepath.Join(r.Path, ".git") {
		return changed(r, "the repository does not name it any more")
	}
	common, err := readLink(root, "commondir")
	if err != nil {
		return changed(r, "the repository does not name it any more")
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(r.Link, common)
	}
	if filepath.Clean(common) != r.Common {
		return changed(r, "it belongs to another repository")
	}
	return nil
}

func changed(r record, how string) error {
	return wire.Refuse(wire.ReasonRefused, "look at it yourself, and keep or delete it by hand",
		"worktree %s changed its repository (%s), so SCV runs no git there and leaves it as it is.", pretty(r.Path), how)
}

// lockReason is why the worktree is locked; ours says so. locked is false when it is not.
func lockReason(r record) (reason string, locked bool, err error) {
	root, err := os.OpenRoot(r.Link)
	if err != nil {
		return "", false, fmt.Errorf("open the worktree's git directory: %w", err)
	}
	defer root.Close()
	reason, err = readLink(root, "locked")
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	return reason, true, nil
}

// middle names what the worktree is in the middle of, such as a rebase; empty for nothing.
func middle(gitDir string) string {
	for _, m := range [][2]string{
		{"rebase-merge", "a rebase"},
		{"rebase-apply", "a rebase"},
		{"MERGE_HEAD", "a merge"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"},
		{"REVERT_HEAD", "a revert"},
		{"BISECT_LOG", "a bisection"},
	} {
		if _, err := os.Lstat(filepath.Join(gitDir, m[0])); err == nil {
			return m[1]
		}
	}
	return ""
}
