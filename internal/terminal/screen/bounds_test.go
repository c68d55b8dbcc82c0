package screen

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"scv/internal/testkit/need"
)

// inspect fails when a screen breaks a rule of its own.
func inspect(t *testing.T, s *Screen) {
	t.Helper()
	m := s.margin
	if s.cur.Row < 0 || s.cur.Row >= s.rows || s.cur.Col < 0 || s.cur.Col >= s.cols ||
		m.top < 0 || m.top > m.bottom || m.bottom >= s.rows || m.left < 0 || m.left > m.right || m.right >= s.cols || len(s.tabs) != s.cols {
		t.Fatalf("cursor %+v, margins %+v, size %dx%d, %d tab stops", s.cur, m, s.cols, s.rows, len(s.tabs))
	}
	for _, g := range []*grid{s.main, s.alt} {
		if len(g.rows) != s.rows || g.cols != s.cols {
			t.Fatalf("a grid of %dx%d on a screen of %dx%d", g.cols, len(g.rows), s.cols, s.rows)
		}
		for r, w := range g.rows {
			for i, p := range w.cells {
				if p.Ch&wide != 0 && (i+1 == s.cols || w.cells[i+1].Ch&tail == 0) || p.Ch&tail != 0 && (i == 0 || w.cells[i-1].Ch&wide == 0) {
					t.Fatalf("row %d column %d: half a wide character", r, i)
				}
				if p.Ch&isCluster != 0 && int(p.Ch&charMask) >= len(s.clusters.text) {
					t.Fatalf("row %d column %d: no such cluster", r, i)
				}
			}
		}
	}
	if h := &s.history; h.n > MaxHistory || h.size > historyBytes || len(s.clusters.text) > max(sweepAt, s.clusters.limit)+1 {
		t.Fatalf("%d lines of %d bytes, %d clusters", h.n, h.size, len(s.clusters.text))
	}
	v := NewView(s, planted("a"))
	v.Refresh()
	for _, line := range v.Page(0).Lines {
		for _, sp := range line.Spans {
			for _, r := range sp.Text {
				if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 'a' {
					t.Fatalf("row %d shows %q", line.Row, sp.Text)
				}
			}
		}
	}
	v.History(0, MaxHistory)
}

// soup makes input of control functions, text and rubbish.
func soup(random *rand.Rand, n int) []byte {
	const finals = "@ABCDEFGHIJKLMPSTXZ^`abcdefghjklmnqrstuvwxyz{}~"
	var b strings.Builder
	for b.Len() < n {
		switch random.IntN(8) {
		case 0, 1, 2:
			fmt.Fprintf(&b, "\x1b[%s", []string{"", "", "", "?", ">", "!"}[random.IntN(6)])
			for i := range random.IntN(5) {
				if i > 0 {
					b.WriteByte(";;;:"[random.IntN(4)])
				}
				fmt.Fprint(&b, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 30, 69, 1049, 9999, 888888889, random.IntN(100)}[random.IntN(15)])
			}
			b.WriteString([]string{"", "", "", "$", "'", " ", "\""}[random.IntN(7)])
			b.WriteByte(finals[random.IntN(len(finals))])
		case 3:
			b.WriteString([]string{"\x1b7", "\x1b8", "\x1bM", "\x1bD", "\x1bE", "\x1bH", "\x1b6", "\x1b9", "\x1bc", "\x1b#8", "\x1b#6", "\x1b(0", "\x1bN", "\x0e", "\x1bV"}[random.IntN(15)])
		case 4:
			b.WriteString([]string{"世", "❤️", "👨‍👩‍👧", "e\u0301", "🇩🇪", "\u200d", "\ufe0f", "\xff", "\xe4\xb8", "\u3164"}[random.IntN(10)])
		case 5:
			b.WriteByte("\r\n\b\t\x1b\x18\x9b\xc2"[random.IntN(8)])
		case 6:
			b.WriteString([]string{"\x1b[?69h\x1b[3;9s", "\x1b[2;5r", "\x1b[?6h", "\x1b[4h", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?7l", "\x1b[?7h", "\x1b[?45h", "\x1b]0;x\x07"}[random.IntN(10)])
		default:
			b.WriteString("text of some words"[:random.IntN(18)])
		}
	}
	return []byte(b.String())
}

func TestV1_V12_SoupIsTheSameInAnyCut(t *testing.T) {
	sizes := [][2]int{{1, 1}, {3, 2}, {2, 5}, {20, 6}, {80, 24}}
	for i := range 300 {
		random := rand.New(rand.NewPCG(uint64(i), 7))
		size := sizes[i%len(sizes)]
		input := soup(random, 400+random.IntN(1500))
		whole, cut := New(size[0], size[1]), New(size[0], size[1])
		_, _ = whole.Write(input)
		for rest := input; len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(7))
			_, _ = cut.Write(rest[:n])
			rest = rest[n:]
		}
		if !sameState(t, whole, cut) {
			t.Fatalf("soup %d differs when cut: %q", i, input)
		}
		inspect(t, whole)
		whole.Resize(1+random.IntN(30), 1+random.IntN(12))
		_, _ = whole.Write(input)
		inspect(t, whole)
	}
}

