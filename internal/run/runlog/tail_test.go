package runlog

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/wire"
)

// TestFullLogKeepsWhatMatters: past the bound events.jsonl takes no activity, the tail holds the newest, and neither
// a crash at any point nor a second fold from the start changes a byte of either.
func TestFullLogKeepsWhatMatters(t *testing.T) {
	const n = 900
	limits := func(l *Log) *Log { l.fullAt, l.half = 20<<10, 8<<10; return l }
	dir, root := openDir(t)
	l := limits(open(t, root))
	fill(t, l, 1, n)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	events, _ := all(t, root, 9, false)
	cut := 0
	for i, ev := range events {
		switch {
		case ev.Kind == wire.EventTruncated:
			cut = i
		case cut > 0 && activity(ev.Kind):
			t.Fatalf("activity after truncated: %+v", ev)
		}
	}
	if cut == 0 || len(events)-cut < 20 || events[len(events)-1].Text != event(n).Text {
		t.Fatalf("truncated at %d of %d", cut, len(events))
	}
	tail, _ := all(t, root, 9, true)
	if len(tail) < 50 || tail[len(tail)-1].Text != event(n).Text {
		t.Fatalf("tail of %d", len(tail))
	}
	for i := range tail[1:] {
		if tail[i+1].Seq != tail[i].Seq+1 {
			t.Fatalf("tail goes from %d to %d", tail[i].Seq, tail[i+1].Seq)
		}
	}
	names := []string{mainName, tailName, oldName}
	want := map[string][]byte{}
	for _, name := range names {
		want[name] = read(t, dir, name)
	}

	dir, root = openDir(t)
	for i := 0; i < n; i += 7 {
		l := limits(open(t, root))
		fill(t, l, max(1, i-30), min(i+9, n))
		if err := l.Close(); err != nil || l.Damage() != "" {
			t.Fatal(err, l.Damage())
		}
		tear(t, filepath.Join(dir, names[i%2]))
	}
	l = limits(open(t, root))
	fill(t, l, 1, n)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !bytes.Equal(read(t, dir, name), want[name]) {
			t.Fatalf("%s differs", name)
		}
	}
}

// tear leaves the beginning of a record at the end of a log, if that is there.
func tear(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		_, err = f.WriteString(`{"seq":`)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestTailSurvivesCrashAtEachStep removes what a crash between two steps of turning the tail leaves out.
func TestTailSurvivesCrashAtEachStep(t *testing.T) {
	limits := func(l *Log) *Log { l.fullAt, l.half = 4<<10, 2<<10; return l }
	for step, undo := range map[string]func(dir string) error{
		"no new half":     func(dir string) error { return os.Remove(filepath.Join(dir, tailName)) },
		"no header":       func(dir string) error { return os.Truncate(filepath.Join(dir, tailName), 0) },
		"half a header":   func(dir string) error { return os.Truncate(filepath.Join(dir, tailName), 9) },
		"only its header": func(dir string) error { return nil },
	} {
		t.Run(step, func(t *testing.T) {
			dir, root := openDir(t)
			l := limits(open(t, root))
			n := 0
			for base := uint64(0); l.tail == nil || l.tail.base == 0 || l.tail.base == base; n++ {
				fill(t, l, n+1, n+1)
				if base = 0; l.tail != nil && l.tail.base > 0 {
					break
				}
			}
			want, _ := all(t, root, 500, true)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(filepath.Join(dir, tailName), l.tail.start); err != nil {
				t.Fatal(err)
			}
			if err := undo(dir); err != nil {
				t.Fatal(err)
			}
			l = limits(open(t, root))
			fill(t, l, 1, n+1)
			got, _ := all(t, root, 500, true)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}
