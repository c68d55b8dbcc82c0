package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"scv/internal/agent"
	"scv/internal/failpoint"
	"scv/internal/run/fold"
	"scv/internal/run/spool"
	"scv/internal/wire"
	"scv/internal/workbench/operand"
	"scv/internal/workbench/row"
)

const (
	ackBytes   = 8 << 20 // of spool folded before the shim is told
	batchSteps = 256
)

// checkpoint is what a run keeps so that folded segments can go. Steps are those that the hub may not have stored yet
// when they do: a fold that goes on from here reports them again, and the hub skips what it has.
type checkpoint struct {
	Fold   *fold.Checkpoint `json:"fold"`
	Number uint64           `json:"number"`
	Steps  []row.Step       `json:"steps,omitempty"`
}

// advance folds the spool to its end: records to the log, steps to the hub.
func (r *run) advance(ctx context.Context) error {
	for {
		frame, err := r.reader.Next()
		if errors.Is(err, spool.ErrNotYet) {
			break
		}
		if errors.Is(err, spool.ErrCorrupt) || errors.Is(err, spool.ErrDeleted) {
			return fmt.Errorf("%w: %w", errBlind, err)
		}
		if err != nil {
			return err
		}
		if frame.Kind == spool.KindIn {
			r.number = frame.N
			r.clocks.sent(frame.Key, time.Unix(0, frame.UnixNano), r.c.Timing.Cancel)
		}
		if err := (&keeper{run: r}).fold(frame); err != nil {
			return err
		}
		r.unfolded += int64(len(frame.Payload))
		if frame.End.Segment != r.segment && r.segment != 0 {
			r.saveCheckpoint(ctx)
		}
		if r.segment == 0 {
			r.segment = frame.End.Segment
		}
		if r.unfolded > ackBytes {
			r.acknowledge(ctx)
		}
	}
	r.tell()
	return nil
}

// A keeper takes the items of one frame, or of the end.
type keeper struct {
	run    *run
	ended  bool  // a turn did
	failed error // the first that could not be kept
}

// fold folds a frame and keeps what comes of it.
func (k *keeper) fold(frame spool.Frame) error {
	if err := k.run.fold.Frame(frame, k.take); err != nil {
		return fmt.Errorf("%w: %w", errBlind, err)
	}
	return k.done()
}

func (k *keeper) take(item fold.Item) {
	if k.failed == nil {
		k.failed = k.keep(item)
	}
	k.ended = k.ended || item.Step != nil && item.Step.Kind == row.StepTurnEnded
}

// done flushes the log behind the end of a turn, and tells the hub when much was gathered.
func (k *keeper) done() error {
	if k.failed != nil {
		return k.failed
	}
	if k.ended && k.run.live() {
		// A one-turn process ends at once: the flush at its end covers the turn's.
		if err := k.run.events.Sync(); err != nil {
			return err
		}
	}
	if len(k.run.steps) >= batchSteps {
		k.run.tell()
	}
	return nil
}

// keep writes the record of an item or gathers its step. A record that is in the log already is skipped there.
func (k *keeper) keep(item fold.Item) error {
	r := k.run
	if item.Event == nil {
		r.clocks.step(*item.Step)
		r.gather(*item.Step)
		return nil
	}
	r.clocks.event(*item.Event, r.c.Timing.Look)
	seq, err := r.events.Append(*item.Event, item.Pos)
	if err != nil {
		return err
	}
	r.wrote = r.wrote || seq > 0
	if r.o.Run.Terminal != nil && seq > 0 && item.Event.Kind == wire.EventNote {
		r.c.Terminals.Note(r.h, item.Event.Text)
	}
	return nil
}

// gather queues a step for the hub. Signs of life that follow each other are one.
func (r *run) gather(s row.Step) {
	if !r.o.Run.Pos.Less(s.Pos) {
		return // the hub had it stored when this daemon started
	}
	if s.Offer != nil {
		if r.c.Offered != nil {
			r.c.Offered(r.kind.Name, *s.Offer)
		}
		s.Offer = nil
	}
	if s.Asked != nil && s.Asked.Command != "" {
		s.Asked = new(*s.Asked)
		s.Asked.Operands = operand.Of(s.Asked.Command, agent.Choose(s.Asked.Cwd, r.o.Run.Cwd))
	}
	if s.Kind != row.StepActivity && s.Kind != row.StepRetry {
		r.keep(s)
	}
	if n := len(r.steps); n > 0 && s.Kind == row.StepActivity && r.steps[n-1].Kind == row.StepActivity {
		if s.Detail == "" {
			s.Detail = r.steps[n-1].Detail
		}
		r.steps[n-1] = s
		return
	}
	r.steps = append(r.steps, s)
}

