// Package runlog keeps the log of a run: events.jsonl, and tail.jsonl once that is full. The run's fold, in the
// daemon, is the only writer; anyone may read, also while it is written and when no daemon runs. The file is the only
// copy of the truth: readers go by position and nothing is queued for them, so nothing can be dropped.
//
// A record carries the spool position it came from. A fold that runs again after a crash appends the same records
// under the same positions, and those that are there already are skipped. A record is written with one write(2) at
// once; it is flushed within 50 ms while records come, and by Sync. Death of the process loses nothing, a crash of
// the machine at most those 50 ms.
package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"scv/internal/failpoint"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// Names in a run's directory, and bounds in bytes (design.md 6).
const (
	mainName = "events.jsonl"
	tailName = "tail.jsonl"
	oldName  = "tail.old.jsonl" // the half before

	fullAt    = 4 << 20
	tailHalf  = 512 << 10
	groupTime = 50 * time.Millisecond
)

// A Log appends to the log of one run. Its methods may be called from any goroutine; the records of one run come from
// one.
type Log struct {
	root   *os.Root
	damage string

	mu     sync.Mutex
	main   sink
	tail   *half // nil until main is full
	failed error // the first write or flush that failed; the log must then be opened again
	dirty  bool
	armed  bool
	timer  *time.Timer
	fullAt int64
	half   int64

	flushing sync.Mutex // held over a flush, so that Sync waits for one on its way
}

// Open opens or makes the log in a run's directory, cuts off a torn last record and finds where to go on. Damage is
// not an error: see Damage.
func Open(root *os.Root) (*Log, error) {
	l := &Log{root: root, fullAt: failpoint.Size("log", fullAt), half: failpoint.Size("tail", tailHalf)}
	var err error
	if l.main, err = openSink(root, mainName); err != nil {
		return nil, err
	}
	if l.damage, err = l.main.recover(root); err == nil {
		err = l.openTail()
	}
	if err != nil {
		return nil, errors.Join(err, l.main.f.Close())
	}
	return l, nil
}

func openSink(root *os.Root, name string) (sink, error) {
	f, size, err := openPlain(root, name, os.O_CREATE|os.O_RDWR|os.O_APPEND)
	if err != nil {
		return sink{}, fmt.Errorf("open the run's log: %w", err)
	}
	return sink{f: f, name: name, size: size}, nil
}

// Damage says in a sentence what Open found to be damaged; empty when nothing was.
func (l *Log) Damage() string { return l.damage }

// Last is where the last record came from, and what it is; empty when there is none.
func (l *Log) Last() (row.Pos, wire.RunEventKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tail != nil && l.main.src.Less(l.tail.src) {
		return l.tail.src, l.tail.last
	}
	return l.main.src, l.main.last
}

// Append writes the record of one event with the next number, and returns that number. A record at or before the
// last position, or after run_ended, is there already or has no place: nothing is written and the number is 0. After
// an error the log takes nothing more and must be opened again.
func (l *Log) Append(ev wire.RunEvent, src row.Pos) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return 0, l.failed
	}
	seq, err := l.append(ev, src)
	l.failed = err
	if seq > 0 {
		l.mark()
	}
	return seq, err
}

func (l *Log) append(ev wire.RunEvent, src row.Pos) (seq uint64, err error) {
	if l.main.last == wire.EventRunEnded && (l.tail == nil || l.tail.last == wire.EventRunEnded) {
		return 0, nil
	}
	if activity(ev.Kind) {
		if err := l.makeRoom(ev, src); err != nil {
			return 0, err
		}
	}
	if (l.tail == nil || !activity(ev.Kind)) && l.main.src.Less(src) {
		if err := l.main.write(ev, src); err != nil {
			return 0, err
		}
		seq = l.main.seq
	}
	if l.tail == nil || !l.tail.src.Less(src) {
		return seq, nil
	}
	if err := l.writeTail(ev, src); err != nil {
		return seq, err
	}
	return max(seq, l.tail.seq), nil
}

// makeRoom ends the taking of activity when this event would pass the bound. The tail is made before `truncated` is
// written, so that a crash in between is seen: a tail without records after anything but `truncated`.
func (l *Log) makeRoom(ev wire.RunEvent, src row.Pos) error {
	if l.tail == nil {
		line, err := seal(ev, src)
		if err != nil || !l.main.src.Less(src) || l.main.size+int64(len(line)) <= l.fullAt {
			return err
		}
		if err := l.beginTail(header{Seq: l.main.seq + 1}, l.main.src); err != nil {
			return err
		}
	}
	if l.tail.last == "" && l.tail.seq == l.main.seq+1 && l.main.last != wire.EventTruncated && l.main.src.Less(src) {
		return l.main.write(wire.RunEvent{TsMs: ev.TsMs, Kind: wire.EventTruncated}, src)
	}
	return nil
}

// mark says that there is something to flush and sees to it. The timer is set only while records come.
func (l *Log) mark() {
	l.dirty = true
	if l.armed {
		return
	}
	l.armed = true
	if l.timer == nil {
		l.timer = time.AfterFunc(groupTime, func() { _ = l.Sync() })
	} else {
		l.timer.Reset(groupTime)
	}
}

// Sync flushes to the disk all that was appended before. It costs nothing when there is nothing new. When it fails
// the log takes nothing more: what the system holds of it is then unknown, and it must be opened again.
func (l *Log) Sync() error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	l.armed = false
	if l.timer != nil {
		l.timer.Stop()
	}
	failed, dirty, files := l.failed, l.dirty, []*os.File{l.main.f}
	if l.tail != nil {
		files = append(files, l.tail.f)
	}
	l.dirty = false
	l.mu.Unlock()
	if failed != nil || !dirty {
		return failed
	}
	for _, f := range files {
		// A half of the tail that was turned over meanwhile is closed: what it held is the older activity.
		if err := failpoint.Do(failpoint.LogSync, f.Sync); err != nil && !errors.Is(err, fs.ErrClosed) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.failed = fmt.Errorf("flush the run's log: %w", err)
			return l.failed
		}
	}
	return nil
}

// Close flushes and closes the log.
func (l *Log) Close() error {
	err := l.Sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = fmt.Errorf("append to a run's log: %w", fs.ErrClosed)
	}
	if l.tail != nil {
		err = errors.Join(err, l.tail.f.Close())
	}
	return errors.Join(err, l.main.f.Close())
}
