package git

import (
	"context"
	"fmt"
	"strings"
)

// A Release is a release of git.
type Release struct{ Major, Minor int }

// Least is the oldest release that does everything asked for here: merges without a work tree (git merge-tree
// --write-tree, by which the forecast and jobs apply work) came with it.
func Least() Release { return Release{2, 38} }

// Before reports whether r is older than other.
func (r Release) Before(other Release) bool {
	return r.Major < other.Major || r.Major == other.Major && r.Minor < other.Minor
}

func (r Release) String() string { return fmt.Sprintf("%d.%d", r.Major, r.Minor) }

// Release asks the machine's git what it is. The error is a *Error, or says that the answer was none.
func (g *Runner) Release(ctx context.Context) (Release, error) {
	out, err := g.Run(ctx, Call{Args: []string{"version"}})
	if err != nil {
		return Release{}, err
	}
	var r Release
	text := strings.TrimSpace(string(out))
	if _, err := fmt.Sscanf(text, "git version %d.%d", &r.Major, &r.Minor); err != nil {
		return Release{}, fmt.Errorf("git says %.60q, which is no version", text)
	}
	return r, nil
}
