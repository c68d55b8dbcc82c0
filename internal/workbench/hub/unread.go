package hub

import (
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// rereading bounds how long somebody who names an unknown question waits for the runs of earlier daemons.
const rereading = 5 * time.Second

// unread are the runs of earlier daemons that have not been read to their end by this one. A question of theirs may have
// been shown a moment before it was on disk, so that only the run itself can say again that it is asked.
type unread struct {
	left map[wire.RunHandle]struct{}
	none chan struct{} // closed when there is none left
}

// add is called before anything is read.
func (u *unread) add(h wire.RunHandle) {
	if u.left == nil {
		u.left, u.none = make(map[wire.RunHandle]struct{}), make(chan struct{})
	}
	u.left[h] = struct{}{}
}

func (u *unread) has(h wire.RunHandle) bool { _, is := u.left[h]; return is }

// learn takes a run off once all that it said is known, or nothing more can be learnt of it for now.
func (u *unread) learn(h wire.RunHandle, l row.LifeKind) {
	if l == row.LifeStarted || l == row.LifeAdopted || l == row.LifeHeldUp || l == row.LifeWaits || !u.has(h) {
		return
	}
	if delete(u.left, h); len(u.left) == 0 {
		close(u.none)
	}
}

// reread waits until every run that this daemon found is read to its end, and reports whether that took any time.
func (as Approvals) reread() bool {
	var none chan struct{}
	as.h.do(func() {
		if len(as.h.m.unread.left) > 0 {
			none = as.h.m.unread.none
		}
	})
	if none == nil {
		return false
	}
	timer := time.NewTimer(rereading)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	case <-as.h.ctx.Done():
	}
	return true
}
