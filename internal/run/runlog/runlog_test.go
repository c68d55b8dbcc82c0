package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const handle = wire.RunHandle("demo-0a1b2c")

func openDir(t *testing.T) (string, *os.Root) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return dir, root
}

func open(t *testing.T, root *os.Root) *Log {
	t.Helper()
	l, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func event(i int) wire.RunEvent {
	kind := wire.EventText
	if i%10 == 0 {
		kind = wire.EventNote
	}
	return wire.RunEvent{TsMs: uint64(1000 + i), Kind: kind, Text: fmt.Sprintf("line %d <&> \u2028 %s", i, strings.Repeat("x", i%37))}
}

func fill(t *testing.T, l *Log, from, to int) {
	t.Helper()
	for i := from; i <= to; i++ {
		if _, err := l.Append(event(i), row.Pos{Frame: uint64(i), Index: 1}); err != nil {
			t.Fatal(err)
		}
	}
}

func all(t *testing.T, root *os.Root, limit int, tail bool) ([]wire.RunEvent, wire.RunLogPage) {
	t.Helper()
	var events []wire.RunEvent
	var after uint64
	for {
		p, err := ReadPage(root, handle, after, limit, tail)
		if err != nil {
			t.Fatal(err)
		}
		if p.Next < after || p.More && p.Next == after {
			t.Fatalf("page from %d leads to %d", after, p.Next)
		}
		events = append(events, p.Events...)
		after = p.Next
		if !p.More {
			return events, p
		}
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAppendSkipsWhatIsThere(t *testing.T) {
	dir, root := openDir(t)
	l := open(t, root)
	fill(t, l, 1, 50)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want := read(t, dir, mainName)
	l = open(t, root)
	if got := l.main.src; got != (row.Pos{Frame: 50, Index: 1}) {
		t.Fatalf("position %v", got)
	}
	fill(t, l, 1, 50)
	if seq, err := l.Append(event(50), row.Pos{Frame: 50, Index: 1}); seq != 0 || err != nil {
		t.Fatalf("written twice: %d, %v", seq, err)
	}
	if got := read(t, dir, mainName); !bytes.Equal(got, want) {
		t.Fatal("a second fold changed the log")
	}
	if seq, err := l.Append(wire.RunEvent{TsMs: 1, Kind: wire.EventRunEnded}, row.Pos{Frame: 51}); seq != 51 || err != nil {
		t.Fatal(seq, err)
	}
	if seq, err := l.Append(event(52), row.Pos{Frame: 52}); seq != 0 || err != nil || l.main.last != wire.EventRunEnded {
		t.Fatalf("written after run_ended: %d, %v", seq, err)
	}
	events, page := all(t, root, 7, false)
	if len(events) != 51 || !page.Ended || events[50].Seq != 51 || page.Handle != handle {
		t.Fatalf("%d events, ended %v", len(events), page.Ended)
	}
	if diff := cmp.Diff(event(13).Text, events[12].Text); diff != "" {
		t.Fatal(diff)
	}
	if p, err := ReadPage(root, handle, page.Next+1<<40, 1, false); err != nil || !p.Ended || p.Next != page.Next {
		t.Fatalf("past the end: %+v, %v", p, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(event(53), row.Pos{Frame: 53}); !errors.Is(err, fs.ErrClosed) {
		t.Fatalf("append to a closed log: %v", err)
	}
}

// TestS9_TornTailIsCut cuts the last records at each byte: the log goes on from the last whole one.
func TestS9_TornTailIsCut(t *testing.T) {
	dir, root := openDir(t)
	l := open(t, root)
	fill(t, l, 1, 5)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole := read(t, dir, mainName)
	lines := bytes.SplitAfter(whole, []byte{'\n'})
	two := len(lines[0]) + len(lines[1])
	for cut := two; cut <= len(whole); cut++ {
		if err := os.WriteFile(filepath.Join(dir, mainName), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := ReadPage(root, handle, 0, 500, false)
		if err != nil || len(p.Events) != bytes.Count(whole[:cut], []byte{'\n'}) || p.More || p.Ended {
			t.Fatalf("cut at %d: %+v, %v", cut, p, err)
		}
		l := open(t, root)
		fill(t, l, 1, 5)
		if err := l.Close(); err != nil || l.Damage() != "" {
			t.Fatal(err, l.Damage())
		}
		if got := read(t, dir, mainName); !bytes.Equal(got, whole) {
			t.Fatalf("cut at %d: not mended", cut)
		}
	}
}

// TestS9_FlippedBitsAreFound flips each bit of the last three records: what is served is never wrong, and nothing
// good is thrown away.
func TestS9_FlippedBitsAreFound(t *testing.T) {
	dir, root := openDir(t)
	l := open(t, root)
	fill(t, l, 1, 5)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole := read(t, dir, mainName)
	good, _ := all(t, root, 500, false)
	lines := bytes.SplitAfter(whole, []byte{'\n'})
	start := len(lines[0]) + len(lines[1])
	for bit := start * 8; bit < len(whole)*8; bit++ {
		bad := bytes.Clone(whole)
		bad[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(filepath.Join(dir, mainName), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		events, _ := all(t, root, 500, false)
		for _, ev := range events {
			if ev.Kind == wire.EventNote && strings.Contains(ev.Text, mainName) {
				continue
			}
			if int(ev.Seq) > len(good) || !cmp.Equal(good[ev.Seq-1], ev) {
				t.Fatalf("bit %d: served %+v", bit, ev)
			}
		}
		l := open(t, root)
		if damaged := l.Damage() != ""; damaged != (bit/8 < len(whole)-1) {
			t.Fatalf("bit %d: damage %q", bit, l.Damage())
		}
		if l.Damage() != "" && !bytes.Equal(read(t, dir, mainName+".bad"), bad) {
			t.Fatalf("bit %d: the copy differs", bit)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(dir, mainName+".bad"))
	}
}

// TestU6_UnreadableLineIsShown: a line that cannot be read is a note that names the file, and what follows is there.
func TestU6_UnreadableLineIsShown(t *testing.T) {
	dir, root := openDir(t)
	l := open(t, root)
	fill(t, l, 1, 3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole := read(t, dir, mainName)
	bad := bytes.Replace(whole, []byte("line 2"), []byte("lime 2"), 1)
	if err := os.WriteFile(filepath.Join(dir, mainName), bad, 0o600); err != nil {
		t.Fatal(err)
	}
	events, _ := all(t, root, 1, false)
	if len(events) != 3 || events[1].Kind != wire.EventNote || !strings.Contains(events[1].Text, mainName) {
		t.Fatalf("%+v", events)
	}
	events, _ = all(t, root, 500, false)
	if events[1].Seq != 2 || events[1].TsMs != events[0].TsMs {
		t.Fatalf("%+v", events[1])
	}
	l = open(t, root)
	if !strings.Contains(l.Damage(), "damaged record at byte") {
		t.Fatalf("damage %q", l.Damage())
	}
	fill(t, l, 1, 4)
	if events, _ := all(t, root, 500, false); len(events) != 4 || events[3].Seq != 4 {
		t.Fatalf("the log does not go on: %+v", events)
	}
}

// TestT35_NoPlainFile: what an agent puts in the place of its log makes no reader wait and leads none elsewhere.
func TestT35_NoPlainFile(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"link":      func(path string) error { return os.Symlink("/etc/passwd", path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, root := openDir(t)
			if err := errors.Join(plant(filepath.Join(dir, mainName)), plant(filepath.Join(dir, tailName))); err != nil {
				t.Fatal(err)
			}
			for _, tail := range []bool{false, true} {
				if page, err := ReadPage(root, "fake-1", 0, 10, tail); err == nil || errors.Is(err, os.ErrNotExist) {
					t.Errorf("tail %t: %+v %v", tail, page, err)
				}
			}
		})
	}
}

func TestPageBounds(t *testing.T) {
	dir, root := openDir(t)
	if _, err := ReadPage(root, handle, 0, 1, false); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("no log: %v", err)
	}
	l := open(t, root)
	fill(t, l, 1, 3000)
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	p, err := ReadPage(root, handle, 0, 100000, false)
	if err != nil || len(p.Events) != maxEvents || !p.More {
		t.Fatalf("%d events, more %v, %v", len(p.Events), p.More, err)
	}
	if p, _ := ReadPage(root, handle, 0, 0, false); len(p.Events) != 1 {
		t.Fatalf("limit 0 gave %d", len(p.Events))
	}
	whole := read(t, dir, mainName)
	first := bytes.IndexByte(whole, '\n') + 1
	for after := 1; after <= first; after++ {
		if p, _ := ReadPage(root, handle, uint64(after), 1, false); p.Events[0].Seq != 2 {
			t.Fatalf("position %d gives record %d", after, p.Events[0].Seq)
		}
	}
	big := strings.Repeat("é", 2000)
	for i := 3001; i < 3200; i++ {
		if _, err := l.Append(wire.RunEvent{Kind: wire.EventText, Text: big}, row.Pos{Frame: uint64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	p, err = ReadPage(root, handle, uint64(len(whole)), 500, false)
	if err != nil || len(p.Events) > 256<<10/4000 || !p.More {
		t.Fatalf("%d events, more %v, %v", len(p.Events), p.More, err)
	}
	events, _ := all(t, root, 500, false)
	for i, ev := range events {
		if ev.Seq != uint64(i+1) {
			t.Fatalf("event %d has number %d", i, ev.Seq)
		}
	}
	if _, err := l.Append(wire.RunEvent{Kind: wire.EventText, Text: strings.Repeat("x", maxRecord)}, row.Pos{Frame: 1 << 40}); err == nil {
		t.Fatal("a record over the bound was taken")
	}
}

func TestNotifierWakesOnce(t *testing.T) {
	n := NewNotifier()
	a, b := n.Subscribe(handle), n.Subscribe(handle)
	n.Notify(handle)
	n.Notify(handle)
	n.Notify("demo-ffffff")
	<-a.Wake()
	select {
	case <-a.Wake():
		t.Fatal("woken twice for one look")
	default:
	}
	<-b.Wake()
	a.Close()
	a.Close()
	b.Close()
	n.Notify(handle)
	if len(n.subs) != 0 {
		t.Fatal("a subscription is left")
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("{\"seq\":1}\n"), uint64(3))
	line, _ := seal(event(1), row.Pos{Frame: 1, Index: 1})
	f.Add(append(line, line...), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, after uint64) {
		dir, root := openDir(t)
		if err := os.WriteFile(filepath.Join(dir, mainName), data, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := ReadPage(root, handle, after, 500, false)
		if err != nil || p.Next > uint64(len(data)) {
			t.Fatal(p.Next, err)
		}
		l := open(t, root)
		if seq, err := l.Append(event(1), row.Pos{Frame: 1 << 50}); err != nil || seq == 0 && l.main.last != wire.EventRunEnded {
			t.Fatal(seq, err)
		}
	})
}
