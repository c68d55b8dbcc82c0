package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"scv/internal/failpoint"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// window is how much of a log's end is read when it is opened, so that a start costs the same however long the log
// is. It holds at least one whole record before a torn one.
const window = 2 * maxRecord

// A sink is one append-only file of records and what its end says.
type sink struct {
	f     *os.File
	name  string
	start int64 // offset of the first record
	size  int64
	seq   uint64            // of the last record
	src   row.Pos           // of the last record
	last  wire.RunEventKind // of the last record; empty when there is none
}

// write appends one record with the next number, in one write(2). A write that failed half-way is cut off again.
func (s *sink) write(ev wire.RunEvent, src row.Pos) error {
	ev.Seq = s.seq + 1
	line, err := seal(ev, src)
	if err != nil {
		return err
	}
	if err := s.put(line); err != nil {
		return err
	}
	s.seq, s.src, s.last = ev.Seq, src, ev.Kind
	return nil
}

func (s *sink) put(line []byte) error {
	n, err := failpoint.Write(failpoint.LogAppend, line, s.f.Write)
	if err != nil {
		err = fmt.Errorf("append to %s: %w", s.name, err)
		if n > 0 {
			err = errors.Join(err, s.f.Truncate(s.size))
		}
		return err
	}
	s.size += int64(n)
	return nil
}

// An ending is what the end of a file of records says.
type ending struct {
	good    int64 // offset after the last good record
	records int   // good ones that were seen
	damage  string
	seq     uint64
	src     row.Pos
	last    wire.RunEventKind
}

// readEnd looks at the records from offset from on. Bytes at the end without a line feed are a torn write. A whole
// line that is bad, a gap in the numbers, or more bytes at the end than one write can leave, is damage.
func readEnd(r io.ReaderAt, name string, from, start, size int64) (ending, error) {
	buf := make([]byte, size-from)
	if _, err := r.ReadAt(buf, from); err != nil && !errors.Is(err, io.EOF) {
		return ending{}, fmt.Errorf("read the end of %s: %w", name, err)
	}
	at := from
	if from > start {
		i := bytes.IndexByte(buf, '\n')
		buf, at = buf[i+1:], at+int64(i)+1
	}
	end := ending{good: at}
	bad, wholeBad := int64(-1), false
	for len(buf) > 0 {
		line, rest, whole := bytes.Cut(buf, []byte{'\n'})
		var ev wire.RunEvent
		src, err := unseal(line, &ev)
		next := at + int64(len(buf)-len(rest))
		switch {
		case err != nil || !whole:
			if bad < 0 {
				bad = at
			}
		case bad >= 0:
			end.damage = fmt.Sprintf("%s holds a damaged record at byte %d", name, bad)
		case end.records > 0 && ev.Seq != end.seq+1:
			end.damage = fmt.Sprintf("%s goes from record %d to %d at byte %d", name, end.seq, ev.Seq, at)
		}
		if err == nil && whole {
			end.good, end.seq, end.src, end.last, bad = next, ev.Seq, src, ev.Kind, -1
			end.records++
		}
		wholeBad = wholeBad || err != nil && whole
		buf, at = rest, next
	}
	if bad >= 0 && (wholeBad || size-bad > maxRecord) && end.damage == "" {
		end.damage = fmt.Sprintf("%s is damaged from byte %d to its end", name, bad)
	}
	return end, nil
}

// recover reads the end of the sink's file, cuts off a torn record and returns what is damaged, if anything. A
// damaged file is kept as it is, with a copy of it as it was found beside it.
func (s *sink) recover(root *os.Root) (string, error) {
	from := max(s.start, s.size-window)
	end, err := readEnd(s.f, s.name, from, s.start, s.size)
	if err == nil && end.records == 0 && from > s.start {
		if s.size > maxSearched {
			return "", fmt.Errorf("%s has %d bytes and does not end like a log; somebody put it there", s.name, s.size)
		}
		end, err = readEnd(s.f, s.name, s.start, s.start, s.size)
	}
	if err != nil {
		return "", err
	}
	if end.records > 0 {
		s.seq, s.src, s.last = end.seq, end.src, end.last
	}
	if end.damage != "" {
		return end.damage + "; it is kept, with a copy in " + s.name + ".bad", s.quarantine(root, end)
	}
	if end.good < s.size {
		if err := s.f.Truncate(end.good); err != nil {
			return "", fmt.Errorf("cut the torn end of %s: %w", s.name, err)
		}
		s.size = end.good
	}
	return "", nil
}

func (s *sink) quarantine(root *os.Root, end ending) error {
	to, err := root.OpenFile(s.name+".bad", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keep a copy of the damaged %s: %w", s.name, err)
	}
	if err == nil {
		_, err = io.Copy(to, io.NewSectionReader(s.f, max(0, s.size-maxSearched), s.size))
		if err := errors.Join(err, to.Close()); err != nil {
			return fmt.Errorf("keep a copy of the damaged %s: %w", s.name, err)
		}
	}
	if end.good < s.size { // the next record must begin a line
		return s.put([]byte{'\n'})
	}
	return nil
}
