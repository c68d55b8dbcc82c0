package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/wire"
)

// queue is a conversation with one job that works and three that wait.
func queue() []wire.Job {
	var jobs []wire.Job
	for n := range 4 {
		j := job(n+1, wire.StateQueued, "task")
		j.Conversation = new(wire.ConversationID("codex-1"))
		j.Revision = uint64(n)
		jobs = append(jobs, j)
	}
	jobs[0].State = wire.StateWorking
	return jobs
}

func (d *desk) does(words string) {
	d.press(":", "type:"+words, "enter")
}

func TestQueueEditing(t *testing.T) {
	d := newDesk(t)
	d.send(Connected{Features: []string{wire.FeatureQueue, wire.FeatureFollow}})
	d.list(&wire.Snapshot{Jobs: queue()})
	d.press("j", "j") // job-4, job-3, job-2 wait, the newest on top
	if name := d.m.Name(d.m.List.Selected()); name != "job-3" {
		t.Fatalf("selected %s", name)
	}
	d.take()
	d.does("earlier")
	d.does("later")
	d.does("pause the queue")
	d.does("let a paused")
	want := []wire.Command{
		wire.JobMove{Session: session, Job: "job-3", Before: new(wire.JobID("job-2")), Revision: new(uint64(2)), Key: "key-1"},
		wire.JobMove{Session: session, Job: "job-3", After: new(wire.JobID("job-4")), Revision: new(uint64(2)), Key: "key-2"},
		wire.ConversationPause{Session: session, Conversation: "codex-1", Key: "key-3"},
		wire.ConversationResume{Session: session, Conversation: "codex-1", Key: "key-4"},
	}
	if diff := cmp.Diff(want, d.commands()); diff != "" {
		t.Error(diff)
	}
	d.does("edit the prompt that waits")
	d.answer(func(cmd wire.Command) (*wire.DaemonStatus, error) {
		if diff := cmp.Diff(wire.JobPrompt{Session: session, Job: "job-3"}, cmd); diff != "" {
			t.Error(diff)
		}
		return &wire.DaemonStatus{Prompt: &wire.PromptText{Text: "the whole prompt", Revision: 7}}, nil
	})
	d.edits("the whole prompt", "another prompt")
	if diff := cmp.Diff([]wire.Command{wire.JobEdit{Session: session, Job: "job-3", Prompt: "another prompt", Revision: new(uint64(7)), Key: "key-5"}}, d.commands()); diff != "" {
		t.Error(diff)
	}
}

func TestQueueEditingIsRefusedWhereItMakesNoSense(t *testing.T) {
	d := newDesk(t)
	d.list(&wire.Snapshot{Jobs: queue()})
	d.press("j")
	d.does("earlier")
	if want := "earlier in its queue: this daemon cannot"; d.m.Notice.Text != want {
		t.Errorf("of an older daemon: %q", d.m.Notice.Text)
	}
	d.press("esc")
	d.send(Connected{Features: []string{wire.FeatureQueue}})
	d.does("later") // job-4 is the last
	if want := "nothing waits on that side of it"; d.m.Notice.Text != want {
		t.Errorf("at the end: %q", d.m.Notice.Text)
	}
	d.press("g")
	d.does("edit the prompt")
	if want := "edit the prompt that waits: it does not wait in a queue"; d.m.Notice.Text != want {
		t.Errorf("of what works: %q", d.m.Notice.Text)
	}
	d.press("esc", "j")
	d.take()
	d.does("edit the prompt")
	d.answer(func(wire.Command) (*wire.DaemonStatus, error) {
		return &wire.DaemonStatus{Prompt: &wire.PromptText{Text: "***", Masked: true}}, nil
	})
	if c := d.take(); len(c) != 0 || !d.m.Notice.Bad {
		t.Errorf("a masked prompt is edited: %v", c)
	}
}

