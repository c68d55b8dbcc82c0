package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func writer(t *testing.T, dir string, opt Options) *Writer {
	t.Helper()
	w, err := OpenWriter(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func reader(t *testing.T, dir string, from Pos) *Reader {
	t.Helper()
	r, err := OpenReader(dir, from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// all reads to the end and returns the frames and what ended it.
func all(r *Reader) ([]Frame, error) {
	var list []Frame
	for {
		f, err := r.Next()
		if err != nil {
			return list, err
		}
		f.Payload = slices.Clone(f.Payload)
		list = append(list, f)
	}
}

func payload(i int) []byte { return fmt.Appendf(nil, "payload %d %s", i, strings.Repeat("x", i%50)) }

func fill(t *testing.T, w *Writer, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if _, err := w.Append(KindOut, 0, "", 0, payload(i)); err != nil {
			t.Fatal(err)
		}
	}
}

func check(t *testing.T, frames []Frame, from, to int) {
	t.Helper()
	if len(frames) != to-from {
		t.Fatalf("%d frames, want %d", len(frames), to-from)
	}
	for i, f := range frames {
		if f.Seq != uint64(from+i+1) || !bytes.Equal(f.Payload, payload(from+i)) {
			t.Fatalf("frame %d is %d %q", i, f.Seq, f.Payload)
		}
	}
}

func TestFormatOfAFrame(t *testing.T) {
	b := appendFrame(nil, &Frame{Kind: KindIn, Flags: FlagCloseStdin, Seq: 258, UnixNano: 1, N: 3, Key: "ab", Payload: []byte("xyz")})
	want := []byte{
		13, 0, 0, 0 /* length */, 0, 0, 0, 0 /* checksum */, 3 /* kind */, 1 /* flags */, 2, 0, /* key length */
		2, 1, 0, 0, 0, 0, 0, 0 /* seq */, 1, 0, 0, 0, 0, 0, 0, 0, /* time */
		3, 0, 0, 0, 0, 0, 0, 0 /* n */, 'a', 'b', 'x', 'y', 'z',
	}
	sum := checksum(want[8:])
	want[4], want[5], want[6], want[7] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
	if !bytes.Equal(b, want) {
		t.Errorf("\n%v\n%v", b, want)
	}
	if sum := checksum([]byte("123456789")); sum != 0xe3069283 { // the check value of CRC-32C
		t.Errorf("checksum %x", sum)
	}
}

func TestRoundTripOfEveryKind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	at := time.Unix(1700000000, 123)
	w := writer(t, dir, Options{Now: func() time.Time { return at }})
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	want := []Frame{
		{Kind: KindOut, Payload: []byte("out")},
		{Kind: KindErr, Payload: []byte{0, 255}},
		{Kind: KindOut},
		{Kind: KindIn, N: 1, Key: "turn:1", Payload: []byte("hello")},
		{Kind: KindIn, N: 2, Key: "big", Payload: big},
		{Kind: KindIn, Flags: FlagCloseStdin, N: 3, Key: "eof"},
		{Kind: Kind(9), Payload: []byte("of a later version")},
		{Kind: KindNote, Payload: []byte("{}")},
	}
	for _, f := range want {
		if _, err := w.Append(f.Kind, f.Flags, f.Key, f.N, f.Payload); err != nil {
			t.Fatal(err)
		}
	}
	got, err := all(reader(t, dir, Pos{}))
	if !errors.Is(err, ErrNotYet) || len(got) != len(want) {
		t.Fatalf("%d frames, %v", len(got), err)
	}
	for i, f := range got {
		if f.Kind != want[i].Kind || f.Flags != want[i].Flags || f.N != want[i].N || f.Key != want[i].Key ||
			!bytes.Equal(f.Payload, want[i].Payload) || f.Seq != uint64(i+1) || !f.Time().Equal(at) {
			t.Errorf("%d: %+v", i, f)
		}
		from, err := all(reader(t, dir, f.Pos))
		if !errors.Is(err, ErrNotYet) || len(from) != len(want)-i {
			t.Errorf("from frame %d: %d frames, %v", i, len(from), err)
		}
		if i > 0 && got[i-1].End != f.Pos {
			t.Errorf("frame %d begins at %s, the one before ends at %s", i, f.Pos, got[i-1].End)
		}
	}
	for _, c := range []struct {
		key  string
		size int
	}{{strings.Repeat("k", MaxKey+1), 1}, {"k", MaxPayload}} {
		if _, err := w.Append(KindIn, 0, c.key, 4, make([]byte, c.size)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d %d: %v", len(c.key), c.size, err)
		}
	}
	if info, err := os.Stat(segmentPath(dir, 1)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

func TestReaderGoesOnOverSegments(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, dir, Options{SegmentBytes: 500})
	r := reader(t, dir, Pos{})
	var got []Frame
	for i := 0; i < 200; i += 7 {
		fill(t, w, i, i+7)
		more, err := all(r)
		if !errors.Is(err, ErrNotYet) || r.Pending() != 0 {
			t.Fatalf("%v, %d pending", err, r.Pending())
		}
		got = append(got, more...)
	}
	check(t, got, 0, 203)
	list, err := segments(dir)
	if err != nil || len(list) < 10 {
		t.Fatalf("%v %v", list, err)
	}
	middle := got[100]
	if freed, err := DeleteBefore(dir, middle.Pos); err != nil || freed == 0 {
		t.Errorf("freed %d %v", freed, err)
	}
	rest, err := all(reader(t, dir, middle.Pos))
	if !errors.Is(err, ErrNotYet) {
		t.Error(err)
	}
	check(t, rest, 100, 203)
	if _, err := reader(t, dir, got[0].Pos).Next(); !errors.Is(err, ErrDeleted) {
		t.Errorf("deleted place: %v", err)
	}
	if first, err := reader(t, dir, Pos{}).Next(); err != nil || first.Pos.Segment != middle.Pos.Segment {
		t.Errorf("oldest: %+v %v", first, err)
	}
	w2 := writer(t, dir, Options{SegmentBytes: 500})
	if w2.Seq() != 203 || w2.Repaired() != 0 {
		t.Errorf("reopened at %d, %d repaired", w2.Seq(), w2.Repaired())
	}
}

func TestReaderBeforeTheSpool(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	r := reader(t, dir, Pos{})
	if _, err := r.Next(); !errors.Is(err, ErrNotYet) {
		t.Fatal(err)
	}
	fill(t, writer(t, dir, Options{}), 0, 3)
	got, err := all(r)
	if !errors.Is(err, ErrNotYet) {
		t.Error(err)
	}
	check(t, got, 0, 3)
	if _, err := OpenReader(dir, Pos{Offset: 3}); err == nil {
		t.Error("an offset without a segment was taken")
	}
}

// S9: whatever is cut from the end, the frames in front are served, no other is, and a writer goes on behind them.
func TestS9_CutAtEveryByte(t *testing.T) {
	whole, bounds := recorded(t)
	for size := range len(whole) + 1 {
		dir := t.TempDir()
		put(t, dir, whole[:size])
		complete, _ := slices.BinarySearch(bounds, size+1)
		r := reader(t, dir, Pos{})
		got, err := all(r)
		if !errors.Is(err, ErrNotYet) {
			t.Fatalf("cut at %d: %v", size, err)
		}
		check(t, got, 0, complete)
		end := 0
		if complete > 0 {
			end = bounds[complete-1]
		}
		if r.Pending() != int64(size-end) {
			t.Fatalf("cut at %d: %d pending", size, r.Pending())
		}
		w := writer(t, dir, Options{})
		if w.Repaired() != int64(size-end) || w.Seq() != uint64(complete) {
			t.Fatalf("cut at %d: repaired %d, at %d", size, w.Repaired(), w.Seq())
		}
		fill(t, w, complete, complete+2)
		if more, err := all(r); !errors.Is(err, ErrNotYet) {
			t.Fatalf("cut at %d: %v", size, err)
		} else {
			check(t, more, complete, complete+2)
		}
	}
}

// S9: a flipped bit is never served: in the last frame the spool ends in front of it, elsewhere it is corrupt.
func TestS9_FlipEveryBit(t *testing.T) {
	whole, bounds := recorded(t)
	dir := t.TempDir()
	from := bounds[len(bounds)-4] // the last three
	for bit := from * 8; bit < len(whole)*8; bit++ {
		rotten := slices.Clone(whole)
		rotten[bit/8] ^= 1 << (bit % 8)
		put(t, dir, rotten)
		hit, _ := slices.BinarySearch(bounds, bit/8+1)
		last := hit == len(bounds)-1
		r := reader(t, dir, Pos{})
		got, err := all(r)
		check(t, got, 0, hit)
		var where *CorruptError
		switch {
		case last && (!errors.Is(err, ErrNotYet) || r.Pending() == 0):
			t.Fatalf("bit %d of the last frame: %v", bit, err)
		case !last && (!errors.As(err, &where) || where.Offset != int64(bounds[hit-1]) || where.File != segmentPath(dir, 1)):
			t.Fatalf("bit %d: %v", bit, err)
		}
		_ = r.Close()
		w, err := OpenWriter(dir, Options{})
		if last && (err != nil || w.Seq() != uint64(hit)) || !last && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("bit %d: reopened %v", bit, err)
		}
		if err == nil {
			_ = w.Close()
		} else if b, readErr := os.ReadFile(segmentPath(dir, 1)); readErr != nil || !bytes.Equal(b, rotten) {
			t.Fatalf("bit %d: the damaged file was touched", bit)
		}
	}
}

func TestS9_ZeroTailAndGaps(t *testing.T) {
	whole, bounds := recorded(t)
	dir := t.TempDir()
	put(t, dir, append(slices.Clone(whole), make([]byte, 4096)...))
	got, err := all(reader(t, dir, Pos{}))
	if !errors.Is(err, ErrTorn) {
		t.Errorf("zero tail: %v", err)
	}
	check(t, got, 0, len(bounds))
	if w := writer(t, dir, Options{}); w.Repaired() != 4096 {
		t.Errorf("repaired %d", w.Repaired())
	}
	put(t, dir, append(slices.Clone(whole[:bounds[2]]), whole[bounds[3]:]...))
	got, err = all(reader(t, dir, Pos{}))
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("missing frame: %v", err)
	}
	check(t, got, 0, 3)
	put(t, dir, whole[:bounds[3]-2])
	if err := os.WriteFile(segmentPath(dir, 2), whole[bounds[3]:], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := all(reader(t, dir, Pos{})); !errors.Is(err, ErrCorrupt) {
		t.Errorf("torn in front of another segment: %v", err)
	}
}

// recorded is a spool of a few frames and where each ends.
func recorded(t *testing.T) (whole []byte, bounds []int) {
	t.Helper()
	for i := range 8 {
		whole = appendFrame(whole, &Frame{Kind: KindOut, Seq: uint64(i + 1), UnixNano: int64(i), Payload: payload(i)})
		bounds = append(bounds, len(whole))
	}
	return whole, bounds
}

func put(t *testing.T, dir string, b []byte) {
	t.Helper()
	if err := os.WriteFile(segmentPath(dir, 1), b, 0o600); err != nil {
		t.Fatal(err)
	}
}
