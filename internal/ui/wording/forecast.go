package wording

import (
	"fmt"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// fewFiles is how many files a conflict names.
const fewFiles = 3

// BranchWork is how much a job has done in its worktree.
func BranchWork(b *wire.ForecastBranch) string {
	if b.Note != nil {
		return "not known"
	}
	text := plain.Count(b.Files, "file")
	if b.Loose > 0 {
		text += fmt.Sprintf(", %d not committed", b.Loose)
	}
	return text
}

// Meets tells with what a branch conflicts, and where; nothing when it meets nothing.
func Meets(c *wire.Forecast, b *wire.ForecastBranch) []string {
	var parts []string
	if b.Note != nil {
		parts = append(parts, *b.Note)
	}
	if len(b.Base) > 0 {
		parts = append(parts, strings.TrimPrefix(b.Onto, "refs/heads/")+" in "+few(b.Base))
	}
	for i := range c.Conflicts {
		x := &c.Conflicts[i]
		other := x.One
		switch b.Job {
		case x.One:
			other = x.Other
		case x.Other:
		default:
			continue
		}
		_, id, _ := other.Split()
		parts = append(parts, string(id)+" in "+few(x.Files))
	}
	return parts
}

func few(files []string) string {
	shown := strings.Join(files[:min(len(files), fewFiles)], ", ")
	if more := len(files) - fewFiles; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return shown
}
