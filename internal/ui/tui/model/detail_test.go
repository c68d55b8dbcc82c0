package model

import (
	"fmt"
	"strings"
	"testing"

	"scv/internal/wire"
)

// follows is the run that the model wants to be followed, and under which number.
func (d *desk) follows() (run wire.RunHandle, source uint64, asked bool) {
	for _, e := range d.take() {
		if f, ok := e.(Follow); ok {
			run, source, asked = f.Run, f.Source, true
		}
	}
	return run, source, asked
}

func (d *desk) log(source uint64, texts ...string) {
	var events []wire.RunEvent
	for i, text := range texts {
		events = append(events, wire.RunEvent{Seq: uint64(i + 1), TsMs: 1_800_000_000_000, Kind: wire.EventText, Text: text})
	}
	d.send(Logged{Source: source, Events: events})
}

func (d *desk) body() string {
	var b strings.Builder
	for _, row := range d.m.Detail.Body.Window(d.m.Detail.Height()) {
		b.WriteString(row.String() + "\n")
	}
	return b.String()
}

func TestLogFollowsTheSelectedJob(t *testing.T) {
	d := newDesk(t)
	d.list(&wire.Snapshot{Jobs: []wire.Job{job(2, wire.StateWorking, "two"), job(1, wire.StateWorking, "one")}})
	run, first, _ := d.follows()
	if run != "codex-000002" {
		t.Fatalf("follows %q", run)
	}
	d.log(first, "hello")
	d.list(&wire.Snapshot{Jobs: []wire.Job{job(2, wire.StateWorking, "two"), job(1, wire.StateFailed, "one")}})
	if _, _, asked := d.follows(); asked {
		t.Error("a change elsewhere asked for the log again")
	}
	d.press("j")
	run, second, _ := d.follows()
	if run != "codex-000001" || second == first {
		t.Fatalf("follows %q under %d after %d", run, second, first)
	}
	d.log(first, "late line of the other job")
	d.log(second, "its own line")
	if got := d.body(); strings.Contains(got, "late") || !strings.Contains(got, "its own line") {
		t.Errorf("shows %q", got)
	}
	d.press("i")
	if run, _, asked := d.follows(); !asked || run != "" {
		t.Errorf("in another pane the log is still followed: %q %t", run, asked)
	}
	d.press("l")
	if run, _, _ := d.follows(); run != "codex-000001" {
		t.Errorf("back in the log it follows %q", run)
	}
}

func TestALogOfSeveralJobsShowsTheSelectedOne(t *testing.T) {
	d := newDesk(t)
	d.list(&wire.Snapshot{Jobs: []wire.Job{job(2, wire.StateWorking, "two")}})
	_, source, _ := d.follows()
	turn := func(n uint64) wire.RunEvent {
		return wire.RunEvent{Kind: wire.EventTurnStarted, Job: new(wire.NewJobID(n)), Text: fmt.Sprint("prompt of ", n)}
	}
	say := func(s string) wire.RunEvent { return wire.RunEvent{Kind: wire.EventText, Text: s} }
	d.send(Logged{Source: source, Events: []wire.RunEvent{turn(1), say("first"), turn(2), say("second"), turn(3), say("third")}})
	if got := d.body(); !strings.Contains(got, "second") || strings.Contains(got, "first") || strings.Contains(got, "third") {
		t.Errorf("shows %q", got)
	}
}

func TestE14_AScrolledLogDoesNotJump(t *testing.T) {
	d := newDesk(t)
	d.list(&wire.Snapshot{Jobs: []wire.Job{job(1, wire.StateWorking, "one")}})
	_, source, _ := d.follows()
	var lines []string
	for n := range 100 {
		lines = append(lines, fmt.Sprintf("line %d", n))
	}
	d.log(source, lines...)
	d.press("enter")
	if !strings.Contains(d.body(), "line 99") {
		t.Fatalf("it does not follow: %q", d.body())
	}
	d.press("pgup")
	before := d.body()
	below := d.m.Detail.Body.Below(d.m.Detail.Height())
	d.log(source, "a new line", "and one more")
	if d.body() != before {
		t.Errorf("it jumped from\n%sto\n%s", before, d.body())
	}
	if got := d.m.Detail.Body.Below(d.m.Detail.Height()); got != below+2 {
		t.Errorf("%d lines below, want %d", got, below+2)
	}
	d.press("G")
	if !strings.Contains(d.body(), "and one more") {
		t.Error("G does not go to the end")
	}
	d.log(source, "the newest")
	if !strings.Contains(d.body(), "the newest") {
		t.Error("at the end it does not follow")
	}
	// Dropping old lines at the bound moves nothing either.
	d.press("pgup", "pgup")
	before = d.body()
	for range 29 {
		d.log(source, lines...)
	}
	if n := d.m.Detail.Body.Len(); n != 3000 || !d.m.Detail.Body.Gone {
		t.Fatalf("%d lines are kept", n)
	}
	if got := d.body(); got != before {
		t.Errorf("when old lines went it jumped from\n%sto\n%s", before, got)
	}
}

func TestSearchInThePane(t *testing.T) {
	d := newDesk(t)
	d.list(&wire.Snapshot{Jobs: []wire.Job{job(1, wire.StateWorking, "one")}})
	_, source, _ := d.follows()
	var lines []string
	for n := range 200 {
		lines = append(lines, fmt.Sprintf("line %d", n))
	}
	lines[50], lines[150] = "The Needle one", "the needle two"
	d.log(source, lines...)
	d.press("enter", "g", "/", "type:needle", "enter")
	if !strings.Contains(d.body(), "Needle one") {
		t.Fatalf("shows %q", d.body())
	}
	d.press("n")
	if !strings.Contains(d.body(), "needle two") {
		t.Errorf("n shows %q", d.body())
	}
	d.press("N")
	if !strings.Contains(d.body(), "Needle one") {
		t.Errorf("N shows %q", d.body())
	}
	d.press("esc", "n")
	if d.m.Focus != OnForm {
		t.Error("without a search n does not open the form")
	}
}

