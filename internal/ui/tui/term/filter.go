package term

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/gdamore/tcell/v3"
)

// Bounds of what the filter keeps, in bytes.
const (
	longestPaste    = 1 << 20
	longestSequence = 256
	chunk           = 4 << 10
)

// Where the filter is in the stream.
type place uint8

const (
	inGround place = iota
	inEscape       // behind ESC
	inCSI          // behind ESC [
	inString       // behind ESC ], P, X, ^ or _
	inPaste
)

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// A filter stands between the terminal and the library, which neither survives bytes that are not UTF-8 nor takes pasted
// text as one piece. It is one state machine over what is read, kept across reads:
//
//   - Bytes that are not UTF-8, and C1 controls, are dropped; a character that is cut between two reads waits for its rest.
//   - Pasted text is taken out and queued; the library gets its two marks, in their place among the keys.
//   - Answers to our own questions (string sequences, CSI ?) are reported and dropped, so that none of them is ever taken
//     for keys.
//
// A sequence that a read cuts is passed on as far as it goes, since a lone ESC is a key that must not wait.
type filter struct {
	tcell.Tty
	answers chan Answer // what the terminal answered; never blocks, an answer that nobody takes is dropped
	sizes   chan bool   // one slot: the terminal's size changed

	state sync.Mutex // over all down to err
	at    place
	seq   []byte // of the sequence that is open
	sent  int    // bytes of seq that were passed on
	char  []byte // begun character
	paste []byte
	cut   bool
	out   []byte
	err   error

	mu       sync.Mutex
	asked    int // fences sent
	answered int // fences that came back
	pastes   []pasted
}

type pasted struct {
	text string
	cut  bool
}

// An Answer is what the terminal said to a question of ours: the text of a string sequence, such as 11;rgb:0/0/0.
type Answer string

func newFilter(tty tcell.Tty) *filter {
	return &filter{Tty: tty, answers: make(chan Answer, 16), sizes: make(chan bool, 1)}
}

// NotifyResize keeps the news of a size for the screen's owner. The library would draw it in a goroutine of its own that it
// does not wait for, and so over a terminal that was given back in the meantime.
func (f *filter) NotifyResize(c chan<- bool) {
	if c != nil {
		c = f.sizes
	}
	f.Tty.NotifyResize(c)
}

// Read gives what is left for the library, which calls it from one goroutine at a time: another one after each
// suspension, to which the lock hands the state over.
func (f *filter) Read(p []byte) (int, error) {
	buf := make([]byte, chunk)
	for {
		if n, err, ok := f.ready(p); ok {
			return n, err
		}
		n, err := f.Tty.Read(buf)
		f.state.Lock()
		f.err = err
		f.feed(buf[:n])
		f.state.Unlock()
		if n == 0 && err == nil {
			return 0, nil // the terminal gives nothing at the moment
		}
	}
}

// ready gives what was read before, or the error that came with it.
func (f *filter) ready(p []byte) (n int, err error, ok bool) {
	f.state.Lock()
	defer f.state.Unlock()
	if len(f.out) == 0 {
		err, f.err = f.err, nil
		return 0, err, err != nil
	}
	n = copy(p, f.out)
	f.out = f.out[n:]
	return n, nil, true
}

// feed takes what was read.
func (f *filter) feed(data []byte) {
	for _, b := range data {
		f.take(b)
	}
	if f.at != inPaste && f.at != inString && len(f.seq) > f.sent {
		f.pass(f.seq[f.sent:]...)
		f.sent = len(f.seq)
	}
}

func (f *filter) pass(b ...byte) { f.out = append(f.out, b...) }

func (f *filter) take(b byte) {
	switch f.at {
	case inPaste:
		f.takePaste(b)
	case inEscape:
		f.takeEscape(b)
	case inCSI:
		f.takeCSI(b)
	case inString:
		f.takeString(b)
	case inGround:
		f.takeGround(b)
	}
}

