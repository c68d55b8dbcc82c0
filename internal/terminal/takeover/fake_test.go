package takeover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"scv/internal/safe/redact"
	"scv/internal/wire"
)

// fake is a shim whose program the test plays.
type fake struct {
	mu     sync.Mutex
	more   sync.Cond
	out    []byte
	first  uint64 // what came before is gone
	cut    int    // connections that were cut
	ended  bool
	kept   []byte
	at     uint64
	got    []string // what was typed and set, in order
	refuse error
	stuck  chan struct{} // typing waits until it is closed; nil: it does not
}

func newFake() *fake {
	f := &fake{}
	f.more.L = &f.mu
	return f
}

func (f *fake) say(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out = append(f.out, text...)
	f.more.Broadcast()
}

// end ends the program and with it all connections.
func (f *fake) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.more.Broadcast()
}

// lose cuts all connections and forgets what came before a position.
func (f *fake) lose(before uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first = before
	f.cut++
	f.more.Broadcast()
}

func (f *fake) Watch(_ context.Context, after uint64) (Output, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	to := uint64(len(f.out))
	if f.ended && after == to {
		return Output{}, ErrEnded
	}
	from := max(after, f.first)
	return Output{ReadCloser: &stream{f: f, at: from, cut: f.cut}, From: from, To: to, Screen: f.kept, At: f.at}, nil
}

type stream struct {
	f      *fake
	at     uint64
	cut    int
	closed bool
}

func (s *stream) Read(p []byte) (int, error) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	for s.at == uint64(len(s.f.out)) && !s.f.ended && !s.closed && s.cut == s.f.cut {
		s.f.more.Wait()
	}
	if s.closed || s.cut != s.f.cut || s.at == uint64(len(s.f.out)) {
		return 0, io.EOF
	}
	n := copy(p, s.f.out[s.at:])
	s.at += uint64(n)
	return n, nil
}

func (s *stream) Close() error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.closed = true
	s.f.more.Broadcast()
	return nil
}

func (f *fake) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, fmt.Sprintf(format, args...))
	return f.refuse
}

func (f *fake) Type(ctx context.Context, in Input) error {
	if f.stuck != nil {
		select {
		case <-f.stuck:
		case <-ctx.Done():
		}
	}
	if in.Typist != "" {
		return f.note("%s@%d:%q", in.Typist, in.From, in.Bytes)
	}
	return f.note("%q", in.Bytes)
}

func (f *fake) Resize(_ context.Context, cols, rows uint16) error {
	return f.note("%dx%d", cols, rows)
}

func (f *fake) Keep(_ context.Context, at uint64, screen []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept, f.at = screen, at
	return nil
}

func (f *fake) heard() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	got := strings.Join(f.got, " ")
	f.got = nil
	return got
}

// serve runs a terminal over the fake in the bubble of a test.
func serve(t *testing.T, f *fake, change ...func(*Options)) (term *Terminal, stop func()) {
	t.Helper()
	holds := 0
	o := Options{
		Shim: f, Mask: redact.New().Find, Fresh: true, Cols: 40, Rows: 6,
		NewHold: func() wire.HoldID { holds++; return wire.HoldID(fmt.Sprintf("hold-%d", holds)) },
		About:   wire.AttachPage{Agent: "demo", Session: "s", Conversation: "demo-1"},
	}
	for _, c := range change {
		c(&o)
	}
	term = New(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		term.Run(ctx)
	}()
	synctest.Wait()
	return term, func() { cancel(); <-done }
}

func adopted(o *Options) { o.Fresh = false }

// rows are the texts of a page, one for each line of it.
func rows(p wire.AttachPage) string {
	var out []string
	for _, l := range p.Lines {
		var text strings.Builder
		for _, s := range l.Spans {
			text.WriteString(s.Text)
		}
		out = append(out, fmt.Sprintf("%d:%s", l.Row, strings.TrimRight(text.String(), " ")))
	}
	return strings.Join(out, "|")
}

func reasonOf(err error) wire.Reason {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e.Reason
	}
	return ""
}

func attach(t *testing.T, term *Terminal) wire.AttachPage {
	t.Helper()
	page, err := term.Attach(0, 0)
	if err != nil || !page.Full || page.ID == "" {
		t.Fatalf("page %+v, %v", page, err)
	}
	return page
}
