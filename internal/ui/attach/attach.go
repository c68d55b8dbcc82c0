// Package attach shows an agent's terminal in the owner's: it draws the daemon's pages, sends what is typed, and gives the
// owner's terminal back as it was, whatever ends it. It knows wire and client.
package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"scv/internal/client"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// Options are what Run needs.
type Options struct {
	Target   client.Target
	What     client.Attachment // Size, Show and Told are Run's own
	Name     string            // of what is shown, for the last line
	Detach   Key               // lets go
	ReadOnly bool              // nothing is sent
	In       *os.File          // both are terminals
	Out      *os.File
}

// A Key is a control character that lets go of a terminal.
type Key byte

// DefaultKey is ctrl-].
const DefaultKey Key = 0x1d

// ParseKey reads a key's name, such as ctrl-] or ctrl-a.
func ParseKey(name string) (Key, error) {
	rest, ok := strings.CutPrefix(strings.ToLower(name), "ctrl-")
	if !ok || len(rest) != 1 || rest[0] < '@' || rest[0] > '~' {
		return 0, fmt.Errorf("%q is no such key; name one like ctrl-] or ctrl-a", name)
	}
	k := Key(rest[0] & 0x1f)
	switch k {
	case 0x0d, 0x1b, 0x09, 0x0a:
		return 0, fmt.Errorf("%s is Enter, Escape or Tab, which the agent needs", name)
	}
	return k, nil
}

// String is the key's name.
func (k Key) String() string { return "ctrl-" + strings.ToLower(string(rune(k|0x40))) }

// Ended is how a terminal that was shown came to its end.
type Ended struct {
	Detached bool     // the owner let go
	Note     string   // what was told after that, which he has not seen
	Exit     string   // how its program ended
	Last     []string // the last lines that it showed
}

// errDetached ends what is followed when the owner lets go.
var errDetached = errors.New("the owner let go")

// Run shows the terminal until it is over, the owner lets go, or ctx ends. The owner's terminal is then as it was.
func Run(ctx context.Context, o Options) (end Ended, err error) {
	t, err := openTTY(o.In, o.Out)
	if err != nil {
		return end, err
	}
	defer t.restore()
	ctx, cancel := context.WithCancelCause(ctx)
	s := &showing{o: o, tty: t, input: make(chan string, 64), resized: make(chan struct{}, 1), turned: make(chan int, 16), left: make(chan struct{})}
	s.paint = newPainter(t.size())
	s.paint.pass = !o.ReadOnly
	s.paint.status = s.hint()
	defer s.wg.Wait()
	defer cancel(nil)
	s.begin = sync.OnceValue(func() error { return s.start(ctx, cancel) })
	o.What.Size, o.What.Show, o.What.Told = s.size, s.show, s.tell
	o.Target.Lost = func(error) error { s.lost(); return nil }
	err = client.Attach(ctx, o.Target, o.What)
	select {
	case <-s.left: // whether the daemon or we came first with it
		s.mu.Lock()
		defer s.mu.Unlock()
		return Ended{Detached: true, Note: s.unseen}, nil
	default:
	}
	return s.ended(), err
}

// start takes the owner's terminal, once there is something to show, and begins to read it.
func (s *showing) start(ctx context.Context, cancel context.CancelCauseFunc) error {
	if err := s.tty.enter(); err != nil {
		return err
	}
	go s.guard(func() { s.read(ctx, cancel) }) // ends with the program: a read of the keyboard cannot be ended
	s.wg.Go(func() { s.guard(func() { s.window(ctx) }) })
	s.wg.Go(func() { s.guard(func() { s.turn(ctx) }) })
	if !s.o.ReadOnly {
		s.wg.Go(func() { s.guard(func() { s.send(ctx, cancel) }) })
	}
	return nil
}

// showing is a terminal that is shown. Its lock guards what is drawn.
type showing struct {
	o       Options
	tty     *tty
	begin   func() error
	wg      sync.WaitGroup
	input   chan string   // what was typed
	resized chan struct{} // one slot: the window has another size
	turned  chan int      // pages up or down; 0: the live screen
	left    chan struct{} // closed when the owner has let go

	mu      sync.Mutex
	paint   *painter
	last    wire.AttachPage
	back    int    // lines that are scrolled up; 0: the live screen shows
	note    string // for the last line
	unseen  string // what was told when the owner had let go
	away    bool   // the daemon is
	entered bool
}

// guard gives the terminal back before a fault of ours ends the program.
func (s *showing) guard(run func()) {
	defer func() {
		if fault := recover(); fault != nil {
			s.tty.restore()
			panic(fault)
		}
	}()
	run()
}

// hint is the last line. Callers hold the lock, but for the first one.
func (s *showing) hint() string {
	text := s.o.Name + "  " + s.o.Detach.String() + " lets go"
	if s.o.ReadOnly {
		text = s.o.Name + " (you only look)  " + s.o.Detach.String() + " leaves"
	}
	switch {
	case s.back > 0:
		text += fmt.Sprintf("  %d of %d lines up, any key returns", s.back, s.last.History)
	case s.away:
		text += "  the daemon is away; the agent goes on"
	case s.note != "":
		text += "  " + s.note
	case s.last.History > 0:
		text += "  alt-PageUp shows what is above"
	}
	return text
}