func FuzzV12_Screen(f *testing.F) {
	for i := range 30 {
		f.Add(uint8(1+i), uint8(1+i/2), soup(rand.New(rand.NewPCG(uint64(i), 1)), 300))
	}
	f.Fuzz(func(t *testing.T, cols, rows uint8, input []byte) {
		whole, cut := New(int(cols), int(rows)), New(int(cols), int(rows))
		whole.Answer(true)
		half := len(input) / 2
		_, _ = whole.Write(input[:half])
		for i := range half {
			_, _ = cut.Write(input[i : i+1])
		}
		whole.Resize(int(rows), int(cols))
		cut.Resize(int(rows), int(cols))
		_, _ = whole.Write(input[half:])
		for i := half; i < len(input); i++ {
			_, _ = cut.Write(input[i : i+1])
		}
		if !sameState(t, whole, cut) {
			t.Error("another state byte by byte")
		}
		inspect(t, whole)
		again, err := Restore(stateOf(t, whole))
		if err != nil {
			t.Fatal(err)
		}
		if !sameState(t, whole, again) {
			t.Error("another state when restored")
		}
	})
}

// TestV13_DefectsOfOthers plays what made other emulators fail. Counts are clamped: none may take more work than a
// screen has cells.
func TestV13_DefectsOfOthers(t *testing.T) {
	for _, in := range []string{
		"\x1b[1;29r\x1b[H\x1bM", "\x1b[5;9999r\x1b[99;1H\n\n", "\x1b[?69h\x1b[9999;99999s\x1b[5;3s", "\x1b[888888889b", "x\x1b[888888889b", "\x1b[888888889X",
		"\x1b[888888889I", "\x1b[888888889Z", "\x1b[888888889@", "\x1b[888888889P", "\x1b[888888889L", "\x1b[888888889M",
		"\x1b[888888889S", "\x1b[888888889T", "\x1b[2147483648I", "\x1b[99999999999999999999A", "\x1b[?45h\x1b[888888889D",
		"\x1b[99;99;99;99;99;99;99$v", "\x1b[65;0;0;99999;99999$x", "\x1b[;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;m",
		"\x1b[38;2m\x1b[38:2:m\x1b[48;5m\x1b[38m\x1b[4:99m", "\x1b[7;0t\x1b[8;9999;9999t", "\x1b]4;;;;?\x07\x1b]4;99999999999;?\x07",
		"\x1b[c\x1b[c\x1b[c", "\x1b]0;" + strings.Repeat("x", 200_000) + "\x07ok", "\x1bP" + strings.Repeat("y", 200_000) + "\x1b\\ok",
		"\x1b[999999999;999999999H\x1b[J", "\x1b[?1049l\x1b8\x1b[u", "\x1b#6\x1b[80G世x",
	} {
		for _, size := range [][2]int{{1, 1}, {3, 3}, {27, 27}, {80, 24}} {
			s := New(size[0], size[1])
			s.Answer(true)
			_, _ = s.Write([]byte(in))
			inspect(t, s)
		}
	}
	s := New(80, 24)
	_, _ = s.Write([]byte("\x1b]0;" + strings.Repeat("x", 200_000) + "\x07ok"))
	if show(s) != "ok" || s.Title() != "" {
		t.Errorf("a title too long: %q, %q", show(s), s.Title())
	}
}

