package offline

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"scv/internal/home"
	"scv/internal/run/runlog"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// A told is a job for a search: its texts and the lines of its own run's log.
type told struct {
	agent, prompt, reply string
	log                  []string
}

// tell writes jobs 1 to n with a ledger and logs, as a daemon that has ended leaves them.
func tell(t testing.TB, h *home.Home, jobs []told) {
	t.Helper()
	s, err := ledger.Open(t.Context(), h, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := row.Batch{Counters: row.Counters{Job: uint64(len(jobs))}, Prompts: map[wire.JobID]row.Prompt{}, Results: map[wire.JobID]row.Result{}}
	for i, job := range jobs {
		num := uint64(i + 1)
		id, run := wire.NewJobID(num), wire.RunHandle(fmt.Sprintf("%s-%06x", job.agent, num))
		b.Jobs = append(b.Jobs, row.Job{Num: num, Job: wire.Job{
			Session: session, Job: id, Agent: job.agent, State: wire.StateCompleted, Task: job.prompt, Run: &run,
			CreatedUnixSeconds: num * 1000, UpdatedUnixSeconds: num * 1000,
		}})
		b.Prompts[id], b.Results[id] = row.Prompt{Text: job.prompt}, row.Result{Reply: job.reply}
		writeLog(t, h, run, id, job.log)
	}
	if err := s.Store(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func writeLog(t testing.TB, h *home.Home, run wire.RunHandle, id wire.JobID, lines []string) {
	t.Helper()
	if len(lines) == 0 {
		return
	}
	root, err := h.CreateRun(run)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	l, err := runlog.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i, text := range lines {
		ev := wire.RunEvent{TsMs: uint64(i + 1), Kind: wire.EventTool, Text: text}
		if name, ok := strings.CutPrefix(text, "turn of "); ok {
			ev.Kind, ev.Job = wire.EventTurnStarted, new(wire.JobID(name))
		}
		if _, err := l.Append(ev, row.Pos{Frame: uint64(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
}

func search(t *testing.T, h *home.Home, q Query) (out []string) {
	t.Helper()
	if q.Hits == 0 {
		q.Hits = 3
	}
	err := open(t, h).Search(t.Context(), q, func(f *Found) error {
		var line strings.Builder
		fmt.Fprintf(&line, "%s %d:", f.Job, f.Total)
		for _, p := range f.Places {
			fmt.Fprintf(&line, " %s[%s|%s|%s]", p.In, strings.Join(p.Before, ";"), p.Line, strings.Join(p.After, ";"))
		}
		out = append(out, line.String())
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return out
}

func TestSearch(t *testing.T) {
	h := newHome(t)
	tell(t, h, []told{
		{agent: "codex", prompt: "Fix the retry test", reply: "one\nfixed the RETRY test\nthree", log: []string{"go test ./net", "fixed the RETRY test", "retry again"}},
		{agent: "claude", prompt: "修复重试测试", reply: "已修复：ＲＥＴＲＹ 现在可以了", log: []string{"運行 テスト"}},
		{agent: "codex", prompt: "nothing", reply: strings.Repeat("é", 1000) + " needle " + strings.Repeat("z", 1000)},
		{agent: "codex", prompt: "x", log: []string{"turn of job-9", "retry of another job", "turn of job-4", "mine: deadlock\nsecond line"}},
	})
	for _, tt := range []struct {
		q    Query
		want []string
	}{
		{Query{Text: "retry"}, []string{
			"job-2 1: reply[|已修复：ＲＥＴＲＹ 现在可以了|]",
			"job-1 3: prompt[|Fix the retry test|] reply[|fixed the RETRY test|] tool[|retry again|]",
		}},
		{Query{Text: "Retry", Agents: []string{"codex"}, Around: 1}, []string{
			"job-1 3: prompt[|Fix the retry test|] reply[one|fixed the RETRY test|three] tool[fixed the RETRY test|retry again|]",
		}},
		{Query{Text: "retry", Jobs: 1}, []string{"job-2 1: reply[|已修复：ＲＥＴＲＹ 现在可以了|]"}},
		{Query{Text: "retry", Hits: 1, Agents: []string{"codex"}}, []string{"job-1 4: prompt[|Fix the retry test|]"}},
		{Query{Text: "重试"}, []string{"job-2 1: prompt[|修复重试测试|]"}},
		{Query{Text: "テスト"}, []string{"job-2 1: tool[|運行 テスト|]"}},
		{Query{Text: "deadlock", Around: 2}, []string{"job-4 1: tool[|mine: deadlock|second line]"}},
		{Query{Text: "another job"}, nil},
		{Query{Text: "retry", Since: time.Unix(2000, 0)}, []string{"job-2 1: reply[|已修复：ＲＥＴＲＹ 现在可以了|]"}},
		{Query{Text: "needle"}, []string{"job-3 1: reply[|.. " + strings.Repeat("é", 79) + " needle " + strings.Repeat("z", 233) + " ..|]"}},
	} {
		if diff := cmp.Diff(tt.want, search(t, h, tt.q)); diff != "" {
			t.Errorf("%+v: %s", tt.q, diff)
		}
	}
}

func TestSearchGoesOnBehindADamagedOrMissingLog(t *testing.T) {
	h := newHome(t)
	tell(t, h, []told{{agent: "codex", prompt: "retry", log: []string{"a"}}, {agent: "codex", prompt: "retry", log: []string{"b"}}})
	if err := os.RemoveAll(h.RunDir("codex-000001")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(h.RunDir("codex-000002") + "/events.jsonl"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(h.RunDir("codex-000002")+"/events.jsonl", 0o700); err != nil {
		t.Fatal(err)
	}
	var unread []bool
	err := open(t, h).Search(t.Context(), Query{Text: "retry"}, func(f *Found) error {
		unread = append(unread, f.Unread != "")
		return nil
	})
	if err != nil || !slices.Equal(unread, []bool{true, false}) {
		t.Errorf("%v, %v", unread, err)
	}
	if got := search(t, newHome(t), Query{Text: "x"}); got != nil {
		t.Errorf("an empty home has %v", got)
	}
}

// FuzzScan: whatever is sought in whatever text, what is found holds it.
func FuzzScan(f *testing.F) {
	f.Add("retry", "a\nRetry ＲＥＴＲＹ\nİ", 1)
	f.Fuzz(func(t *testing.T, needle, text string, around int) {
		if needle == "" || strings.ContainsAny(needle, "\n") {
			return
		}
		s := scan{needle: fold(needle), around: min(max(around, 0), maxAround), keep: 5}
		s.text(Place{In: "reply"}, text)
		for _, p := range s.places {
			if len(needle) < windowAfter && !strings.Contains(fold(p.Line), s.needle) {
				t.Errorf("%q is not in %q", needle, p.Line)
			}
			if len(p.Before) > s.around || len(p.After) > s.around {
				t.Errorf("%d and %d lines around", len(p.Before), len(p.After))
			}
		}
	})
}

// BenchmarkSearch10000 is a search that finds nothing among 10,000 jobs of 60 lines of log each.
func BenchmarkSearch10000(b *testing.B) {
	dir, err := os.MkdirTemp("", "scv")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	h, err := home.Open(dir + "/h")
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	log := make([]string, 60)
	for i := range log {
		log[i] = "$ go test ./internal/lex -run Token -count 1 and some more words"
	}
	jobs := make([]told, 10_000)
	for i := range jobs {
		jobs[i] = told{agent: "codex", prompt: strings.Repeat("fix the flaky test. ", 10), reply: strings.Repeat("I changed 修复 a line.\n", 60), log: log}
	}
	tell(b, h, jobs)
	for b.Loop() {
		r, err := Open(h)
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Search(b.Context(), Query{Text: "nowhere"}, func(*Found) error { return nil }); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}
