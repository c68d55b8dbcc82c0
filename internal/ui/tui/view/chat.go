package view

import (
	"fmt"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/model"
)

// chatTitle is the title of the pane while a session is open in it.
func (p *painter) chatTitle(cols int) canvas.Row {
	left := canvas.Row{canvas.Rule(2), canvas.Text(" "), canvas.As(canvas.Strong, "[Session]"), canvas.Text(" ")}
	if n := p.m.Detail.Body.Below(p.l.Detail.Rows - 1); n > 0 {
		left = append(left, canvas.As(canvas.Wait, fmt.Sprintf("%d lines below - pgdn ", n)))
	}
	right := canvas.Row{canvas.Text(" "), canvas.As(canvas.Strong, p.m.Chat.Talk.Name), canvas.Text(" ")}
	if p.m.Focus == model.OnDetail {
		right = append(canvas.Row{canvas.As(canvas.Strong, " >")}, right...)
	}
	gap := cols - left.Width() - right.Width() - 4
	if gap < 1 {
		return append(left, canvas.Rule(max(cols-left.Width(), 0)))
	}
	return append(append(append(left, canvas.Rule(gap)), right...), canvas.Rule(4))
}

// chatField is where the next prompt of the open session is typed: how the session stands, what waits in it, and the text.
func (p *painter) chatField() {
	c, r := &p.m.Chat, p.l.Field
	at := r.Row
	put := func(row canvas.Row) {
		p.f.Rows[at] = row
		at++
	}
	role := canvas.Strong
	if !c.Up {
		role = canvas.Fail
	}
	put(canvas.Row{canvas.As(role, plain.Truncate(plain.Line(c.Status()), r.Cols))})
	queue := c.Talk.Queue
	shown := c.QueueShown(p.m.Rows)
	for i := range shown {
		row := canvas.Row{canvas.As(canvas.Faint, fmt.Sprintf("waits %d: ", i+1)), canvas.Text(plain.FirstLine(queue[i].Prompt, r.Cols))}
		if i == shown-1 && len(queue) > shown {
			row = canvas.Row{canvas.As(canvas.Faint, fmt.Sprintf("waits %d to %d; ctrl-p lists them", i+1, len(queue)))}
		}
		put(row)
	}
	if len(c.Files) > 0 {
		names := make([]string, 0, len(c.Files))
		for _, f := range c.Files {
			names = append(names, fmt.Sprintf("%s (%s)", f.Name, plain.Size(f.Size)))
		}
		put(canvas.Row{canvas.As(canvas.Faint, "with "), canvas.Text(strings.Join(names, ", "))})
	}
	cursor, typing := p.f.Cursor, p.f.Typing
	p.edit(&c.Input, model.Rect{Row: at, Rows: r.Row + r.Rows - at, Cols: r.Cols})
	if p.m.Focus != model.OnChat {
		p.f.Cursor, p.f.Typing = cursor, typing
	}
}
