package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"scv/internal/wire"
)

// Bounds of a page (wire.md 12.3).
const (
	maxEvents = 500
	pageBytes = 256 << 10
)

// ReadPage reads the log in a run's directory from position after on: at most limit events, itself forced into 1 to
// 500, and 256 KiB. Positions are bytes; 0 is the start, Next of a page continues it, one past the end is the end,
// one inside a line moves on to the next. A last line without its line feed is not there yet. A line that cannot be
// read is given as a note that names the file. With tail it reads what came after `truncated`, of which the oldest
// part may be gone: a position before the first is moved there. It is an fs.ErrNotExist when the log was not begun.
// Any process may call it, at any time.
func ReadPage(root *os.Root, handle wire.RunHandle, after uint64, limit int, tail bool) (wire.RunLogPage, error) {
	read := readMain
	if tail {
		read = readTail
	}
	p, err := read(root, after, min(max(limit, 1), maxEvents))
	if err != nil {
		return wire.RunLogPage{}, fmt.Errorf("read the log of %s: %w", handle, err)
	}
	p.Handle = handle
	return p, nil
}

func readMain(root *os.Root, after uint64, limit int) (wire.RunLogPage, error) {
	f, size, err := openPlain(root, mainName, os.O_RDONLY)
	if err != nil {
		return wire.RunLogPage{}, err
	}
	defer f.Close()
	return readPart(part{f: f, name: mainName, size: size}, after, limit)
}

