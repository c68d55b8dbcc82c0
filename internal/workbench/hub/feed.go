package hub

import (
	"container/list"

	"scv/internal/wire"
)

// feed is the order in which rows changed, and who wants to know. The loop's goroutine owns it.
type feed struct {
	gen      uint64          // of the last change
	changes  list.List       // *entry, by generation
	stones   []*list.Element // entries of removed rows, oldest first
	lost     uint64          // changes up to here may have been forgotten
	watchers map[*Watcher]struct{}
}

// entry is a row's place among the changes. Of a row that was removed only the id is kept.
type entry struct {
	gen     uint64
	removed bool
	session *session
	job     *job
	run     *run
	gone    removal

	approval *approval
}

type removal struct {
	session wire.SessionID
	job     wire.JobRef
	run     wire.RunHandle

	approval wire.ApprovalID
}

// mark moves a row to the end of the changes, under a new generation.
func (f *feed) mark(e **list.Element, fresh entry) {
	f.gen++
	if *e == nil {
		fresh.gen = f.gen
		*e = f.changes.PushBack(&fresh)
		return
	}
	(*e).Value.(*entry).gen = f.gen
	f.changes.MoveToBack(*e)
}

const maxStones = 1024

// unlist makes a row vanish for watchers. The newest 1,024 removals are remembered; a watcher that missed more gets
// everything anew.
func (f *feed) unlist(e **list.Element) {
	if *e == nil {
		return
	}
	f.gen++
	x := (*e).Value.(*entry)
	switch {
	case x.session != nil:
		x.gone.session = x.session.row.ID
	case x.job != nil:
		x.gone.job = x.job.row.Ref()
	case x.run != nil:
		x.gone.run = x.run.row.Handle
	case x.approval != nil:
		x.gone.approval = x.approval.row.ID
	}
	*x = entry{gen: f.gen, removed: true, gone: x.gone}
	f.changes.MoveToBack(*e)
	f.stones = append(f.stones, *e)
	*e = nil
	if len(f.stones) > maxStones {
		old := f.changes.Remove(f.stones[0]).(*entry)
		f.lost = max(f.lost, old.gen)
		f.stones = f.stones[1:]
	}
}

func (f *feed) wakeWatchers() {
	for w := range f.watchers {
		nudge(w.wake)
	}
}

// closeWatchers wakes everyone a last time.
func (f *feed) closeWatchers() {
	f.wakeWatchers()
	clear(f.watchers)
}
