package git

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
)

const linkBytes = 8 << 10

// ReadLink reads a small file that holds one path or one line. What is no plain file is an error.
func ReadLink(root *os.Root, name string) (string, error) {
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

// LinkOf reads which git directory a work tree names that is no repository itself.
func LinkOf(root *os.Root) (string, error) {
	line, err := ReadLink(root, ".git")
	if err != nil {
		return "", err
	}
	link, ok := strings.CutPrefix(line, "gitdir: ")
	if !ok || !filepath.IsAbs(link) || filepath.Clean(link) != link {
		return "", errors.New("read .git: it names no git directory")
	}
	return link, nil
}

// Middle names what a work tree is in the middle of, such as a rebase; empty for nothing.
func Middle(gitDir string) string {
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

// Hidden names a file that git's index was told to believe unchanged, or to leave out although it is there.
func (g *Runner) Hidden(ctx context.Context, at Place) (string, error) {
	out, err := g.Run(ctx, Call{At: at, Output: 64 << 20, Args: []string{"ls-files", "-z", "-v"}})
	if err != nil {
		return "", err
	}
	for line := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if len(line) < 3 {
			continue
		}
		tag, name := line[0], string(line[2:])
		if tag >= 'a' && tag <= 'z' {
			return name, nil
		}
		if tag == 'S' {
			if there, err := Exists(filepath.Join(at.Top, name)); err != nil || there {
				return name, nil
			}
		}
	}
	return "", nil
}

// Ourselves is, as environment, who makes a commit that is nobody's work, so that it needs no identity of the owner's.
func Ourselves() []string {
	return []string{"GIT_AUTHOR_NAME=SCV", "GIT_AUTHOR_EMAIL=scv@localhost", "GIT_COMMITTER_NAME=SCV", "GIT_COMMITTER_EMAIL=scv@localhost"}
}

// IsHash reports whether s is the full hash of an object.
func IsHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// Exists reports whether something has a name; what cannot be told is an error.
func Exists(name string) (bool, error) {
	_, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
