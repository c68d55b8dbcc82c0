package repo

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

const (
	branchLead     = "scv/"
	maxBranchBytes = 200
	maxNameBytes   = 100
	maxSlugBytes   = 32
	maxGroupLetter = 40
)

// newName is the name of a worktree from the agent, the words of the task and a suffix of six hex digits, such as
// codex-fix-flaky-retry-3f9a2c. A task without Latin words gives codex-3f9a2c.
func newName(agent, task, suffix string) string {
	parts := []string{agent, slug(task), suffix}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "-")
}

// slug makes a few words of a task into a piece of a name: lower-case letters and digits joined by dashes.
func slug(task string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(task), "\n")
	words := strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	var out string
	for _, w := range words {
		switch w {
		case "a", "an", "the", "of", "to", "in", "on", "for", "and", "please", "with":
			continue
		}
		if out == "" {
			out = w[:min(len(w), maxSlugBytes)]
			continue
		}
		if len(out)+1+len(w) > maxSlugBytes {
			break
		}
		out += "-" + w
	}
	return out
}

// groupName is the directory that holds the worktrees of one checkout: its name, and eight hex digits of its path.
func groupName(top string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && wordByte(byte(r)) {
			return r
		}
		return -1
	}, filepath.Base(top))
	name = strings.TrimLeft(name, "-") // never to be taken for an option
	name = name[:min(len(name), maxGroupLetter)]
	if name == "" {
		name = "repo"
	}
	sum := sha256.Sum256([]byte(top))
	return name + "-" + hex.EncodeToString(sum[:4])
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// validName reports whether name may be a worktree's directory: lower-case letters, digits and dashes, so that no two
// names differ in case only, beginning with a letter.
func validName(name string) bool {
	if name == "" || len(name) > maxNameBytes || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && !strings.HasSuffix(name, "-")
}

// validGroup reports whether name may be a group's directory.
func validGroup(name string) bool {
	if name == "" || len(name) > maxNameBytes {
		return false
	}
	for i := range len(name) {
		if !wordByte(name[i]) {
			return false
		}
	}
	return name[0] != '-'
}

// checkBranch refuses what is no plain branch name: our own rule, narrower than git's (security.md section 3 rule 4).
// Git's own check comes on top where the name came from outside.
func checkBranch(name string) error {
	bad := name == "" || len(name) > maxBranchBytes || name == "HEAD" || strings.HasPrefix(name, "refs/") ||
		strings.Contains(name, "..")
	for part := range strings.SplitSeq(name, "/") {
		bad = bad || part == "" || part[0] == '-' || part[0] == '.' || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock")
		for i := range len(part) {
			bad = bad || !wordByte(part[i]) && part[i] != '.'
		}
	}
	if bad {
		return wire.Refuse(wire.ReasonInvalid, "use letters, digits, dots, dashes and slashes, such as: scv/fix-retry",
			"%s cannot be the name of a branch.", plain.Quote(name))
	}
	return nil
}

// checkBase refuses what is no plain name of a commit: a branch, a tag, a hash, with ~N or ^N behind it.
func checkBase(name string) error {
	head, steps := name, ""
	if i := strings.IndexAny(name, "~^"); i >= 0 {
		head, steps = name[:i], name[i:]
	}
	for _, lead := range []string{"refs/heads/", "refs/remotes/", "refs/tags/"} {
		if rest, ok := strings.CutPrefix(head, lead); ok {
			head = rest
			break
		}
	}
	if (head == "HEAD" || checkBranch(head) == nil) && strings.Trim(steps, "~^0123456789") == "" {
		return nil
	}
	return wire.Refuse(wire.ReasonInvalid, "name a branch, a tag or a commit, such as: main, v1.2, HEAD~1",
		"%s cannot be where a worktree starts from.", plain.Quote(name))
}