// keep remembers what must outlive the spool. A new turn starts only when the end of the last one is stored.
func (r *run) keep(s row.Step) {
	if s.Kind == row.StepTurnStarted {
		r.kept = nil
	}
	r.kept = append(r.kept, s)
}

// tell hands the gathered steps to the hub and wakes who follows the log.
func (r *run) tell() {
	if r.wrote {
		r.wrote = false
		r.c.Notify.Notify(r.h)
	}
	if len(r.steps) > 0 {
		_ = failpoint.Do(failpoint.HubReport, func() error { r.c.Hub.Report(r.h, r.steps); return nil })
		r.steps, r.spoke = nil, true
	}
}

// acknowledge tells the shim that it may go on reading when too much was waiting.
func (r *run) acknowledge(ctx context.Context) {
	if r.link == nil {
		return
	}
	_, seq := r.fold.Read()
	bounded, cancel := context.WithTimeout(ctx, r.c.Timing.Ask)
	defer cancel()
	if err := r.link.Folded(bounded, seq); err != nil {
		r.log.Debug("the shim was not told what is folded", "error", err)
		return
	}
	r.unfolded = 0
}

// saveCheckpoint lets folded segments go: log flushed, state stored and read back, then the files. Whatever fails
// only keeps them longer.
func (r *run) saveCheckpoint(ctx context.Context) {
	at, _ := r.fold.Read()
	r.segment = at.Segment
	state, ok, err := r.fold.Checkpoint()
	if err == nil && !ok {
		return // a long line is unfinished
	}
	if err == nil {
		err = r.events.Sync()
	}
	if err == nil {
		err = spool.WriteCheckpoint(r.spoolDir(), checkpoint{Fold: state, Number: r.number, Steps: r.kept})
	}
	if err == nil {
		_, err = spool.DeleteBefore(r.spoolDir(), at)
	}
	if err != nil {
		r.log.Warn("a checkpoint was not made", "error", err)
		return
	}
	r.acknowledge(ctx)
}

// restore puts the fold where the checkpoint was made, if there is one.
func (r *run) restore() error {
	var c checkpoint
	found, err := spool.ReadCheckpoint(r.spoolDir(), &c)
	if err == nil && !found {
		return nil
	}
	if err == nil && c.Fold == nil {
		err = errors.New("it holds no state")
	}
	if err != nil {
		return fmt.Errorf("%w: its checkpoint: %w", errBlind, err)
	}
	if err := r.fold.Restore(c.Fold); err != nil {
		return fmt.Errorf("%w: %w", errBlind, err)
	}
	r.number = c.Number
	for _, s := range c.Steps {
		r.gather(s)
	}
	return nil
}

// answerOf is what the log says of a request whose answer came back.
func (r talk) answerOf(id wire.ApprovalID) (fold.Answer, bool) {
	for _, a := range r.c.Hub.Wishes(r.h).Answers {
		if a.ID == id {
			return fold.Answer{Approved: a.Approved, By: a.By, Reason: a.Reason}, true
		}
	}
	return fold.Answer{}, false
}

// live reports whether the process serves several turns.
func (r *run) live() bool { return string(r.kind.Transport) != wire.TransportCLI }

// promptOf is what the log says when a turn begins.
func (r *run) promptOf(turn uint32) fold.Prompt {
	if w := r.c.Hub.Wishes(r.h); w.Turn != nil && w.Turn.Number == turn {
		return fold.Prompt{Job: w.Turn.Job, Text: w.Turn.Prompt, Model: w.Turn.Model}
	}
	return fold.Prompt{}
}

// steerOf is what the log says of a prompt that the running turn took.
func (r talk) steerOf(key string) string {
	for _, s := range r.c.Hub.Wishes(r.h).Steers {
		if row.SteerKey(s.Job) == key {
			return s.Text
		}
	}
	return ""
}
