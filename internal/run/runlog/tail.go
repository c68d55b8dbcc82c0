package runlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"scv/internal/failpoint"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// The tail holds every event from the moment on at which events.jsonl was full, in two files that take turns: the one
// in use and the one before. Each begins with a header that says where in the tail it stands, so that positions in
// the tail only rise while old bytes go. Its numbers go on from the number of `truncated`.

// openTail finds the tail, if there is one, and where it ends.
func (l *Log) openTail() error {
	old, oldSeen, err := l.peek(oldName)
	if err != nil {
		return err
	}
	if oldSeen {
		if err := old.f.Close(); err != nil {
			return fmt.Errorf("open the tail of the run's log: %w", err)
		}
	}
	_, err = l.root.Stat(tailName)
	if errors.Is(err, fs.ErrNotExist) && !oldSeen {
		return nil
	}
	cur, ok, err := l.peek(tailName)
	if err != nil {
		return err
	}
	if ok {
		l.tail = &cur
		return nil
	}
	// The file is missing or has no header: a crash while the halves took turns, or while the first was made.
	if oldSeen {
		h, src := header{Base: uint64(old.base) + uint64(old.size-old.start), Seq: old.seq}, old.src
		return l.beginTail(h, src)
	}
	return l.beginTail(header{Seq: l.main.seq + 1}, l.main.src)
}

// A half is a sink that knows its place in the tail.
type half struct {
	sink
	base uint64
}

// peek opens a half and reads its end. ok is false when there is none or its header cannot be read.
func (l *Log) peek(name string) (h half, ok bool, err error) {
	f, size, err := openPlain(l.root, name, os.O_RDWR|os.O_APPEND)
	if errors.Is(err, fs.ErrNotExist) {
		return half{}, false, nil
	}
	if err != nil {
		return half{}, false, fmt.Errorf("open the tail of the run's log: %w", err)
	}
	head, src, start, err := readHeader(f)
	if err != nil {
		return half{}, false, f.Close()
	}
	h = half{sink: sink{f: f, name: name, start: start, size: size, seq: head.Seq, src: src}, base: head.Base}
	damage, err := h.recover(l.root)
	if err != nil {
		return half{}, false, errors.Join(err, f.Close())
	}
	if l.damage == "" {
		l.damage = damage
	}
	return h, true, nil
}

func readHeader(f io.ReaderAt) (h header, src row.Pos, start int64, err error) {
	line, err := bufio.NewReaderSize(io.NewSectionReader(f, 0, 512), 512).ReadSlice('\n')
	if err != nil {
		return h, src, 0, fmt.Errorf("read the head of the tail: %w", err)
	}
	src, err = unseal(line[:len(line)-1], &h)
	return h, src, int64(len(line)), err
}

// beginTail makes a new first or next half.
func (l *Log) beginTail(h header, src row.Pos) error {
	line, err := seal(h, src)
	if err != nil {
		return err
	}
	f, _, err := openPlain(l.root, tailName, os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND)
	if err != nil {
		return fmt.Errorf("begin the tail of the run's log: %w", err)
	}
	s := half{sink: sink{f: f, name: tailName, seq: h.Seq, src: src}, base: h.Base}
	if err := s.put(line); err != nil {
		return errors.Join(err, f.Close())
	}
	s.start = s.size
	l.tail = &s
	return nil
}

// writeTail appends to the tail; a half that is full makes place for the next.
func (l *Log) writeTail(ev wire.RunEvent, src row.Pos) error {
	if l.tail.size >= l.half {
		done := l.tail
		if err := failpoint.Do(failpoint.LogTurn, func() error { return l.root.Rename(tailName, oldName) }); err != nil {
			return fmt.Errorf("turn the tail of the run's log: %w", err)
		}
		next := header{Base: done.base + uint64(done.size-done.start), Seq: done.seq}
		if err := l.beginTail(next, done.src); err != nil {
			return err
		}
		if err := done.f.Close(); err != nil {
			return fmt.Errorf("turn the tail of the run's log: %w", err)
		}
	}
	return l.tail.write(ev, src)
}
