package spool

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestCheckpoint(t *testing.T) {
	type state struct {
		Pos  Pos
		Text string
	}
	dir := t.TempDir()
	var got state
	if found, err := ReadCheckpoint(dir, &got); err != nil || found {
		t.Fatalf("none: %v %v", found, err)
	}
	for _, want := range []state{{Pos{1, 2}, "a <b> & \u2028"}, {Pos{3, 4}, strings.Repeat("long", 1000)}, {}} {
		if err := WriteCheckpoint(dir, want); err != nil {
			t.Fatal(err)
		}
		got = state{}
		if found, err := ReadCheckpoint(dir, &got); err != nil || !found || got != want {
			t.Errorf("%v %v %+v", found, err, got)
		}
	}
	if err := WriteCheckpoint(dir, func() {}); err == nil {
		t.Error("what cannot be encoded was written")
	}
	if found, err := ReadCheckpoint(dir, &got); err != nil || !found {
		t.Errorf("the one before is gone: %v %v", found, err)
	}
	path := filepath.Join(dir, checkpointName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := range whole {
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCheckpoint(dir, &got); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d: %v", size, err)
		}
	}
	for bit := range len(whole) * 8 {
		rotten := bytes.Clone(whole)
		rotten[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, rotten, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCheckpoint(dir, &got); !errors.Is(err, ErrCorrupt) {
			t.Errorf("bit %d: %v", bit, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left: %v %v", entries, err)
	}
}

func TestNotesAreBounded(t *testing.T) {
	long := strings.Repeat("\x01\xff", 5000)
	var many []string
	for range 5000 {
		many = append(many, long)
	}
	ports := &Ports{}
	for range 5000 {
		ports.List = append(ports.List, Port{Name: long, PID: 1 << 30, Addr: "[0123:4567:89ab:cdef:0123:4567:89ab:cdef]:65535"})
	}
	for _, n := range []Note{
		{Ports: ports},
		{StartFailed: &StartFailed{Error: long, Class: StartOther}},
		{Stdin: &Stdin{Error: long}},
		{Strays: &Strays{Names: many}},
	} {
		b, err := EncodeNote(n)
		if err != nil || len(b) > MaxNote {
			t.Errorf("%d bytes, %v", len(b), err)
		}
		back, err := DecodeNote(b)
		if err != nil {
			t.Error(err)
		}
		if n.Strays != nil && back.Strays.More+len(back.Strays.Names) != len(many) {
			t.Errorf("%d named, %d more", len(back.Strays.Names), back.Strays.More)
		}
	}
	b, err := EncodeNote(Note{AgentExit: &AgentExit{Code: 0}})
	if err != nil || string(b) != `{"agent_exit":{"code":0}}` {
		t.Errorf("%s %v", b, err)
	}
}

// A reader beside a writer sees every frame once and in order, however the two interleave and segments change.
func TestReaderBesideWriter(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, dir, Options{SegmentBytes: 2000})
	const frames = 3000
	wake := make(chan struct{}, 1)
	done := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		defer close(done)
		for i := range frames {
			if _, err := w.Append(KindOut, 0, "", 0, payload(i)); err != nil {
				t.Error(err)
			}
			if i%100 == 0 {
				if err := w.Sync(); err != nil {
					t.Error(err)
				}
			}
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	})
	r := reader(t, dir, Pos{})
	var got []Frame
	for len(got) < frames {
		more, err := all(r)
		if !errors.Is(err, ErrNotYet) {
			t.Fatal(err)
		}
		if got = append(got, more...); len(more) > 0 {
			if _, err := DeleteBefore(dir, r.Pos()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		select {
		case <-wake:
		case <-done:
		}
	}
	writing.Wait()
	check(t, got, 0, frames)
}

// Whatever is in the file, a reader serves only frames with their checksum, ends, and moves forward.
func FuzzReader(f *testing.F) {
	var seed []byte
	for i := range 3 {
		seed = appendFrame(seed, &Frame{Kind: KindIn, Seq: uint64(i + 1), N: 1, Key: "k", Payload: payload(i)})
	}
	f.Add(seed)
	f.Add(seed[:len(seed)-3])
	f.Add(append([]byte{255, 255, 255, 255}, seed...))
	f.Add(make([]byte, 100))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		put(t, dir, b)
		r := reader(t, dir, Pos{})
		frames, err := all(r)
		if !errors.Is(err, ErrNotYet) && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		var back []byte
		for _, frame := range frames {
			raw := b[frame.Pos.Offset:frame.End.Offset]
			if !parseHeader(raw).good(raw) {
				t.Fatal("a frame without its checksum")
			}
			back = append(back, raw...)
		}
		if !bytes.Equal(back, b[:len(back)]) {
			t.Fatal("frames are not what is in the file")
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	w, err := OpenWriter(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	p := payload(20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Append(KindOut, 0, "", 0, p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	dir := b.TempDir()
	w, err := OpenWriter(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for range 10000 {
		if _, err := w.Append(KindOut, 0, "", 0, payload(20)); err != nil {
			b.Fatal(err)
		}
	}
	r, err := OpenReader(dir, Pos{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			if r, err = OpenReader(dir, Pos{}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
