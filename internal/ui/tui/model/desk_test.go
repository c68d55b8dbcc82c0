package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"scv/internal/wire"
)

// A desk drives a model as a person and a daemon do, with a clock that the test moves.
type desk struct {
	t    *testing.T
	m    *Model
	now  time.Time
	done []Effect // what the model wanted, since take
	keys int
}

const session = wire.SessionID("workbench-0123456789abcdef")

func newDesk(t *testing.T, jobs ...wire.Job) *desk {
	d := &desk{t: t, now: time.Unix(1_800_000_000, 0)}
	d.m = New(Options{NewKey: func() string { d.keys++; return fmt.Sprint("key-", d.keys) }, Cwd: "/home/me/app"})
	d.send(Resized{80, 24})
	d.send(Connected{Features: []string{wire.FeatureWatch, wire.FeatureWhy, wire.FeatureMode, wire.FeatureResultPage, wire.FeatureDigest}})
	d.list(&wire.Snapshot{Jobs: jobs})
	d.take()
	return d
}

func (d *desk) send(msgs ...Msg) {
	for _, msg := range msgs {
		d.done = append(d.done, d.m.Update(msg, d.now)...)
	}
}

func (d *desk) list(view *wire.Snapshot) { d.send(Listed{View: view}) }

func (d *desk) wait(by time.Duration) { d.now = d.now.Add(by) }

// press presses keys by their names, or types a text after "type:".
func (d *desk) press(names ...string) {
	for _, name := range names {
		if text, ok := strings.CutPrefix(name, "type:"); ok {
			for _, r := range text {
				d.send(Key{Name: string(r), Text: string(r)})
			}
			continue
		}
		k := Key{Name: name}
		if len([]rune(name)) == 1 {
			k.Text = name
		}
		if name == "space" {
			k.Text = " "
		}
		d.send(k)
	}
}

// take is what the model wanted since the last time.
func (d *desk) take() []Effect {
	out := d.done
	d.done = nil
	return out
}

// commands are the questions to the daemon that change something.
func (d *desk) commands() []wire.Command {
	var out []wire.Command
	for _, e := range d.take() {
		switch e := e.(type) {
		case Call:
			if _, ok := e.Cmd.(wire.Keyed); ok {
				out = append(out, e.Cmd)
			}
		case Start:
			out = append(out, e.Cmd)
		}
	}
	return out
}

func job(n int, state wire.AgentState, task string) wire.Job {
	c := wire.ConversationID(fmt.Sprintf("codex-%d", n))
	h := wire.RunHandle(fmt.Sprintf("codex-00000%d", n%10))
	return wire.Job{
		Session: session, Job: wire.NewJobID(uint64(n)), Agent: "codex", Task: task, State: state, Workspace: "/w", Cwd: "/w/app",
		Conversation: &c, Run: &h, CreatedUnixSeconds: 1_799_990_000 + uint64(n), UpdatedUnixSeconds: 1_799_999_000 + uint64(n),
	}
}

func approval(n int, of wire.JobID) wire.Approval {
	return wire.Approval{
		ID: wire.ApprovalID(fmt.Sprintf("ap-%012d", n)), Session: session, Job: of, Name: "shell", Risk: "process", Cwd: "/w/app",
		Summary: "rm -rf build && make test", SinceUnixSeconds: 1_799_999_900, ExpiresUnixSeconds: wire.NoDeadline, Digest: new(fmt.Sprint("digest-", n)),
	}
}

func asking() *wire.Snapshot {
	return &wire.Snapshot{
		Jobs:      []wire.Job{job(2, wire.StateWorking, "two"), job(1, wire.StateAwaitingInput, "one")},
		Approvals: []wire.Approval{approval(1, "job-1")},
	}
}

// edits expects that a text is opened in the editor, and gives another one back.
func (d *desk) edits(want, back string) {
	d.t.Helper()
	for _, e := range d.take() {
		if edit, ok := e.(Edit); ok {
			if edit.Text != want {
				d.t.Errorf("the editor gets %q, want %q", edit.Text, want)
			}
			d.send(Edited{Then: edit.Then, Text: back})
			return
		}
	}
	d.t.Error("no editor was opened")
}
