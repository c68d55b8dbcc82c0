package spool

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// failing is a segment that takes so many bytes and then says that the disk is full.
type failing struct {
	*os.File
	room       *int
	noTruncate *bool
}

func (f failing) WriteAt(p []byte, off int64) (int, error) {
	if len(p) <= *f.room {
		*f.room -= len(p)
		return f.File.WriteAt(p, off)
	}
	n, err := f.File.WriteAt(p[:*f.room], off)
	*f.room = 0
	return n, errors.Join(err, syscall.ENOSPC)
}

func (f failing) Truncate(size int64) error {
	if *f.noTruncate {
		return syscall.EIO
	}
	return f.File.Truncate(size)
}

func TestS10_FullDiskNeverTearsTheMiddle(t *testing.T) {
	whole, bounds := recorded(t)
	for size := range len(whole) {
		for _, stuck := range []bool{false, true} {
			dir := t.TempDir()
			room, noTruncate := size, stuck
			w := writer(t, dir, Options{create: func(path string) (segmentFile, error) {
				f, err := openPlain(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
				return failing{f, &room, &noTruncate}, err
			}})
			r := reader(t, dir, Pos{})
			var got []Frame
			next := 0
			for ; next < len(bounds); next++ {
				if _, err := w.Append(KindOut, 0, "", 0, payload(next)); err != nil {
					if !errors.Is(err, syscall.ENOSPC) {
						t.Fatal(err)
					}
					break
				}
			}
			for range 3 { // full for a while; a reader sees whole frames only
				more, err := all(r)
				if !errors.Is(err, ErrNotYet) {
					t.Fatal(err)
				}
				got = append(got, more...)
				if _, err := w.Append(KindOut, 0, "", 0, payload(next)); err == nil {
					t.Fatal("written to a full disk")
				}
			}
			room, noTruncate = 1<<20, false
			fill(t, w, next, next+5)
			more, err := all(r)
			if !errors.Is(err, ErrNotYet) {
				t.Fatalf("room %d: %v", size, err)
			}
			check(t, append(got, more...), 0, next+5)
			_ = w.Close()
			_ = r.Close()
		}
	}
}

func TestRollFailsAndIsRepeated(t *testing.T) {
	dir := t.TempDir()
	fail := false
	w := writer(t, dir, Options{SegmentBytes: 300, create: func(path string) (segmentFile, error) {
		if fail {
			return nil, syscall.EMFILE
		}
		return openPlain(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	}})
	fill(t, w, 0, 3)
	fail = true
	n := 3
	for ; ; n++ {
		if _, err := w.Append(KindOut, 0, "", 0, payload(n)); err != nil {
			if !errors.Is(err, syscall.EMFILE) {
				t.Fatal(err)
			}
			break
		}
	}
	fail = false
	fill(t, w, n, 30)
	got, err := all(reader(t, dir, Pos{}))
	if !errors.Is(err, ErrNotYet) {
		t.Error(err)
	}
	check(t, got, 0, 30)
	if err := w.Sync(); err != nil {
		t.Error(err)
	}
}
