package agent

import (
	"fmt"
	"strings"
)

// diffContext is how many unchanged lines stand around a change.
const diffContext = 3

// Diff is a change of a file in the unified form, as one hunk from the first line that differs to the last: it is meant
// to show every byte that changes, not to be the shortest. An empty old text stands for a new file.
func Diff(file, old, text string) string {
	if old == text {
		return ""
	}
	a, b := diffLines(old), diffLines(text)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from, after := max(0, head-diffContext), max(0, tail-diffContext)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%s +%s @@\n", nameOr(old, file), nameOr(text, file),
		span(from, len(a)-after-from), span(from, len(b)-after-from))
	write := func(mark byte, lines []string) {
		for _, line := range lines {
			out.WriteByte(mark)
			out.WriteString(line)
			if !strings.HasSuffix(line, "\n") {
				out.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	write(' ', a[from:head])
	write('-', a[head:len(a)-tail])
	write('+', b[head:len(b)-tail])
	write(' ', a[len(a)-tail:len(a)-after])
	return out.String()
}

func diffLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func nameOr(text, file string) string {
	if text == "" {
		return "/dev/null"
	}
	return file
}

// span is a hunk's place: its first line from 1, or the one before it when it has no lines, and their number.
func span(from, lines int) string {
	if lines > 0 {
		from++
	}
	return fmt.Sprintf("%d,%d", from, lines)
}