func TestV2_PlainTextAllocatesNothing(t *testing.T) {
	s := New(120, 40)
	text := []byte(strings.Repeat("the quick brown fox \x1b[31mjumps\x1b[m over\r\n", 100))
	for range 30 { // the scrollback is full
		_, _ = s.Write(text)
	}
	if n := testing.AllocsPerRun(20, func() { _, _ = s.Write(text) }); n > 0 {
		t.Errorf("%v allocations for %d bytes", n, len(text))
	}
}

// heapOf is the memory that make leaves in use, in bytes.
func heapOf(t *testing.T, build func() any) (size uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := build()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	if after.HeapAlloc < before.HeapAlloc {
		return 0
	}
	return after.HeapAlloc - before.HeapAlloc
}

func filled(cols, rows, lines int) *Screen {
	s := New(cols, rows)
	for i := range lines {
		_, _ = fmt.Fprintf(s, "\x1b[32m%s\x1b[m\r\n", strings.Repeat(fmt.Sprint(i%10), cols-1))
	}
	return s
}

func TestV2_Memory(t *testing.T) {
	if n := heapOf(t, func() any { return filled(120, 40, 1100) }); n > 1_500_000 {
		t.Errorf("120x40 with a full scrollback takes %d bytes", n)
	}
	if n := heapOf(t, func() any { return New(200, 60) }); n > 2_500_000 {
		t.Errorf("a fresh 200x60 takes %d bytes", n)
	}
	s := filled(200, 60, 2000)
	if n := heapOf(t, func() any {
		for i := range 12_000 {
			_, _ = fmt.Fprintf(s, "\x1b[32m%s\x1b[m\r\n", strings.Repeat(fmt.Sprint(i%10), 199))
		}
		return s
	}); n > 64<<10 {
		t.Errorf("12,000 lines more add %d bytes", n)
	}
}

func TestV12_HistoryIsBoundedInBytes(t *testing.T) {
	s := New(400, 10)
	for i := range 800 {
		for c := range 100 {
			_, _ = fmt.Fprintf(s, "\x1b[38;2;%d;%d;1m█e\u0301", i%256, c)
		}
		_, _ = s.Write([]byte("\r\n"))
	}
	if s.history.size > historyBytes || s.history.n < 100 {
		t.Errorf("%d lines of %d bytes", s.history.n, s.history.size)
	}
	inspect(t, s)
}

// recordings are the larger inputs of the reference cases, as streams to measure with.
func recordings(tb testing.TB) []byte {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(need.Shared(tb, "corpora", "vt"), "cases", "alacritty-*.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var all []byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, caseInput(tb, data)...)
	}
	return all
}

func BenchmarkRecordings(b *testing.B) {
	all := recordings(b)
	b.SetBytes(int64(len(all)))
	b.ReportAllocs()
	for b.Loop() {
		s := New(172, 50)
		for at := 0; at < len(all); at += 16 << 10 {
			_, _ = s.Write(all[at:min(len(all), at+16<<10)])
		}
	}
}

func BenchmarkPage(b *testing.B) {
	s := New(200, 50)
	_, _ = s.Write(recordings(b))
	v := NewView(s, func(string) [][2]int { return nil })
	v.Refresh()
	i := 0
	for b.Loop() {
		i++
		_, _ = fmt.Fprintf(s, "\x1b[10;10H\x1b[32mstep %d\x1b[m of the work\x1b[20;1H\x1b[2K%d", i, i)
		after := v.Generation()
		v.Refresh()
		_ = v.Page(after)
	}
}
