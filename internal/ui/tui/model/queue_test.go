package model

import (
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
