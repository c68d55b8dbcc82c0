package sheet

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/widget"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// Diff gives each line of a difference the role that its sign says; stat is one of files and signs.
func Diff(body string, stat bool) []widget.Line {
	var out []widget.Line
	for line := range strings.SplitSeq(strings.TrimRight(plain.Block(body), "\n"), "\n") {
		role := canvas.Body
		switch {
		case stat:
		case strings.HasPrefix(line, "@@"):
			role = canvas.Work
		case strings.HasPrefix(line, "diff --git "), strings.HasPrefix(line, "index "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			role = canvas.Strong
		case strings.HasPrefix(line, "+"):
			role = canvas.Done
		case strings.HasPrefix(line, "-"):
			role = canvas.Fail
		}
		out = append(out, widget.Line{Role: role, Text: strings.ReplaceAll(line, "\t", "    ")})
	}
	return out
}

// Forecast says which jobs would conflict if their work were brought home, in the order to land them; about is the job to
// make stand out, if any.
func Forecast(c *wire.Forecast, about wire.JobRef, zone *time.Location) []widget.Line {
	if c == nil || len(c.Branches) == 0 {
		return []widget.Line{{Role: canvas.Faint, Text: "No job has work in a worktree, so nothing can conflict. Next: n, and worktree: yes"}}
	}
	out := []widget.Line{{Role: canvas.Faint, Text: "In this order they land with the fewest conflicts; as of " + Stamp(zone, c.UnixSeconds) + ", of what is committed:"}}
	for i := range c.Branches {
		b := &c.Branches[i]
		_, id, _ := b.Job.Split()
		role := canvas.Body
		if b.Job == about {
			role = canvas.Strong
		}
		head := canvas.Row{canvas.Cell(canvas.Faint, strconv.Itoa(i+1), 3), canvas.Text(" "), canvas.Cell(role, string(id), 8), canvas.Text(" ")}
		out = append(out, widget.Line{Head: head, Role: role, Text: b.Branch + ", " + wording.BranchWork(b)})
		met := wording.Meets(c, b)
		if len(met) == 0 {
			out = append(out, widget.Line{Head: canvas.Row{canvas.Blank(13)}, Role: canvas.Done, Text: "meets nothing"})
		}
		for _, m := range met {
			out = append(out, widget.Line{Head: canvas.Row{canvas.Blank(13)}, Role: canvas.Wait, Text: m})
		}
	}
	return out
}

// Tree says everything known of a worktree.
func (f *Facts) Tree(w *wire.WorktreeInfo) {
	put := f.Put
	put("path", w.Path)
	put("branch", w.Branch)
	put("now on", text(w.Now))
	put("repository", w.Repo)
	put("changed", unsure(w.Dirty))
	put("merged", unsure(w.Merged))
	if w.Ahead != nil && w.Behind != nil {
		put("commits", fmt.Sprintf("%d ahead of what it started from, %d behind", *w.Ahead, *w.Behind))
	}
	if w.TrackedBytes != nil && w.IgnoredBytes != nil {
		put("size", plain.Size(*w.TrackedBytes)+", and "+plain.Size(*w.IgnoredBytes)+" that git ignores")
	}
	if w.LastUseUnixSeconds != nil {
		f.at("last use", *w.LastUseUnixSeconds)
	}
	put("problem", text(w.Problem))
	for _, job := range w.Jobs {
		put("job", string(job))
	}
}

func unsure(b *bool) string {
	if b == nil {
		return "git could not tell"
	}
	return yes(*b)
}

// Request is what an approval asks for, in one text: the literal command where there is one, since a summary is never the
// thing that is approved.
func Request(a *wire.Approval) string { return cmp.Or(a.Command, a.Summary) }

// Card is a request as it is put to a person: what, where, how risky, what to look at twice, until when. same is how many
// others that wait ask the very same.
func Card(a *wire.Approval, same int, zone *time.Location) []widget.Line {
	var lines []widget.Line
	put := func(name string, role canvas.Role, text string) {
		for i, part := range strings.Split(plain.Block(text), "\n") {
			head := canvas.Row{canvas.Blank(9)}
			if i == 0 {
				head = canvas.Row{canvas.Cell(canvas.Faint, "  "+name, 9)}
			}
			lines = append(lines, widget.Line{Head: head, Role: role, Text: part})
		}
	}
	for part := range strings.SplitSeq(plain.Block(Request(a)), "\n") {
		lines = append(lines, widget.Line{Head: canvas.Row{canvas.Blank(2)}, Role: canvas.Strong, Text: part})
	}
	for _, w := range a.Warnings {
		put("look!", canvas.Wait, w)
	}
	if a.Command != "" && a.Summary != "" && a.Summary != a.Command {
		put("says", canvas.Body, a.Summary)
	}
	put("tool", canvas.Body, strings.TrimPrefix(a.Agent+" ", " ")+cmp.Or(a.Tool, a.Name)+", risk "+a.Risk)
	put("in", canvas.Body, a.Cwd)
	for _, path := range a.Paths {
		put("file", canvas.Body, path)
	}
	if same > 0 {
		put("same", canvas.Body, fmt.Sprintf("%d more ask the very same; m answers all of them", same))
	}
	if a.ExpiresUnixSeconds < wire.NoDeadline {
		put("until", canvas.Body, Stamp(zone, a.ExpiresUnixSeconds)+"; then it counts as denied")
	}
	if a.Left > 0 {
		put("cut", canvas.Wait, fmt.Sprintf("%d bytes are left out here; whole: scv approvals show %s", a.Left, a.ID))
	}
	if a.Diff != "" {
		put("diff", canvas.Body, "")
		for _, l := range Diff(a.Diff, false) {
			l.Head = canvas.Row{canvas.Blank(9)}
			lines = append(lines, l)
		}
	}
	return lines
}
