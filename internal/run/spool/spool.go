// Package spool owns the raw, framed bytes between one agent and its shim, in both directions, and the
// checkpoint file that lets folded segments go.
//
// One shim writes (Writer); any number of daemons read (Reader). Nothing is lost by the death of a process:
// a frame is one write to the file, and a frame that was cut short is found by its length or checksum and is
// never served. A crash of the machine may lose what was not yet synced. The content is not masked, so every
// file is private (0600), lives only until it is folded, and is never sent to a client.
package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"scv/internal/failpoint"
)

const (
	// Version is the number of the frame format; it changes only when an older reader would misread.
	Version = 1
	// SegmentBytes is the size in bytes after which a new segment file begins.
	SegmentBytes = 4 << 20
	// MaxPayload is the largest payload of one frame in bytes, key and number included.
	MaxPayload = 4 << 20
	// MaxKey is the longest key of a message to the agent in bytes.
	MaxKey = 512
)

var (
	// ErrNotYet says that the spool holds no further whole frame now; more may be appended while a shim lives.
	ErrNotYet = errors.New("no further frame in the spool yet")
	// ErrTorn says that the last frame is whole in length but wrong in content and that nothing follows it; it
	// is also an ErrNotYet, since a reader stops in front of it in the same way.
	ErrTorn = fmt.Errorf("the last frame of the spool is damaged: %w", ErrNotYet)
	// ErrCorrupt says that a damaged frame is followed by good data, so bytes were changed after the write.
	ErrCorrupt = errors.New("the spool is damaged")
	// ErrDeleted says that the position asked for lies in a segment that was deleted after folding.
	ErrDeleted = errors.New("this part of the spool was deleted after folding")
	// ErrTooLarge says that a payload or key is over MaxPayload or MaxKey.
	ErrTooLarge = errors.New("the frame is too large for the spool")
)

// CorruptError names the file and the byte offset of a damaged frame; it is an ErrCorrupt.
type CorruptError struct {
	File   string
	Offset int64
	Why    string
}

// Error tells where the damage is.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("the spool is damaged: %s at byte %d: %s", e.File, e.Offset, e.Why)
}

// Is makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Pos is a place between two frames: a segment number (from 1) and a byte offset in it. The zero Pos is the
// beginning of the oldest segment that exists.
type Pos struct {
	Segment uint64 `json:"segment"`
	Offset  int64  `json:"offset"`
}

// Compare orders positions as the frames were written: negative when p comes before q.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.Segment, q.Segment), cmp.Compare(p.Offset, q.Offset))
}

// String is "segment:offset".
func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Segment, p.Offset) }

func segmentPath(dir string, n uint64) string { return filepath.Join(dir, fmt.Sprintf("%08d.seg", n)) }

// segments lists the numbers of the segment files in dir in rising order; a missing dir has none.
func segments(dir string) ([]uint64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("list spool: %w", err)
	}
	var list []uint64
	for _, e := range entries {
		digits, isSegment := strings.CutSuffix(e.Name(), ".seg")
		if !isSegment || len(digits) < 8 {
			continue
		}
		if n, err := strconv.ParseUint(digits, 10, 64); err == nil && n > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}

// DeleteBefore removes the segments that lie wholly before pos and returns the bytes freed. Call it only
// when a checkpoint that starts at or after pos was written and read back.
func DeleteBefore(dir string, pos Pos) (int64, error) {
	list, err := segments(dir)
	if err != nil {
		return 0, err
	}
	var freed int64
	for _, n := range list {
		if n >= pos.Segment {
			break
		}
		path := segmentPath(dir, n)
		info, err := os.Lstat(path)
		if err != nil {
			return freed, fmt.Errorf("delete folded segment: %w", err)
		}
		if err := failpoint.Do(failpoint.SegmentDelete, func() error { return os.Remove(path) }); err != nil {
			return freed, fmt.Errorf("delete folded segment: %w", err)
		}
		freed += info.Size()
	}
	return freed, nil
}

// openPlain opens a file of a spool. An agent can write there: a pipe makes nobody wait, no link is followed, and what
// is no plain file is a CorruptError.
func openPlain(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0o600)
	odd := &CorruptError{File: path, Why: "it is no plain file"}
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EISDIR) {
		return nil, odd
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = odd
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
