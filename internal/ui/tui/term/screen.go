// Package term is the dashboard's one contact with a terminal: keys come in as messages, frames go out as the cells that
// differ. It knows the terminal library and nothing of jobs. Nothing is written while nothing changes.
//
// A Screen belongs to one goroutine, but for Abandon, which is for a terminal that takes nothing any more.
package term

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/encoding"
	"github.com/gdamore/tcell/v3"
	"golang.org/x/term"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/model"
)

// Bounds of waiting for a terminal's answers before it is given back.
const (
	fencePatience    = 300 * time.Millisecond
	fencePatienceSSH = time.Second
)

// ErrNoTerminal says that there is no terminal to draw on.
var ErrNoTerminal = errors.New("there is no terminal to draw on")

// A Screen is the terminal while the dashboard has it.
type Screen struct {
	s       tcell.Screen
	tty     *filter
	far     bool // over ssh
	theme   *theme
	status  *status
	last    canvas.Frame
	whole   bool // last is not what the terminal shows
	away    bool // suspended
	closed  bool
	asked   time.Time
	pasting bool
	held    tcell.ButtonMask // of the mouse, as told last
	restore func()
}

// Open takes the process's terminal. env reads one variable of the environment.
func Open(env func(string) string) (*Screen, error) {
	base, err := tcell.NewDevTty()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	restore := func() {}
	if f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		if state, err := term.GetState(int(f.Fd())); err == nil {
			restore = func() { _ = term.Restore(int(f.Fd()), state) }
		}
	}
	s, err := open(base, env)
	if err != nil {
		return nil, err
	}
	s.restore = restore
	return s, nil
}

// open takes any terminal.
func open(base tcell.Tty, env func(string) string) (*Screen, error) {
	// Text is UTF-8 whatever the locale says: LANG=C would turn every other character into a question mark.
	for _, charset := range []string{"US-ASCII", "ISO8859-1", "GBK", "GB18030"} {
		tcell.RegisterEncoding(charset, encoding.UTF8)
	}
	s := &Screen{tty: newFilter(base), far: env("SSH_CONNECTION") != "" || env("SSH_TTY") != "", whole: true, restore: func() {}, status: newStatus(env)}
	wait := 50 * time.Millisecond
	if s.far {
		wait = 100 * time.Millisecond
	}
	screen, err := tcell.NewTerminfoScreenFromTty(s.tty, tcell.OptNegotiation(false), tcell.OptSanitizeContent(true), tcell.OptEscapeTimeout(wait))
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	s.s = screen
	s.s.EnablePaste()
	s.theme = newTheme(unknownGround, s.s.Colors())
	return s, nil
}

// Size is the terminal's size, in cells.
func (s *Screen) Size() (cols, rows int) { return s.s.Size() }

// Events gives what happens at the terminal; Take reads it. It is closed by Close.
func (s *Screen) Events() <-chan tcell.Event { return s.s.EventQ() }

// Sizes says that the terminal's size changed; Measure takes it.
func (s *Screen) Sizes() <-chan bool { return s.tty.sizes }

// Measure takes the terminal's size as it is now. Where it is another one, an event tells it.
func (s *Screen) Measure() {
	if !s.away && !s.closed {
		s.s.Show()
	}
}

// Answers gives what the terminal answers to Ask; Learn reads it.
func (s *Screen) Answers() <-chan Answer { return s.tty.answers }

// Ask asks the terminal for its background and whether it takes program status, once, after the first frame: whether it answers, late or never, no frame waits.
func (s *Screen) Ask(now time.Time) error {
	if !s.asked.IsZero() {
		return nil
	}
	s.asked = now
	return s.tty.ask("\x1b]11;?\x1b\\" + askProgram)
}

// Learn takes an answer, and reports whether everything is to be drawn anew.
func (s *Screen) Learn(a Answer) bool {
	s.status.learn(a)
	s.tell(s.status.to(s.last.State))
	g := groundOf(a)
	if g == unknownGround || s.s.Colors() < 256 {
		return false
	}
	s.theme, s.whole = newTheme(g, s.s.Colors()), true
	return true
}

// Draw shows a frame: the rows that differ from the last one, and nothing when none does. It reports whether anything was
// written.
func (s *Screen) Draw(f canvas.Frame) bool {
	if s.away || s.closed || !s.whole && f.Equal(&s.last) {
		return false
	}
	cols, rows := s.s.Size()
	for y := range min(rows, len(f.Rows)) {
		var shown canvas.Row // of the row, and known to stand there
		if !s.whole && y < len(s.last.Rows) {
			shown = s.last.Rows[y]
		}
		if shown == nil || !slices.Equal(f.Rows[y], shown) {
			s.put(y, f.Rows[y], shown, cols)
		}
	}
	if f.Typing {
		s.s.ShowCursor(f.Cursor.Col, f.Cursor.Row)
	} else {
		s.s.HideCursor()
	}
	if f.Title != s.last.Title {
		s.s.SetTitle(f.Title)
	}
	s.s.Show()
	s.tell(s.status.to(f.State))
	s.last, s.whole = f, false
	return true
}

