package client

import (
	"context"
	"errors"

	"scv/internal/wire"
)

// WatchWorkbench gives the workbench to changed, first whole and then after every change, until changed returns an
// error or ctx ends. The view is complete and is not changed afterwards; the delta says which rows of it are new, and
// at first and after a break that cannot be bridged it holds every row. Intermediate values may be skipped, final ones
// never. A daemon that does not push is asked once a second.
func WatchWorkbench(ctx context.Context, target Target, changed func(view *wire.Snapshot, delta wire.WorkbenchDelta) error) error {
	w := watcher{changed: changed}
	return resume(ctx, target, w.once)
}

type watcher struct {
	changed func(view *wire.Snapshot, delta wire.WorkbenchDelta) error
	view    *wire.Snapshot // nil until the first answer
}

func (w *watcher) once(ctx context.Context, c *Conn) error {
	if !c.Has(wire.FeatureWatch) {
		return w.poll(ctx, c)
	}
	var ask wire.WorkbenchWatch
	if w.view != nil && w.view.Epoch != "" {
		ask = wire.WorkbenchWatch{Epoch: new(w.view.Epoch), After: new(w.view.Generation)}
	}
	st, err := c.Call(ctx, ask)
	if err != nil {
		return err
	}
	if st.Workbench != nil {
		if err := w.replace(st.Workbench); err != nil {
			return err
		}
	}
	for {
		p, err := c.page(ctx)
		if err != nil {
			return err
		}
		if err := w.take(p); err != nil {
			return err
		}
	}
}

func (w *watcher) take(p wire.WatchPage) error {
	if p.Workbench == nil {
		return errors.New("the daemon sent a page without the workbench")
	}
	view := w.view
	if p.Full || view == nil {
		view = &wire.Snapshot{}
	}
	next := apply(view, p.Workbench)
	next.Epoch, next.Generation = p.Epoch, p.Generation
	return w.show(next, *p.Workbench)
}

// replace takes a whole snapshot, and shows it unless nothing differs from what was shown.
func (w *watcher) replace(snap *wire.Snapshot) error {
	if w.view == nil {
		return w.show(snap, whole(snap))
	}
	delta, same := diff(w.view, snap)
	if same {
		w.view = snap
		return nil
	}
	return w.show(snap, delta)
}

func (w *watcher) show(view *wire.Snapshot, delta wire.WorkbenchDelta) error {
	w.view = view
	if err := w.changed(view, delta); err != nil {
		return stop{err}
	}
	return nil
}

// poll asks for the whole again and again, as a client of an upstream daemon has to.
func (w *watcher) poll(ctx context.Context, c *Conn) error {
	for {
		st, err := c.Call(ctx, wire.WorkbenchCommand{})
		if err != nil {
			return err
		}
		if st.Workbench == nil {
			return errors.New("the daemon answered without the workbench")
		}
		if err := w.replace(st.Workbench); err != nil {
			return err
		}
		if !sleep(ctx, poll) {
			return ctx.Err()
		}
	}
}
