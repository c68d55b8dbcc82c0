package hub

import (
	"context"
	"fmt"
	"time"

	"scv/internal/workbench/row"
)

// writer is the goroutine between the loop and the journal. While it stores one batch the next one fills, so one flush
// serves all who wait.
type writer struct {
	h   *Hub
	ctx context.Context
}

// run stores batches until stop is closed, and then once more all that is left.
func (w *writer) run(stop <-chan struct{}) error {
	const first, most = time.Second, 5 * time.Second
	pause := first
	var retry <-chan time.Time
	for {
		select {
		case <-stop:
			return w.last()
		case <-retry:
		case <-w.h.work:
			if retry != nil {
				continue // until its time
			}
		}
		retry = nil
		if err := w.all(); err != nil {
			retry = time.After(pause)
			pause = min(2*pause, most)
			continue
		}
		pause = first
	}
}

func (w *writer) all() error {
	for {
		stored, err := w.one(false)
		if err != nil || !stored {
			return err
		}
	}
}

func (w *writer) last() error {
	for {
		stored, err := w.one(true)
		if err != nil {
			return fmt.Errorf("save the last changes: %w", err)
		}
		if !stored {
			return nil
		}
	}
}

// one stores the next batch, if there is one, and then does what rested on it.
func (w *writer) one(all bool) (stored bool, err error) {
	var b row.Batch
	var now []effect
	var ok bool
	w.h.do(func() {
		now, w.h.m.adopt = w.h.m.adopt, nil
		b, ok = w.h.m.take(all)
	})
	w.perform(now)
	if !ok {
		return false, nil
	}
	err = w.h.o.Journal.Store(w.ctx, b)
	if err != nil {
		w.h.o.Log.Error("the ledger cannot be written", "error", err)
	}
	w.h.do(func() {
		now = w.h.m.stored(err)
		w.h.m.performing = len(now) > 0
	})
	if len(now) > 0 {
		w.perform(now)
		w.h.do(func() { w.h.m.performing = false })
	}
	return err == nil, err
}

// perform calls the launcher. The orders were made in the loop, so they are values.
func (w *writer) perform(now []effect) {
	for _, e := range now {
		var o row.Order
		var live bool
		w.h.do(func() {
			o = row.Order{Run: e.run.row, Conversation: e.run.conv.proven(), Adopt: e.adopt}
			live = e.run.row.Live
		})
		switch {
		case !live:
		case e.launch:
			w.h.o.Launcher.Launch(o)
		default:
			w.h.o.Launcher.Wake(o.Run.Handle)
		}
	}
}