// tell writes to the terminal beside the cells; one that is gone is seen at the next read.
func (s *Screen) tell(sequence string) {
	if sequence != "" {
		_, _ = s.tty.Write([]byte(sequence))
	}
}

// put writes a row, blank to the end, but for the spans that stand where they stood.
func (s *Screen) put(y int, row, shown canvas.Row, cols int) {
	x, was := 0, 0
	for i, span := range row {
		if i < len(shown) {
			width := plain.Width(shown[i].Text)
			if x == was && span == shown[i] {
				x, was = x+width, was+width
				continue
			}
			was += width
		}
		style := s.theme[span.Role][0]
		switch {
		case span.Chosen:
			style = s.theme[span.Role][1]
		case span.Look != canvas.Look{}:
			style = styled(span.Look, s.s.Colors())
		}
		s.s.PutStrStyled(x, y, span.Text, style) // which cleans a text once, and not once for each of its characters
		x += plain.Width(span.Text)
	}
	for ; x < cols; x++ {
		s.s.Put(x, y, " ", s.theme[canvas.Body][0])
	}
}

// Redraw draws everything anew, for a terminal on which something else was written.
func (s *Screen) Redraw() {
	if !s.away && !s.closed {
		s.s.Sync()
	}
}

// Resized makes the next frame a whole one.
func (s *Screen) Resized() { s.whole = true }

// Mouse takes the mouse, without or with its moves, or leaves it to the terminal, whose own selection works then.
func (s *Screen) Mouse(how model.Do) {
	switch how {
	case model.MouseOn:
		s.s.EnableMouse(tcell.MouseButtonEvents)
	case model.MouseAll:
		s.s.EnableMouse(tcell.MouseMotionEvents)
	default:
		s.s.DisableMouse()
	}
}

// Focus has the terminal tell of its window's focus, or no more.
func (s *Screen) Focus(on bool) {
	if on {
		s.s.EnableFocus()
	} else {
		s.s.DisableFocus()
	}
}

// Copy hands a text to the terminal's clipboard (OSC 52). A terminal does not tell whether it took it.
func (s *Screen) Copy(text string) { s.s.SetClipboard([]byte(text)) }

// Suspend gives the terminal back until Resume.
func (s *Screen) Suspend(now time.Time) error {
	if s.away || s.closed {
		return nil
	}
	s.tell(s.status.clear())
	s.fence(now)
	s.away = true
	return s.s.Suspend()
}

// Resume takes the terminal again; the next frame is a whole one.
func (s *Screen) Resume() error {
	if !s.away || s.closed {
		return nil
	}
	s.away, s.whole = false, true
	return s.s.Resume()
}

// Close gives the terminal back as it was. Calling it again does nothing.
func (s *Screen) Close(now time.Time) {
	if s.closed {
		return
	}
	if !s.away {
		s.tell(s.status.clear())
		s.fence(now)
	}
	s.closed = true
	s.s.Fini()
}

// Abandon gives the terminal's modes back without writing to it, for one that takes nothing any more. It may be called from
// any goroutine, right before the end of the process.
func (s *Screen) Abandon() { s.restore() }

// fence waits for answers that are on their way, so that none of them reaches the shell as if it were typed. A terminal
// that never answered anything and was asked long ago will not.
func (s *Screen) fence(now time.Time) {
	if s.asked.IsZero() || s.tty.silent() && now.Sub(s.asked) > time.Second {
		return
	}
	patience := fencePatience
	if s.far {
		patience = fencePatienceSSH
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for s.tty.expects() {
		select {
		case <-s.tty.answers:
		case <-s.s.EventQ(): // typed meanwhile: dropped, as what is typed at a program that ends
		case <-timer.C:
			return
		}
	}
}

// Usable says why a terminal of this name cannot show the dashboard; empty when it can.
func Usable(name string) string {
	switch {
	case name == "":
		return "the terminal has no name (TERM is not set)"
	case name == "dumb" || strings.HasPrefix(name, "dumb-"):
		return "this terminal cannot place text (TERM=" + name + ")"
	}
	return ""
}

// ErrGone says that the terminal went away under the dashboard.
var ErrGone = errors.New("the terminal went away")

// Gone reports whether an event says that nothing will come from the terminal any more.
func Gone(event tcell.Event) bool {
	_, bad := event.(*tcell.EventError)
	return bad
}
