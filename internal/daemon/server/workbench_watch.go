package server

import "scv/internal/wire"

// workbenchWatch answers with a snapshot and then with what changes, until the client leaves. One who was here before
// says what it saw last and gets only what changed since, or the whole when that cannot be told.
func (r *request) workbenchWatch(cmd wire.WorkbenchWatch) error {
	changes := r.Hub.Watch()
	defer changes.Close()
	first := answer{status: r.light()}
	var epoch string
	var seen uint64
	if cmd.Epoch != nil && cmd.After != nil {
		epoch, seen = *cmd.Epoch, *cmd.After
	} else {
		first.snapshot = r.Hub.Snapshot()
		epoch, seen = first.snapshot.Epoch, first.snapshot.Generation
	}
	if err := r.reply(first); err != nil {
		return err
	}
	w := r.watching()
	for {
		delta, full, generation := changes.Next(epoch, seen)
		if full || !emptyDelta(&delta) {
			page := wire.WatchPage{Epoch: r.Hub.Epoch(), Generation: generation, Full: full, Workbench: &delta}
			if err := w.page(page); err != nil {
				return err
			}
		}
		epoch, seen = r.Hub.Epoch(), generation
		if err := w.wait(r.ctx, changes.Wake()); err != nil {
			return err
		}
	}
}

func emptyDelta(d *wire.WorkbenchDelta) bool {
	rows := len(d.Sessions) + len(d.Jobs) + len(d.Runs) + len(d.Approvals) + len(d.Restorable)
	return rows == 0 && d.Removed.IsZero() && d.Storage == nil
}