func TestRetryAsksAndForkTakesAPrompt(t *testing.T) {
	d := newDesk(t, job(5, wire.StateFailed, "five"))
	d.send(Connected{Features: []string{wire.FeatureFollow}})
	d.press("r")
	if d.m.Focus != OnConfirm || d.m.Ask.Text != `Give the prompt of job-5 "five" anew, as a new job?` {
		t.Fatalf("r asks %q", d.m.Ask.Text)
	}
	d.press("y")
	d.does("fork")
	d.press("type:try the other way", "enter")
	want := []wire.Command{
		wire.WorkbenchRetry{Session: session, Job: "job-5", Key: "key-1"},
		wire.WorkbenchFork{Session: session, Job: "job-5", Prompt: "try the other way", Key: "key-2"},
	}
	if diff := cmp.Diff(want, d.commands()); diff != "" {
		t.Error(diff)
	}
	interrupted := job(6, wire.StateInterrupted, "six")
	interrupted.Resumable = true
	d.list(&wire.Snapshot{Jobs: []wire.Job{interrupted}})
	d.press("r")
	if diff := cmp.Diff([]wire.Command{wire.WorkbenchResume{Session: session, Job: "job-6", Key: "key-3"}}, d.commands()); diff != "" {
		t.Error(diff)
	}
}

// homely is a desk with a job in a worktree, on a daemon that can bring work home.
func homely(t *testing.T) *desk {
	j := job(4, wire.StateCompleted, "four")
	j.Worktree = &wire.WorktreeRef{Path: "/w/tree", Branch: "scv/four"}
	d := newDesk(t, job(5, wire.StateCompleted, "five"), j)
	d.send(Connected{Features: []string{wire.FeatureDiff, wire.FeatureForecast, wire.FeatureWorktree}})
	d.take()
	return d
}