// openPlain opens a file of the log and tells its size. An agent can write where its log lies: a pipe that it put there
// must not make anybody wait, what a link of its names is not touched, and what is no plain file is no log.
func openPlain(root *os.Root, name string, flag int) (*os.File, int64, error) {
	odd := fmt.Errorf("%s is not a plain file; somebody put it there", name)
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, 0, odd
	}
	f, err := root.OpenFile(name, flag|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = odd
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// readTail reads from the half that holds the position. The halves may take turns while it looks, so it looks again
// until the two that it opened fit.
func readTail(root *os.Root, after uint64, limit int) (page wire.RunLogPage, err error) {
	const tries = 5
	for range tries {
		var fits bool
		if page, fits, err = readHalves(root, after, limit); err != nil || fits {
			return page, err
		}
	}
	return page, errors.New("its tail turned over faster than it could be read")
}

func readHalves(root *os.Root, after uint64, limit int) (wire.RunLogPage, bool, error) {
	old, oldErr := openPart(root, oldName)
	if oldErr == nil {
		defer old.f.Close()
	}
	cur, err := openPart(root, tailName)
	if err != nil {
		return wire.RunLogPage{}, false, err
	}
	defer cur.f.Close()
	if oldErr != nil && !errors.Is(oldErr, os.ErrNotExist) {
		return wire.RunLogPage{}, false, oldErr
	}
	if oldErr == nil && old.base+uint64(old.size-old.start) != cur.base {
		return wire.RunLogPage{}, false, nil
	}
	if oldErr == nil && after < cur.base {
		page, err := readPart(old, after, limit)
		page.More = page.More || cur.size > cur.start
		page.Ended = page.Ended && !page.More
		return page, true, err
	}
	page, err := readPart(cur, after, limit)
	return page, true, err
}

// A part is a file of records of which the byte at offset start has the position base.
type part struct {
	f     *os.File
	name  string
	start int64
	size  int64
	base  uint64
}

func openPart(root *os.Root, name string) (part, error) {
	f, size, err := openPlain(root, name, os.O_RDONLY)
	if err != nil {
		return part{}, err
	}
	h, _, start, err := readHeader(f)
	if err != nil {
		return part{}, errors.Join(err, f.Close())
	}
	return part{f: f, name: name, start: start, size: size, base: h.Base}, nil
}

func (p part) position(offset int64) uint64 { return p.base + uint64(offset-p.start) }

func readPart(p part, after uint64, limit int) (wire.RunLogPage, error) {
	end := p.position(p.size)
	at := p.start + int64(min(max(after, p.base), end)-p.base)
	at, err := p.lineStart(at)
	if err != nil {
		return wire.RunLogPage{}, err
	}
	buf := make([]byte, min(p.size-at, pageBytes))
	n, err := p.f.ReadAt(buf, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return wire.RunLogPage{}, err
	}
	buf = buf[:n]
	page := wire.RunLogPage{}
	var damaged []int
	for len(page.Events) < limit {
		line, rest, whole := bytes.Cut(buf, []byte{'\n'})
		if !whole {
			break
		}
		var ev wire.RunEvent
		if _, err := unseal(line, &ev); err != nil {
			damaged = append(damaged, len(page.Events))
			ev = wire.RunEvent{Kind: wire.EventNote, Text: fmt.Sprintf("a record at byte %d of %s cannot be read", at, p.name)}
		}
		page.Events = append(page.Events, ev)
		at, buf = at+int64(len(line))+1, rest
	}
	number(page.Events, damaged)
	if len(page.Events) == 0 && len(buf) == pageBytes { // no line of ours is that long
		at += pageBytes
	}
	page.Next = p.position(at)
	page.More = at < p.size && (len(buf) == 0 || bytes.IndexByte(buf, '\n') >= 0 || at+int64(len(buf)) < p.size)
	page.Ended, err = p.ended(page, at)
	return page, err
}

// lineStart moves an offset inside a line to the next line.
func (p part) lineStart(at int64) (int64, error) {
	if at == p.start {
		return at, nil
	}
	buf := make([]byte, maxRecord)
	for from := at - 1; ; {
		n, err := p.f.ReadAt(buf, from)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		if errors.Is(err, io.EOF) {
			return p.size, nil
		}
		if err != nil {
			return 0, err
		}
		from += int64(n)
	}
}

// number gives notes for unreadable records the number and time that the lines beside them leave.
func number(events []wire.RunEvent, damaged []int) {
	for _, i := range damaged {
		if i > 0 {
			events[i].Seq, events[i].TsMs = events[i-1].Seq+1, events[i-1].TsMs
		}
	}
	for i := len(events) - 2; i >= 0; i-- {
		if events[i].Seq == 0 && events[i+1].Seq > 1 {
			events[i].Seq, events[i].TsMs = events[i+1].Seq-1, events[i+1].TsMs
		}
	}
	for i := range events {
		events[i].Seq = max(events[i].Seq, 1)
	}
}

// ended reports whether a page reached run_ended, or begins behind it.
func (p part) ended(page wire.RunLogPage, at int64) (bool, error) {
	if n := len(page.Events); n > 0 {
		return page.Events[n-1].Kind == wire.EventRunEnded, nil
	}
	if page.More || at != p.size {
		return false, nil
	}
	end, err := readEnd(p.f, p.name, max(p.start, p.size-maxRecord), p.start, p.size)
	return end.last == wire.EventRunEnded && end.good == p.size, err
}

// maxSearched is how much of one file is searched or copied at once, in bytes: an agent can make a file in the place of a
// log as large as it likes, and this can be held.
const maxSearched = 64 << 20

// MayHold reports whether a test of whole files finds something in a log, for a search that would else decode every
// line. What is there is JSON, with the signs of HTML as they are. A log that was not begun holds nothing.
func MayHold(root *os.Root, test func([]byte) bool) (bool, error) {
	for _, name := range []string{mainName, oldName, tailName} {
		f, size, err := openPlain(root, name, os.O_RDONLY)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		var data bytes.Buffer
		data.Grow(int(min(size, maxSearched)) + bytes.MinRead)
		_, err = data.ReadFrom(io.LimitReader(f, maxSearched))
		if err = errors.Join(err, f.Close()); err != nil {
			return false, err
		}
		if test(data.Bytes()) {
			return true, nil
		}
	}
	return false, nil
}
