package client

import (
	"fmt"
	"slices"

	"scv/internal/wire"
)

// A LogPosition is where in a run's log a reader stands; the zero value is its start. A log that outgrew its bound goes
// on in its tail, which holds the newest activity.
type LogPosition struct {
	After uint64 // bytes, in the log or in its tail
	Tail  bool
	seq   uint64 // of the last entry taken
}

// Take moves the position behind a page and makes the page what a reader should see of it. Where the log was cut the
// page ends, and the reader turns to the tail when its daemon or disk has one: turned tells so, and the next page is to
// be asked for from the new position. Where the tail has lost its oldest entries a note says how many.
func (p *LogPosition) Take(page *wire.RunLogPage, hasTail bool) (turned bool) {
	if n := len(page.Events); n > 0 {
		if first := page.Events[0]; p.Tail && first.Seq > p.seq+1 {
			lost := wire.RunEvent{
				Seq: first.Seq - 1, TsMs: first.TsMs, Kind: wire.EventNote,
				Text: fmt.Sprintf("%d entries between are not kept: the log was longer than its bound", first.Seq-p.seq-1),
			}
			page.Events = slices.Insert(page.Events, 0, lost)
			n++
		}
		p.seq = page.Events[n-1].Seq
	}
	p.After = page.Next
	if p.Tail || !hasTail {
		return false
	}
	cut := slices.IndexFunc(page.Events, func(e wire.RunEvent) bool { return e.Kind == wire.EventTruncated })
	if cut < 0 {
		return false
	}
	page.Events, page.Ended, page.More = page.Events[:cut+1], false, true
	*p = LogPosition{Tail: true, seq: page.Events[cut].Seq}
	return true
}
