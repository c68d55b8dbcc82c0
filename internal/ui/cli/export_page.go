package cli

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"scv/internal/client/offline"
	"scv/internal/safe/plain"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// exportHead writes the beginning of a job's page in Markdown: what it is, its prompt, and what it left.
func exportHead(b *bytes.Buffer, job *offline.Record) {
	at := func(unix uint64) string { return time.Unix(int64(unix), 0).UTC().Format(time.RFC3339) }
	fmt.Fprintf(b, "# %s: %s\n\n", job.Job.Job, plain.Line(job.Task))
	fmt.Fprintf(b, "- state: %s, since %s\n- agent: %s\n- folder: %s\n- started: %s\n", job.State, at(job.UpdatedUnixSeconds), plain.Line(job.Agent), plain.Line(job.Cwd), at(job.CreatedUnixSeconds))
	if job.Detail != nil {
		fmt.Fprintf(b, "- detail: %s\n", plain.Line(*job.Detail))
	}
	if told := wording.Used(job.Usage); told != "" {
		fmt.Fprintf(b, "- used: %s\n", told)
	}
	for _, part := range []struct{ name, text string }{{"Prompt", job.Prompt}, {"Reply", job.Reply}, {"Error", job.Failure}} {
		if text := strings.TrimSpace(plain.Block(part.text)); text != "" {
			fence := fenceOf(text)
			fmt.Fprintf(b, "\n## %s\n\n%s\n%s\n%s\n", part.name, fence, text, fence)
		}
	}
	b.WriteString("\n## Log\n\n")
}

// fenceOf is a row of backticks that the text does not hold.
func fenceOf(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}

// exportLine writes one line of the log, indented so that nothing in it is Markdown.
func exportLine(b *bytes.Buffer, e *wire.RunEvent) {
	said := plain.Line(e.Text)
	if e.Status != nil {
		said = strings.TrimSpace(plain.Line(*e.Status) + "  " + said)
	}
	fmt.Fprintf(b, "    %s  %-12s %s\n", time.UnixMilli(int64(e.TsMs)).UTC().Format(time.RFC3339), e.Kind, said)
}