// answer gives the model what a Call asked for, by f; others are dropped.
func (d *desk) answer(f func(cmd wire.Command) (*wire.DaemonStatus, error)) {
	for _, e := range d.take() {
		if c, ok := e.(Call); ok {
			st, err := f(c.Cmd)
			d.send(Called{Then: c.Then, Status: st, Err: err})
		}
	}
}

func TestResultComesInPagesAsFarAsItIsRead(t *testing.T) {
	reply := strings.Repeat("这是很长的答复。A long reply, line by line.\n", 2000)
	var asked []uint64
	page := func(cmd wire.Command) (*wire.DaemonStatus, error) {
		c, ok := cmd.(wire.JobResultCommand)
		if !ok {
			return nil, wire.Refuse(wire.ReasonInvalid, "", "unexpected %T", cmd)
		}
		asked = append(asked, c.After)
		end := min(c.After+4096, uint64(len(reply)))
		r := &wire.JobResult{State: wire.StateCompleted, Reply: new(reply[c.After:end])}
		if end < uint64(len(reply)) {
			r.Next = new(end)
		}
		return &wire.DaemonStatus{JobResult: r}, nil
	}
	d := newDesk(t, job(1, wire.StateCompleted, "one"))
	d.press("enter", "tab")
	for range 5 {
		d.answer(page)
	}
	first := len(asked)
	if first == 0 || first > 3 {
		t.Fatalf("%d pages were asked for before anybody read on", first)
	}
	for range 3000 {
		d.press("G")
		d.answer(page)
	}
	want := strings.Count(reply, "\n")
	if got := strings.Count(d.m.Detail.Body.Text(), "这是很长的答复。A long reply, line by line."); got != want {
		t.Errorf("%d whole lines of %d, after %d pages", got, want, len(asked))
	}
}

func TestWhyAndRefusals(t *testing.T) {
	d := newDesk(t, job(1, wire.StateUnknown, "one"))
	d.press("tab", "tab", "tab")
	d.answer(func(cmd wire.Command) (*wire.DaemonStatus, error) {
		return &wire.DaemonStatus{Why: &wire.WhyReport{Job: "job-1", State: wire.StateUnknown, Evidence: wire.List[wire.Evidence]{{AtMs: 1, Source: "shim", Fact: "its lock is free"}}}}, nil
	})
	if got := d.m.Detail.Body.Text(); !strings.Contains(got, "job-1 is unknown") || !strings.Contains(got, "shim") || !strings.Contains(got, "its lock is free") {
		t.Errorf("shows %q", got)
	}
	d.list(&wire.Snapshot{Jobs: []wire.Job{job(1, wire.StateFailed, "one")}})
	d.answer(func(wire.Command) (*wire.DaemonStatus, error) {
		return nil, wire.Refuse(wire.ReasonUnavailable, "scv restart", "the daemon does not know why")
	})
	if want := "the daemon does not know why. Next: scv restart"; d.m.Detail.Note != want {
		t.Errorf("note %q", d.m.Detail.Note)
	}
}

func TestUsageTellsOnlyWhatIsKnown(t *testing.T) {
	a, b := job(1, wire.StateCompleted, "one"), job(2, wire.StateCompleted, "two")
	a.Usage = &wire.JobUsage{InputTokens: new(uint64(1000)), CostUSD: new(0.25)}
	b.Usage = &wire.JobUsage{InputTokens: new(uint64(500)), OutputTokens: new(uint64(7))}
	c := job(3, wire.StateCompleted, "three")
	c.Agent = "claude"
	d := newDesk(t, a, b, c)
	d.press("tab", "tab", "tab", "tab")
	got := d.m.Detail.Body.Text()
	for _, want := range []string{"job-3: usage not known", "claude        1 job, usage not known", "codex         2 jobs, 1500 tokens in, 7 out, $0.2500"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestE15_OfflineKeepsWhatWasShownAndSaysSo(t *testing.T) {
	d := newDesk(t, job(1, wire.StateWorking, "one"))
	d.send(Lost{Why: "the daemon went away"})
	if want := "OFFLINE since 08:00: the daemon went away. Shown is what was; agents that work go on"; d.m.Banner() != want {
		t.Errorf("banner %q", d.m.Banner())
	}
	if len(d.m.List.Items) != 1 {
		t.Error("the list is empty")
	}
	d.wait(600e9)
	d.send(Lost{Why: "no daemon runs"})
	if !strings.HasPrefix(d.m.Banner(), "OFFLINE since 08:00: no daemon runs") {
		t.Errorf("banner %q", d.m.Banner())
	}
	d.send(Connected{})
	if d.m.Banner() != "" {
		t.Errorf("banner %q stays", d.m.Banner())
	}
	d.list(&wire.Snapshot{Storage: "the disk is full"})
	if d.m.Banner() != "the disk is full" {
		t.Errorf("banner %q", d.m.Banner())
	}
	// What lies on disk never takes the place of what a daemon said.
	d.send(Listed{View: &wire.Snapshot{}, Disk: true})
	if d.m.Disk || d.m.Banner() == "" {
		t.Error("an old picture took the place of a new one")
	}
}
