package view

import (
	"fmt"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/wire"
)

// terminal is an agent's own terminal below the head, and in the last row the key that lets go of it, always.
func (p *painter) terminal() {
	t, r := &p.m.Taken, p.l.Over
	for i := range r.Rows {
		p.f.Rows[r.Row+i] = cells(t.Row(i), r.Cols)
	}
	if !t.Shown() {
		p.f.Rows[r.Row] = canvas.Row{canvas.As(canvas.Faint, "opening the terminal of "+t.Name)}
	}
	says := t.Name + "  " + p.m.Opts.Detach + " lets go, the agent goes on"
	if t.Looking {
		says = t.Name + " (you only look)  " + p.m.Opts.Detach + " leaves"
	}
	row := canvas.Row{canvas.As(canvas.Strong, says)}
	switch {
	case t.Up() > 0:
		row = append(row, canvas.As(canvas.Wait, fmt.Sprintf("  %d of %d lines up, any key returns", t.Up(), t.Page.History)))
	case t.Note != "":
		row = append(row, canvas.As(canvas.Wait, "  "+t.Note))
	case !p.m.Link.Up:
		row = append(row, canvas.As(canvas.Fail, "  the daemon is away; the agent goes on"))
	case t.Page.History > 0:
		row = append(row, canvas.As(canvas.Faint, "  alt-PageUp shows what is above"))
	}
	p.f.Rows[p.l.Foot] = row.Choose()
	if c := t.Page.Cursor; c != nil && !t.Looking && t.Up() == 0 && int(c[0]) < r.Rows && int(c[1]) < r.Cols {
		p.f.Cursor, p.f.Typing = canvas.Point{Row: r.Row + int(c[0]), Col: int(c[1])}, true
	}
}

// cells are the spans of a terminal's row in the places that the agent's terminal has them.
func cells(spans []wire.AttachSpan, cols int) canvas.Row {
	var row canvas.Row
	left := cols
	for _, s := range spans {
		text := plain.Line(s.Text)
		width := plain.Width(text)
		if s.Cells > 0 && int(s.Cells) != width {
			text, width = fill(text, int(s.Cells)), int(s.Cells)
		}
		if width > left {
			text, width = fill(text, left), left
		}
		row = append(row, canvas.Span{Text: text, Look: look(s)})
		if left -= width; left == 0 {
			break
		}
	}
	return row
}

// fill is a text in exactly so many cells, without a sign that something is cut.
func fill(text string, cells int) string {
	if cells < 2 {
		text = plain.First(text)
		if plain.Width(text) > cells {
			text = ""
		}
	} else {
		text = plain.Chop(text, cells)[0]
	}
	return text + canvas.Blank(cells-plain.Width(text)).Text
}

func look(s wire.AttachSpan) canvas.Look {
	return canvas.Look{Fg: colour(s.Fg), Bg: colour(s.Bg), Bold: s.Bold, Italic: s.Italic, Underline: s.Underline, Inverse: s.Inverse}
}

func colour(c wire.AttachColor) canvas.Colour {
	if i, ok := c.Index(); ok {
		return canvas.Indexed(i)
	}
	if r, g, b, ok := c.RGB(); ok {
		return canvas.RGB(r, g, b)
	}
	return 0
}
