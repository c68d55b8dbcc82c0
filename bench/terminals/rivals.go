//go:build ignore

package main

import (
	"fmt"
	"io"
	"strings"

	headlessterm "github.com/danielgatis/go-headless-term"
	tcell "github.com/gdamore/tcell/v3/vt"
	"github.com/hinshun/vt10x"
	"github.com/tonistiigi/vt100"

	oldvt10x "github.com/ActiveState/vt10x"
	xvt "github.com/charmbracelet/x/vt"

	"scv/internal/terminal/screen"
)

// An emulator is a terminal to compare. Rows are without trailing blanks; the cursor counts from 0 and is in the last
// column while a wrap is pending.
type emulator interface {
	io.Writer
	Resize(cols, rows int)
	Show() shown
}

type shown struct {
	Rows     []string
	Row, Col int
}

// A rival is how an emulator is named and made.
type rival struct {
	name      string
	make      func(cols, rows int) (emulator, error)
	elsewhere bool // in another process: it is fed whole, and its speed is not measured
}

const ours = "SCV"

func rivals() []rival {
	pure := func(name string, build func(cols, rows int) emulator) rival {
		return rival{name: name, make: func(cols, rows int) (emulator, error) { return build(cols, rows), nil }}
	}
	return []rival{
		pure(ours, func(cols, rows int) emulator { return &own{screen.New(cols, rows)} }),
		pure("charmbracelet/x/vt v0.1.0", newCharm),
		pure("danielgatis/go-headless-term v1.0.9", func(cols, rows int) emulator {
			return &headless{headlessterm.New(headlessterm.WithSize(rows, cols))}
		}),
		pure("gdamore/tcell/v3/vt v3.6.0", newTcell),
		pure("hinshun/vt10x 2022-03-01", func(cols, rows int) emulator {
			return &hinshun{vt10x.New(vt10x.WithSize(cols, rows), vt10x.WithWriter(io.Discard))}
		}),
		{name: "ActiveState/vt10x v1.3.1", make: newActive},
		pure("tonistiigi/vt100 2024-05-14", func(cols, rows int) emulator { return &toy{vt100.NewVT100(rows, cols)} }),
	}
}

// gather reads rows from a function that gives the text of a cell: "" for the right half of a wide character.
func gather(cols, rows int, cell func(row, col int) string) []string {
	out := make([]string, rows)
	for r := range out {
		var b strings.Builder
		for c := range cols {
			b.WriteString(cell(r, c))
		}
		out[r] = strings.TrimRight(b.String(), " ")
	}
	return out
}

// printable is a rune as a cell's text, a blank for none.
func printable(r rune) string {
	if r == 0 {
		return " "
	}
	return string(r)
}

type own struct{ *screen.Screen }

func (o *own) Show() shown {
	var s shown
	_, rows := o.Size()
	for r := range rows {
		s.Rows = append(s.Rows, strings.TrimRight(o.Text(r), " "))
	}
	s.Row, s.Col = o.Cursor()
	return s
}

type charm struct{ *xvt.Emulator }

func newCharm(cols, rows int) emulator {
	e := xvt.NewEmulator(cols, rows)
	go func() { _, _ = io.Copy(io.Discard, e) }() // its answers; Write waits for them to be read
	return &charm{e}
}

func (c *charm) Show() shown {
	p := c.CursorPosition()
	return shown{gather(c.Width(), c.Height(), func(row, col int) string {
		cell := c.CellAt(col, row)
		switch {
		case cell == nil:
			return " "
		case cell.Width == 0:
			return ""
		case cell.Content == "":
			return " "
		}
		return cell.Content
	}), p.Y, p.X}
}

type headless struct{ *headlessterm.Terminal }

func (h *headless) Resize(cols, rows int) { h.Terminal.Resize(rows, cols) }

func (h *headless) Show() shown {
	s := shown{Rows: gather(h.Cols(), h.Rows(), func(row, col int) string {
		cell := h.Cell(row, col)
		switch {
		case cell == nil:
			return " "
		case cell.IsWideSpacer():
			return ""
		}
		return printable(cell.Char)
	})}
	s.Row, s.Col = h.CursorPos()
	s.Col = min(s.Col, h.Cols()-1)
	return s
}

type tcellTerm struct {
	tcell.MockTerm
	cols, rows int
}

func newTcell(cols, rows int) emulator {
	t := tcell.NewMockTerm(tcell.MockOptSize{X: tcell.Col(cols), Y: tcell.Row(rows)})
	_ = t.Start() // a mock never fails
	return &tcellTerm{t, cols, rows}
}

func (t *tcellTerm) Resize(cols, rows int) {
	t.cols, t.rows = cols, rows
	t.SetSize(tcell.Coord{X: tcell.Col(cols), Y: tcell.Row(rows)})
}

func (t *tcellTerm) Show() shown {
	skip := 0
	p := t.Pos()
	return shown{gather(t.cols, t.rows, func(row, col int) string {
		if col == 0 {
			skip = 0
		}
		if skip > 0 {
			skip--
			return ""
		}
		cell := t.GetCell(tcell.Coord{X: tcell.Col(col), Y: tcell.Row(row)})
		skip = max(cell.W-1, 0)
		if cell.C == "" {
			return " "
		}
		return cell.C
	}), int(p.Y), min(int(p.X), t.cols-1)}
}

type hinshun struct{ vt10x.Terminal }

func (h *hinshun) Show() shown {
	cols, rows := h.Size()
	c := h.Cursor()
	return shown{gather(cols, rows, func(row, col int) string { return printable(h.Cell(col, row).Char) }), c.Y, min(c.X, cols-1)}
}

type active struct {
	*oldvt10x.VT
	state      *oldvt10x.State
	cols, rows int
}

func newActive(cols, rows int) (emulator, error) {
	a := &active{state: &oldvt10x.State{}, cols: cols, rows: rows}
	var err error
	if a.VT, err = oldvt10x.New(a.state, strings.NewReader(""), io.Discard); err != nil {
		return nil, fmt.Errorf("ActiveState/vt10x: %w", err)
	}
	a.VT.Resize(cols, rows)
	return a, nil
}

func (a *active) Resize(cols, rows int) {
	a.cols, a.rows = cols, rows
	a.VT.Resize(cols, rows)
}

func (a *active) Show() shown {
	s := shown{Rows: gather(a.cols, a.rows, func(row, col int) string {
		ch, _, _ := a.state.Cell(col, row)
		return printable(ch)
	})}
	s.Row, s.Col = a.state.Cursor()
	return s
}

type toy struct{ *vt100.VT100 }

func (t *toy) Resize(cols, rows int) { t.VT100.Resize(rows, cols) }

func (t *toy) Show() shown {
	return shown{
		gather(t.Width, t.Height, func(row, col int) string { return printable(t.Content[row][col]) }),
		t.Cursor.Y, min(t.Cursor.X, t.Width-1),
	}
}
