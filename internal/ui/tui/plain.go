package tui

import (
	"context"
	"fmt"
	"io"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/feed"
	"scv/internal/ui/tui/model"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// plainly tells what goes on as lines of plain words, one for each change, for screen readers, braille lines and terminals
// that cannot place text: no cursor movement, no borders, no colour. before is what was told already.
func plainly(ctx context.Context, opts Options, f *feed.Feed, before *wire.Snapshot) error {
	t := &teller{out: opts.Out, zone: opts.Model.Zone, jobs: map[wire.JobRef]wire.AgentState{}, asked: map[wire.ApprovalID]bool{}}
	t.say("Plain lines, one for each change. ctrl-C ends this and no job.")
	if before != nil {
		t.list(before)
	}
	for t.err == nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case p := <-f.Broken():
			return fmt.Errorf("the dashboard failed: %v", p)
		case msg := <-f.Messages():
			t.take(msg)
		}
	}
	return t.err
}

// A teller says what changed since it spoke last.
type teller struct {
	out   io.Writer
	zone  *time.Location
	jobs  map[wire.JobRef]wire.AgentState
	asked map[wire.ApprovalID]bool
	lost  string
	begun bool
	err   error
}

func (t *teller) say(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintln(t.out, plain.Line(fmt.Sprintf(format, args...)))
	}
}

func (t *teller) take(msg model.Msg) {
	switch msg := msg.(type) {
	case model.Connected:
		if t.lost != "" {
			t.say("The daemon answers again.")
		}
		t.lost = ""
	case model.Lost:
		if t.lost != msg.Why {
			t.say("Offline: %s. Agents that work go on. Start it: scv start", msg.Why)
		}
		t.lost = msg.Why
	case model.Listed:
		t.list(msg.View)
	default:
	}
}

func (t *teller) list(view *wire.Snapshot) {
	if !t.begun {
		t.say("%s, %s to answer.", plain.Count(len(view.Jobs), "job"), plain.Count(len(view.Approvals), "approval"))
	}
	for i := range view.Jobs {
		j := &view.Jobs[len(view.Jobs)-1-i] // oldest first, as they happened
		last, known := t.jobs[j.Ref()]
		t.jobs[j.Ref()] = j.State
		if known && last == j.State || !t.begun && j.State.Final() {
			continue
		}
		line := fmt.Sprintf("%s  %s  %s  %s  %s", t.clock(j.UpdatedUnixSeconds), wording.Name(view, j), j.State, j.Agent, j.Task)
		if j.Detail != nil && *j.Detail != "" {
			line += "  (" + *j.Detail + ")"
		}
		t.say("%s", line)
	}
	for i := range view.Approvals {
		if a := &view.Approvals[i]; !t.asked[a.ID] {
			t.asked[a.ID] = true
			t.say("%s  APPROVAL %s  %s asks: %s  risk %s  in %s", t.clock(a.SinceUnixSeconds), a.ID, a.Job, a.Summary, a.Risk, a.Cwd)
		}
	}
	t.begun = true
}

func (t *teller) clock(unix uint64) string {
	return time.Unix(int64(unix), 0).In(t.zone).Format("15:04:05")
}
