package term

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func opened(t *testing.T, cols, rows int) (*Screen, *glass) {
	t.Helper()
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("NO_COLOR", "")
	t.Setenv("COLORTERM", "")
	g := newGlass(cols, rows)
	s, err := open(g, env())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(time.Unix(100, 0)) })
	return s, g
}

func frame(cols int, lines ...string) canvas.Frame {
	f := canvas.Frame{}
	for _, l := range lines {
		f.Rows = append(f.Rows, canvas.Fit(canvas.Row{canvas.Text(l)}, cols-1))
	}
	return f
}

func want(t *testing.T, g *glass, lines ...string) {
	t.Helper()
	text, _ := g.shows()
	if got := strings.TrimRight(text, "\n"); got != strings.Join(lines, "\n") {
		t.Errorf("the terminal shows\n%s\nwant\n%s", got, strings.Join(lines, "\n"))
	}
}

func TestE2_NothingIsWrittenWhenNothingChanges(t *testing.T) {
	s, g := opened(t, 40, 5)
	if !s.Draw(frame(40, "one", "two 你好", "three")) {
		t.Fatal("the first frame was not drawn")
	}
	want(t, g, "one", "two 你好", "three")
	_, before := g.shows()
	for range 100 {
		if s.Draw(frame(40, "one", "two 你好", "three")) {
			t.Fatal("the same frame was drawn")
		}
	}
	if _, after := g.shows(); after != before {
		t.Errorf("%d bytes were written for nothing", after-before)
	}
	s.Draw(frame(40, "one", "two 你好!", "three"))
	if _, after := g.shows(); after-before > 120 {
		t.Errorf("one cell took %d bytes", after-before)
	}
	want(t, g, "one", "two 你好!", "three")
}

func TestE6_ColumnsStand(t *testing.T) {
	s, g := opened(t, 60, 8)
	texts := []string{"plain", "中文字符", "👩‍👩‍👧 family", "e\u0301 combining", "العربية", "1\ufe0f\u20e3 keycap", "ａｂ full"}
	f := canvas.Frame{}
	for _, text := range texts {
		f.Rows = append(f.Rows, canvas.Fit(canvas.Row{canvas.Cell(canvas.Body, text, 20), canvas.Text("|end")}, 59))
	}
	s.Draw(f)
	for y := range texts {
		row := cells(g.see.Text(y))
		if at := strings.Index(row, "|end"); at != 20 {
			t.Errorf("%q: the next column begins at %d: %q", texts[y], at, row)
		}
	}
	// What was wide leaves nothing behind.
	blank := frame(60, "", "", "", "", "", "", "", "")
	s.Draw(blank)
	want(t, g)
}

// cells is a row with one byte a cell, where the cells of what is no ASCII are dots.
func cells(row string) string {
	var b strings.Builder
	for _, r := range canvas.Wrap(nil, canvas.Body, row, 1000) {
		text := r.String()
		for text != "" {
			r := []rune(text)[0]
			if r < 0x80 {
				b.WriteByte(byte(r))
				text = text[1:]
				continue
			}
			i := strings.IndexFunc(text, func(r rune) bool { return r < 0x80 })
			if i < 0 {
				i = len(text)
			}
			b.WriteString(strings.Repeat(".", (canvas.Row{{Text: text[:i]}}).Width()))
			text = text[i:]
		}
	}
	return b.String()
}

func TestCursorIsWhereTextIsTyped(t *testing.T) {
	s, g := opened(t, 40, 5)
	f := frame(40, "one", "two", "> 你好")
	f.Cursor, f.Typing = canvas.Point{Row: 2, Col: 6}, true
	s.Draw(f)
	if row, col := g.see.Cursor(); row != 2 || col != 6 {
		t.Errorf("the cursor is at %d %d", row, col)
	}
}

func TestE5_FiftySizesInABurst(t *testing.T) {
	s, g := opened(t, 80, 24)
	draw := func(cols, rows int) {
		var lines []string
		for n := range rows {
			lines = append(lines, fmt.Sprintf("%dx%d line %d 你好", cols, rows, n))
		}
		s.Draw(frame(cols, lines...))
	}
	draw(80, 24)
	for n := range 50 {
		g.sized(20+n*7%150, 5+n*5%40)
	}
	g.sized(50, 6)
	for cols, rows := 0, 0; cols != 50 || rows != 6; {
		select {
		case <-s.Sizes():
			s.Measure()
		case event := <-s.Events():
			if msg, ok := s.Take(event); ok {
				r := msg.(model.Resized)
				cols, rows = r.Cols, r.Rows
				draw(cols, rows)
			}
		}
	}
	var lines []string
	for n := range 6 {
		lines = append(lines, fmt.Sprintf("50x6 line %d 你好", n))
	}
	want(t, g, lines...)
}