// takeGround passes whole characters on.
func (f *filter) takeGround(b byte) {
	if b < 0x80 {
		f.char = f.char[:0] // what was begun will not be finished
		if b == 0x1b {
			f.begin(inEscape)
			return
		}
		f.pass(b)
		return
	}
	f.char = append(f.char, b)
	for len(f.char) > 0 && utf8.FullRune(f.char) {
		r, n := utf8.DecodeRune(f.char)
		if (r != utf8.RuneError || n > 1) && r > 0x9f {
			f.pass(f.char[:n]...)
		}
		f.char = append(f.char[:0], f.char[n:]...)
	}
}

func (f *filter) begin(at place) { f.at, f.seq, f.sent = at, append(f.seq[:0], 0x1b), 0 }

// end closes a sequence and passes on what is left of it.
func (f *filter) end(on bool) {
	if on {
		f.pass(f.seq[f.sent:]...)
	}
	f.at, f.seq, f.sent = inGround, f.seq[:0], 0
}

func (f *filter) takeEscape(b byte) {
	switch b {
	case '[':
		f.seq, f.at = append(f.seq, b), inCSI
	case ']', 'P', 'X', '^', '_':
		if f.expects() {
			f.seq, f.at = append(f.seq, b), inString
		} else {
			f.end(false) // nothing was asked: a key that is not bound, and would open a string in the library
		}
	case 0x1b:
		f.end(true)
		f.begin(inEscape)
	default:
		f.end(true)
		f.takeGround(b)
	}
}

func (f *filter) takeCSI(b byte) {
	if b < 0x20 || b > 0x7e || len(f.seq) > longestSequence {
		f.end(true)
		f.take(b)
		return
	}
	f.seq = append(f.seq, b)
	if b < 0x40 {
		return
	}
	switch {
	case string(f.seq) == pasteStart:
		f.end(true)
		f.at, f.paste, f.cut = inPaste, nil, false
	case len(f.seq) > 2 && f.seq[2] == '?' && b != 'M' && b != 'm':
		if b == 'c' {
			f.mu.Lock()
			f.answered = min(f.answered+1, f.asked)
			f.mu.Unlock()
			f.report("") // whoever waits for the fence looks again
		}
		f.end(false)
	default:
		f.end(true)
	}
}

// takeString takes an answer up to BEL or ST. Another control character ends it as well: it was no answer.
func (f *filter) takeString(b byte) {
	switch {
	case b == 0x07, b == '\\' && bytes.HasSuffix(f.seq, []byte{0x1b}) && len(f.seq) > 2:
		f.report(Answer(strings.TrimSuffix(string(f.seq[2:]), "\x1b")))
		f.end(false)
	case b == 0x1b:
		f.seq = append(f.seq, b)
	case b < 0x20 || len(f.seq) > longestSequence:
		f.end(false)
		f.take(b)
	default:
		f.seq = append(f.seq, b)
	}
}

func (f *filter) takePaste(b byte) {
	f.paste = append(f.paste, b)
	if bytes.HasSuffix(f.paste, []byte(pasteEnd)) {
		text := strings.ToValidUTF8(string(f.paste[:len(f.paste)-len(pasteEnd)]), "")
		if f.cut {
			text = ""
		}
		f.mu.Lock()
		f.pastes = append(f.pastes, pasted{text, f.cut})
		f.mu.Unlock()
		f.at, f.paste = inGround, nil
		f.pass([]byte(pasteEnd)...)
		return
	}
	if len(f.paste) > longestPaste { // only what the end mark may still need
		f.cut = true
		f.paste = append(f.paste[:0], f.paste[len(f.paste)-len(pasteEnd):]...)
	}
}

// popPaste is the text between the two marks that the library has just told of.
func (f *filter) popPaste() (pasted, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pastes) == 0 {
		return pasted{}, false
	}
	p := f.pastes[0]
	f.pastes = f.pastes[1:]
	return p, true
}

func (f *filter) report(a Answer) {
	select {
	case f.answers <- a:
	default:
	}
}

// expects reports whether a question is not yet answered.
func (f *filter) expects() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked > f.answered
}

// ask writes questions and a fence behind them, which every terminal answers.
func (f *filter) ask(questions string) error {
	f.mu.Lock()
	f.asked++
	f.mu.Unlock()
	_, err := f.Write([]byte(questions + "\x1b[c"))
	return err
}

// silent reports whether the terminal has never answered anything.
func (f *filter) silent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answered == 0
}
