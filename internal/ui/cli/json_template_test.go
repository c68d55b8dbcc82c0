package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"scv/internal/wire"
)

func TestTemplates(t *testing.T) {
	known := []string{"job", "state", "n", "usage", "list", "on", "none"}
	data := []byte(`{"job":"job-3","state":"a\u001b[31mb\u202ec","n":0,"usage":{"cost_usd":0.25},"list":["x","y"],"on":true}`)
	for text, want := range map[string]string{
		"{job}": "job-3", `{job}\t{n}\n`: "job-3\t0\n", "{usage.cost_usd}": "0.25", "{list.1}{list.9}": "y", "{n?never}": "", "{on?yes {job}}!": "yes job-3!",
		"{none}{none?x}": "", `\{{job}\}`: "{job-3}", "{state}": "ab⟨U+202E⟩c", "{usage}": `{"cost_usd":0.25}`, "修复{job}": "修复job-3",
		"{on?{n?a}{job?b}}": "b", "": "",
	} {
		l, err := parseLayout(text, known)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, err := l.render(data); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"{", "{job", "{job?x", "}", "{x}", "{}", "{job?{n}"} {
		if _, err := parseLayout(text, known); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("{job?{state} }{n}")
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := parseLayout(text, []string{"job", "state", "n"}); err == nil {
			if _, err := l.render([]byte(`{"job":"job-3","n":1}`)); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

func TestFilter(t *testing.T) {
	jobs := []wire.Job{
		{Job: "job-1", Agent: "codex", State: wire.StateFailed, Rev: 7},
		{Job: "job-2", Agent: "claude", State: wire.StateFailed, Resumable: true},
		{Job: "job-3", Agent: "codex", State: wire.StateCompleted},
	}
	for pairs, want := range map[string]string{
		"agent=codex": "job-1 job-3", "agent=codex,state=failed": "job-1", "rev=7": "job-1", "resumable=true": "job-2", "resumable=false": "job-1 job-3",
		"detail=": "job-1 job-2 job-3", "agent=x": "", "": "job-1 job-2 job-3",
	} {
		flag := &filterFlag{}
		if pairs != "" {
			flag.pairs = strings.Split(pairs, ",")
		}
		kept, err := filtered(flag, jobs)
		var names []string
		for _, job := range kept {
			names = append(names, string(job.Job))
		}
		if got := strings.Join(names, " "); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", pairs, got, err, want)
		}
	}
}

func TestT35_JqAndPlainTablesGiveATerminalNothingToActOn(t *testing.T) {
	var out bytes.Buffer
	e := &escaper{out: &out}
	for _, part := range []string{"a\x1b[3", "1mb\u009b\u202e\x07\n", "c\td", "\n"} {
		if n, err := e.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := out.String(), `a\u001b[31mb\u009b\u202e\u0007`+"\nc\td\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	out.Reset()
	f := &screen{columns: 60, plain: true, colour: true, sys: System{Out: io.Discard, Now: func() time.Time { return time.Unix(180, 0) }}}
	evil := "do\x1b]52;c;x\x07it"
	job := &wire.Job{Session: "s", Job: "job-3", Agent: "codex", Task: evil, State: wire.StateWorking, UpdatedUnixSeconds: 60}
	if err := f.printTable(&out, jobColumns(), [][]cell{f.jobRow(&wire.Snapshot{}, job)}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "state working, job job-3, agent codex, task doit, since 2m\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