func TestWorkIsBroughtHome(t *testing.T) {
	d := homely(t)
	if d.press("b"); d.m.Notice.Text != "bring its work home: it does not work in a worktree of its own" {
		t.Errorf("of a job without a worktree: %q", d.m.Notice.Text)
	}
	d.press("j", "b", "type:squash", "enter")
	if want := "As one commit: bring job-4 (branch scv/four) onto what the checkout has? It stops before any conflict."; d.m.Ask.Text != want || d.m.Focus != OnConfirm {
		t.Fatalf("asks %q", d.m.Ask.Text)
	}
	d.press("y")
	d.does("commit what")
	d.press("y")
	var got []wire.Command
	for _, e := range d.take() {
		if c, ok := e.(Call); ok {
			got = append(got, c.Cmd)
		}
	}
	want := []wire.Command{wire.JobApply{Session: session, Job: "job-4", How: wire.ApplySquash}, wire.JobCommit{Session: session, Job: "job-4"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWorktreesAreRemovedAfterAQuestion(t *testing.T) {
	d := homely(t)
	trees := func(cmd wire.Command) (*wire.DaemonStatus, error) {
		switch cmd := cmd.(type) {
		case wire.WorktreesCommand:
			return &wire.DaemonStatus{Worktrees: []wire.WorktreeInfo{{WorktreeRef: wire.WorktreeRef{Path: "/w/tree", Branch: "scv/four", Repo: "/w/app"}}}}, nil
		case wire.WorktreePrune:
			if !cmd.Apply {
				return &wire.DaemonStatus{Prune: &wire.List[wire.PruneEntry]{{WorktreeRef: wire.WorktreeRef{Path: "/w/tree"}}, {WorktreeRef: wire.WorktreeRef{Path: "/w/kept"}, Kept: new("not merged")}}}, nil
			}
		}
		return &wire.DaemonStatus{}, nil
	}
	d.press("5")
	d.answer(trees)
	d.press("D")
	if want := "Remove the worktree /w/tree? Its branch scv/four stays."; d.m.Ask.Text != want {
		t.Fatalf("asks %q", d.m.Ask.Text)
	}
	d.press("y")
	if diff := cmp.Diff([]wire.Command{wire.WorktreeRemove{Path: "/w/tree", Key: "key-1"}}, d.commands()); diff != "" {
		t.Error(diff)
	}
	d.does("with the work that is only in it")
	if !strings.Contains(d.m.Ask.Text, "ALL THAT IS ONLY THERE") {
		t.Errorf("asks %q", d.m.Ask.Text)
	}
	d.press("n")
	d.take()
	d.does("hold nobody's work")
	d.answer(trees)
	if want := "Remove 1 worktree, clean, merged and unused (/w/tree)? What was on a branch stays there."; d.m.Ask.Text != want || d.m.Focus != OnConfirm {
		t.Fatalf("asks %q", d.m.Ask.Text)
	}
	d.press("y") // this question came by itself: a key that was on its way answers nothing
	if d.m.Focus != OnConfirm || len(d.take()) != 0 {
		t.Fatal("a key that came with the question answered it")
	}
	d.wait(guard)
	d.press("y")
	if got := d.take(); len(got) != 1 || got[0].(Call).Cmd != (wire.WorktreePrune{Apply: true}) {
		t.Errorf("did %v", got)
	}
	// A question never takes the keys of who types.
	d.does("hold nobody's work")
	asked := d.take()
	d.press("n", "type:Fix")
	d.done = asked
	d.answer(trees)
	if d.m.Focus != OnForm {
		t.Errorf("the question took the focus from the form: %d", d.m.Focus)
	}
}

func TestDiffAndForecastPanes(t *testing.T) {
	d := homely(t)
	d.press("d")
	var c Compare
	for _, e := range d.take() {
		if x, ok := e.(Compare); ok {
			c = x
		}
	}
	if c.Job != "job-5" {
		t.Fatalf("compares %+v", c)
	}
	d.send(Compared{Then: c.Then, Diff: &Difference{Base: "abc", Stat: " a.go | 2 +-\n", Patch: "diff --git a/a.go b/a.go\n@@ -1 +1 @@\n-old\x1b[2J\n+new 你\n", Left: 4096}})
	body := d.m.Detail.Body.Text()
	for _, want := range []string{" a.go | 2 +-\n", "\n-old", "\n+new 你\n", "4.0 KiB more; whole: scv jobs diff job-5"} {
		if !strings.Contains(body, want) {
			t.Errorf("the pane lacks %q:\n%s", want, body)
		}
	}
	if strings.ContainsRune(body, 0x1b) {
		t.Errorf("an escape got into %q", body)
	}
	d.send(Compared{Then: c.Then, Diff: &Difference{Base: "abcdef"}})
	if d.m.Detail.Note != "job-5 has changed nothing since abcdef" {
		t.Errorf("of nothing: %q", d.m.Detail.Note)
	}
	d.press("esc", "j")
	view := *d.m.Data
	view.Forecast = &wire.Forecast{
		Branches:  []wire.ForecastBranch{{Job: session.Ref("job-4"), Branch: "scv/four", Files: 3, Loose: 1}, {Job: session.Ref("job-9"), Branch: "scv/nine", Files: 1}},
		Conflicts: []wire.ForecastConflict{{One: session.Ref("job-4"), Other: session.Ref("job-9"), Files: wire.List[string]{"a.go"}}},
	}
	d.list(&view)
	d.does("forecast")
	body = d.m.Detail.Body.Text()
	for _, want := range []string{"job-4", "scv/four, 3 files, 1 not committed", "job-9 in a.go", "job-4 in a.go"} {
		if !strings.Contains(body, want) {
			t.Errorf("the forecast lacks %q:\n%s", want, body)
		}
	}
	late := c.Then(d.m, &Difference{Patch: "+late"}, nil)
	if len(late) != 0 || strings.Contains(d.m.Detail.Body.Text(), "late") {
		t.Error("a difference that nobody looks at any more is shown")
	}
}