// A terminal that is given back stays as it is: its shell may be at work there.
func TestE5_ASizeRightBeforeTheEndDrawsNothing(t *testing.T) {
	s, g := opened(t, 80, 24)
	s.Draw(frame(80, "here"))
	for n := range 20 {
		g.sized(40+n, 10+n)
		if err := s.Suspend(time.Unix(200, 0)); err != nil {
			t.Fatal(err)
		}
		_, before := g.shows()
		s.Measure()
		if _, after := g.shows(); after != before {
			t.Fatalf("%d bytes were drawn on a terminal that was given back", after-before)
		}
		if err := s.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	g.sized(30, 7)
	s.Close(time.Unix(300, 0))
	_, before := g.shows()
	s.Measure()
	if _, after := g.shows(); after != before {
		t.Errorf("%d bytes were drawn behind the end", after-before)
	}
}

func TestE1_ASilentTerminalIsDrawnOnAtOnce(t *testing.T) {
	s, g := opened(t, 40, 5)
	s.Draw(frame(40, "here")) // nothing was asked, so nothing is waited for
	want(t, g, "here")
	if !s.asked.IsZero() || s.tty.expects() {
		t.Error("a question was asked before the first frame")
	}
}

func TestE8_BackgroundChoosesTheShades(t *testing.T) {
	s, g := opened(t, 40, 5)
	s.Draw(frame(40, "here"))
	if err := s.Ask(time.Unix(100, 0)); err != nil {
		t.Fatal(err)
	}
	g.typed("\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c")
	if !s.Learn(<-s.Answers()) {
		t.Fatal("a light background was not learnt")
	}
	if got, want := s.theme[canvas.Fail][0], newTheme(lightGround, 256)[canvas.Fail][0]; got != want {
		t.Errorf("style %v, want %v", got, want)
	}
	if !s.Draw(frame(40, "here")) {
		t.Error("the screen is not drawn anew in its shades")
	}
	want(t, g, "here")
}

func TestPasteIsOneMessage(t *testing.T) {
	s, g := opened(t, 40, 5)
	g.typed("a\x1b[200~y\nn\x1b[A\x1b[201~b")
	var got []model.Msg
	for len(got) < 3 {
		if msg, ok := s.Take(<-s.Events()); ok {
			if _, size := msg.(model.Resized); !size {
				got = append(got, msg)
			}
		}
	}
	if want := []model.Msg{model.Key{Name: "a", Text: "a"}, model.Pasted{Text: "y\nn\x1b[A"}, model.Key{Name: "b", Text: "b"}}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
}

func TestKeysHaveTheNamesOfTheTable(t *testing.T) {
	s, g := opened(t, 40, 5)
	for in, want := range map[string]model.Key{
		"j": {Name: "j", Text: "j"}, "A": {Name: "A", Text: "A"}, " ": {Name: "space", Text: " "}, "你": {Name: "你", Text: "你"},
		"\r": {Name: "enter"}, "\t": {Name: "tab"}, "\x1b[Z": {Name: "shift-tab"}, "\x7f": {Name: "backspace"}, "\n": {Name: "ctrl-j"},
		"\x0c": {Name: "ctrl-l"}, "\x1a": {Name: "ctrl-z"}, "\x03": {Name: "ctrl-c"}, "\x1b[A": {Name: "up"}, "\x1b[B": {Name: "down"},
		"\x1b[5~": {Name: "pgup"}, "\x1b[6~": {Name: "pgdn"}, "\x1b[H": {Name: "home"}, "\x1b[F": {Name: "end"}, "\x1b[3~": {Name: "delete"},
		"\x1b\r": {Name: "alt-enter"}, "\x0f": {Name: "ctrl-o"}, "\x13": {Name: "ctrl-s"}, "\x1b": {Name: "esc"},
	} {
		g.typed(in)
		for {
			if msg, ok := s.Take(<-s.Events()); ok {
				if _, size := msg.(model.Resized); size {
					continue
				}
				if msg != want {
					t.Errorf("%q is %+v, want %+v", in, msg, want)
				}
				break
			}
		}
	}
}

func TestSuspendAndResumeDrawEverything(t *testing.T) {
	s, g := opened(t, 40, 4)
	s.Draw(frame(40, "one", "two"))
	if err := s.Suspend(time.Unix(200, 0)); err != nil {
		t.Fatal(err)
	}
	if s.Draw(frame(40, "never", "seen")) {
		t.Error("something was drawn while the terminal was given back")
	}
	if _, err := g.Write([]byte("\x1b[Hwhat a shell wrote\x1b[2;1Hand more of it")); err != nil {
		t.Fatal(err)
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	s.Draw(frame(40, "one", "two"))
	want(t, g, "one", "two")
}

func TestT35_ControlCharactersReachNoTerminal(t *testing.T) {
	s, g := opened(t, 60, 3)
	hostile := "x\x1b]0;evil\x07\x1b[2J\x1b]52;c;aGk=\x07\u009b31my"
	f := canvas.Frame{Rows: []canvas.Row{canvas.Fit(canvas.Row{{Text: hostile}, canvas.Text(hostile)}, 59)}, Title: "fine"}
	s.Draw(f)
	want(t, g, "xyxy")
	if g.see.Title() != "fine" {
		t.Errorf("the title is %q", g.see.Title())
	}
}

func TestUsable(t *testing.T) {
	for name, ok := range map[string]bool{"": false, "dumb": false, "xterm": true, "linux": true, "screen.xterm-256color": true} {
		if got := Usable(name); (got == "") != ok {
			t.Errorf("%q: %q", name, got)
		}
	}
}
