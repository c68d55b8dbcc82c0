package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"scv/internal/repo/git"
	"scv/internal/wire"
)

// linkOf reads which git directory a worktree at dir (below the home) names.
func (s *shelf) linkOf(dir string) (string, error) {
	root, err := s.home.Root().OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("open the worktree: %w", err)
	}
	defer root.Close()
	return git.LinkOf(root)
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
	back, err := git.ReadLink(root, "gitdir")
	if err != nil || back != filepath.Join(r.Path, ".git") {
		return changed(r, "the repository does not name it any more")
	}
	common, err := git.ReadLink(root, "commondir")
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
	reason, err = git.ReadLink(root, "locked")
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	return reason, true, nil
}
