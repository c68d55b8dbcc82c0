//go:build linux

package chaos

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"scv/internal/run/spool"
	"scv/internal/wire"
)

// TestR4_StopGoesOnAfterACrash: a shim is told to stop a run that ignores every polite request, and the daemon is killed
// at once, and again at each next start. The ladder goes on, and the job is cancelled.
func TestR4_StopGoesOnAfterACrash(t *testing.T) {
	for _, place := range []string{"control.send:before", "control.send:after", "ledger.commit:before", "ledger.commit:after", "server.reply:before"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			stopOverACrash(t, place)
		})
	}
}

func stopOverACrash(t *testing.T, place string) {
	k := newLab(t).loop()
	k.restart()
	ref := k.job("codex", "stop\n@@say:n 1.|stubborn|say:n 2.|hang")
	run := *k.reaches(ref, wire.StateWorking).Run
	k.until("it is stubborn", func(*wire.Snapshot) bool { return len(numbers(k.events(run))) == 2 })
	k.d.kill()
	k.start(k.traced(place+"=kill@2"), "") // the first passing is of the adoption, or of the look around
	k.ready()
	session, id, _ := ref.Split()
	cancelled := make(chan error, 1)
	go func() {
		_, err := k.insist(k.ctx, wire.WorkbenchCancel{Session: session, Job: id})
		cancelled <- err
	}()
	for k.killedAt()[place] == 0 {
		select {
		case <-k.d.gone:
		case <-time.After(late): // one more passing
			_, _ = k.ask(k.ctx, wire.WorkbenchCommand{})
		}
	}
	<-k.d.gone
	k.start("", "")
	if err := <-cancelled; err != nil && !refused(err, wire.ReasonConflict) {
		t.Error(err)
	}
	k.reaches(ref, wire.StateCancelled)
	k.rests()
	k.leftOf(run)
}

// A rung is a step of the stop ladder as the spool has it: a note of the shim, or the request to the agent.
type rung string

// ladder are the steps that the spool of a run holds so far, in order. It may be read while the shim writes it.
func (l *lab) ladder(run wire.RunHandle) (out []rung) {
	l.t.Helper()
	r, err := spool.OpenReader(filepath.Join(l.home, "runs", string(run), "spool"), spool.Pos{})
	l.must(err)
	defer r.Close()
	for {
		frame, err := r.Next()
		if errors.Is(err, spool.ErrNotYet) {
			return out
		}
		l.must(err)
		switch frame.Kind {
		case spool.KindIn:
			if frame.Key == "cancel:1" {
				out = append(out, "cancel")
			}
		case spool.KindNote:
			note, err := spool.DecodeNote(frame.Payload)
			l.must(err)
			if note.Stop != nil {
				out = append(out, rung(note.Stop.Step))
			}
		case spool.KindOut, spool.KindErr:
		}
	}
}

// TestR4_KilledBetweenTheStepsOfAStop: the daemon is killed as soon as a step of the ladder is in the spool, and the next
// one after the next step, to the last. Each step is written before it is done, is done once and in its order, and the
// job is cancelled in the end.
func TestR4_KilledBetweenTheStepsOfAStop(t *testing.T) {
	for _, c := range []struct {
		agent, prompt string
		steps         []rung
	}{
		{"codex", "stop\n@@say:n 1.|witness|say:n 2.|hang", []rung{"interrupt", "eof", "terminate", "kill"}},
		{"demo-live", "stop\n@@say:n 1.|deaf|say:n 2.|hang", []rung{"cancel", "interrupt"}},
	} {
		t.Run(c.agent, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.restart()
			ref := l.job(c.agent, c.prompt)
			run := *l.reaches(ref, wire.StateWorking).Run
			l.until("it goes its way", func(*wire.Snapshot) bool { return len(numbers(l.events(run))) == 2 })
			session, id, _ := ref.Split()
			_, err := l.insist(l.ctx, wire.WorkbenchCancel{Session: session, Job: id})
			l.must(err)
			seen, killed := 0, 0
			for seen < len(c.steps) && l.ctx.Err() == nil {
				diary, steps := l.diary(), l.ladder(run) // in this order: what was done was written before
				for signal, step := range map[string]rung{"signal interrupt": "interrupt", "signal terminated": "terminate"} {
					if n := diary[signal]; n > 1 || n == 1 && !slices.Contains(steps, step) {
						t.Fatalf("%s came %d times, and the spool holds %q", signal, n, steps)
					}
				}
				if len(steps) > seen {
					seen = len(steps)
					killed++
					l.restart()
				}
				if seen < len(c.steps) {
					<-time.After(2 * time.Millisecond)
				}
			}
			if got := l.ladder(run); len(got) > 0 && !slices.Equal(got, c.steps) { // the spool goes with the end
				t.Errorf("the steps were %q, want %q", got, c.steps)
			}
			if killed < 2 {
				t.Errorf("only %d daemons were killed", killed)
			}
			l.reaches(ref, wire.StateCancelled)
			l.rests()
			l.leftOf(run)
			if diary := l.diary(); c.agent == "codex" && (diary["signal interrupt"] != 1 || diary["signal terminated"] != 1) {
				t.Errorf("the agent met %v", diary)
			}
		})
	}
}
