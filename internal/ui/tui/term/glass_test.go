package term

import (
	"io"
	"strings"
	"sync"

	"github.com/gdamore/tcell/v3"

	"scv/internal/terminal/screen"
)

// A glass is a terminal in memory: what is written goes to our own emulator, which is the oracle of what is seen.
type glass struct {
	mu      sync.Mutex
	wake    *sync.Cond
	in      []byte
	drained bool
	cols    int
	rows    int
	see     *screen.Screen
	bytes   int
	writes  int
	resize  chan<- bool
	started int
	raw     strings.Builder
}

func newGlass(cols, rows int) *glass {
	g := &glass{cols: cols, rows: rows, see: screen.New(cols, rows)}
	g.wake = sync.NewCond(&g.mu)
	return g
}

func (g *glass) Start() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drained = false
	g.started++
	return nil
}

func (g *glass) Stop() error { return nil }

func (g *glass) Close() error { return nil }

func (g *glass) Drain() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drained = true
	g.wake.Broadcast()
	return nil
}

func (g *glass) NotifyResize(c chan<- bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.resize = c
}

func (g *glass) WindowSize() (tcell.WindowSize, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return tcell.WindowSize{Width: g.cols, Height: g.rows}, nil
}

func (g *glass) Read(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.in) == 0 && !g.drained {
		g.wake.Wait()
	}
	if g.drained {
		return 0, io.EOF
	}
	n := copy(p, g.in)
	g.in = g.in[n:]
	return n, nil
}

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bytes += len(p)
	g.writes++
	g.raw.Write(p)
	return g.see.Write(p)
}

func (g *glass) typed(s string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.in = append(g.in, s...)
	g.wake.Broadcast()
}

func (g *glass) sized(cols, rows int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cols, g.rows = cols, rows
	g.see.Resize(cols, rows)
	select {
	case g.resize <- true:
	default:
	}
}

// shows is what the terminal shows, and how much was written to it so far.
func (g *glass) shows() (text string, bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var b strings.Builder
	for y := range g.rows {
		b.WriteString(strings.TrimRight(g.see.Text(y), " ") + "\n")
	}
	return b.String(), g.bytes
}