func (s *showing) size() (cols, rows uint16) {
	c, r := s.tty.size()
	return uint16(c), uint16(max(r-1, 1))
}

// show draws a page.
func (s *showing) show(page wire.AttachPage) error {
	if err := s.begin(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entered, s.away = true, false
	if page.Note != nil {
		s.note = plain.Line(*page.Note)
	}
	s.last = page
	s.last.Lines = nil
	s.paint.status = s.hint()
	return s.tty.write(s.paint.take(page))
}

// lost says that the daemon is away, until the next page; it is called at each try to reach it. What is told meanwhile, such
// as that something typed may be lost, is seen when it is back.
func (s *showing) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.away {
		s.away, s.note = true, ""
	}
	s.say()
}

func (s *showing) tell(note string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note = plain.Line(note)
	select {
	case <-s.left:
		s.unseen = s.note
	default:
	}
	s.say()
}

// say draws the last line alone. Callers hold the lock.
func (s *showing) say() {
	if s.paint.status = s.hint(); s.entered {
		_ = s.tty.write(s.paint.say(s.paint.status)) // the next page tells of a terminal that is gone
	}
}

// lastLines is how many lines of a last screen are given back.
const lastLines = 10

func (s *showing) ended() (end Ended) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.Exit != nil {
		end.Exit = plain.Line(*s.last.Exit)
	}
	for r := range s.last.Rows {
		line := ""
		for _, span := range s.paint.screen[r] {
			line += plain.Line(span.Text)
		}
		if line = strings.TrimRight(line, " "); line != "" {
			end.Last = append(end.Last, line)
		}
	}
	end.Last = end.Last[max(0, len(end.Last)-lastLines):]
	return end
}

// read reads the keyboard until it ends or the owner lets go.
func (s *showing) read(ctx context.Context, cancel context.CancelCauseFunc) {
	typist := typist{detach: byte(s.o.Detach)}
	var asked question
	buf := make([]byte, 16<<10)
	for ctx.Err() == nil {
		n, err := s.o.In.Read(buf)
		pieces, letGo := typist.take(buf[:n])
		for _, p := range pieces {
			if p = s.sifted(p); p.text == "" && !p.paste || s.o.ReadOnly || !s.sure(&asked, p) {
				continue
			}
			if !s.enter(ctx, asked.take(p).toSend(s.bracketed())) {
				return
			}
		}
		switch {
		case letGo, err != nil: // a keyboard that is gone: the agent goes on
			close(s.left)
			if s.o.ReadOnly {
				cancel(errDetached)
			}
			return
		}
	}
}

// sifted takes what is meant for us out of keys: pages that are turned. Any other key shows the live screen.
func (s *showing) sifted(p piece) piece {
	turn := 0
	if !p.paste {
		p.text, turn = sift(p.text, s.wants())
	}
	s.mu.Lock()
	back := s.back
	s.mu.Unlock()
	if turn != 0 || back > 0 && p.text != "" {
		select {
		case s.turned <- turn:
		default: // sixteen wait already, for a daemon that does not answer: the keyboard goes on
		}
	}
	return p
}

func (s *showing) wants() wants {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := wants{mouse: s.last.Mouse, encoding: s.last.MouseEncoding, rows: s.paint.rows - 1, cols: s.paint.cols, pages: s.last.History > 0 || s.back > 0}
	if s.back > 0 {
		w.mouse = 0 // what it would point at is not there
	}
	return w
}

// A question is whether a paste of several lines is meant, to an agent that would take each for an answer.
type question struct {
	open  bool
	about piece
}

// take is what is sent: what was asked about, or the piece itself.
func (q *question) take(p piece) piece {
	if q.open {
		q.open = false
		return q.about
	}
	return p
}

// sure reports whether a piece is to be sent, and asks where that is not certain. The answer is the next key.
func (s *showing) sure(q *question, p piece) bool {
	switch {
	case q.open:
		s.tell("")
		if p.text == "y" && !p.paste {
			return true
		}
		q.open = false
		return false
	case p.paste && p.lines() > 0 && !s.bracketed():
		q.open, q.about = true, p
		s.tell(fmt.Sprintf("you pasted %d lines, and each would be entered: y sends them, any other key does not", p.lines()+1))
		return false
	}
	return true
}

func (s *showing) bracketed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.BracketedPaste
}

// enter hands text to be sent on, in parts that one message takes; false when nothing is sent any more.
func (s *showing) enter(ctx context.Context, text string) bool {
	for len(text) > 0 {
		n := client.Boundary(text, wire.MaxInputBytes/2)
		select {
		case s.input <- text[:n]:
		case <-ctx.Done():
			return false
		}
		text = text[n:]
	}
	return true
}

// window follows the size of the owner's window. Only who types sets the size of the agent's terminal.
func (s *showing) window(ctx context.Context) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	defer signal.Stop(changed)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		s.mu.Lock()
		_ = s.tty.write(s.paint.resize(s.tty.size())) // the next page tells of a terminal that is gone
		s.mu.Unlock()
		select {
		case s.resized <- struct{}{}:
		default:
		}
	}
}
