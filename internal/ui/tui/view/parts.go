package view

import (
	"fmt"
	"strings"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/model"
	"scv/internal/ui/tui/query"
	"scv/internal/ui/tui/sheet"
	"scv/internal/ui/tui/widget"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// detail is the pane's title and its rows.
func (p *painter) detail() []canvas.Row {
	d, it := &p.m.Detail, p.m.List.Selected()
	cols, height := p.l.Detail.Cols, p.l.Detail.Rows-1
	rows := []canvas.Row{p.detailTitle(it, cols)}
	if it == nil && !p.m.Chat.Open() {
		return rows
	}
	body := d.Body.Window(height)
	if d.Note != "" && len(body) < height {
		body = append(body[:len(body):len(body)], canvas.Row{canvas.As(canvas.Faint, d.Note)})
	}
	for _, r := range body {
		rows = append(rows, found(p, r))
	}
	return rows
}

// found makes a row that holds what was searched for stand out.
func found(p *painter, r canvas.Row) canvas.Row {
	if s := p.m.Detail.Search; s != "" && query.Holds(r.String(), s) {
		out := make(canvas.Row, len(r))
		copy(out, r)
		for i := range out {
			out[i].Role = canvas.Wait
		}
		return out
	}
	return r
}

func (p *painter) detailTitle(it *model.Item, cols int) canvas.Row {
	if p.m.Chat.Open() {
		return p.chatTitle(cols)
	}
	d := &p.m.Detail
	left := canvas.Row{canvas.Rule(2), canvas.Text(" ")}
	for _, pane := range p.m.PanesOf(it) {
		if pane == p.m.Shown(it) {
			left = append(left, canvas.As(canvas.Strong, "["+pane.String()+"]"), canvas.Text(" "))
		} else {
			left = append(left, canvas.As(canvas.Faint, pane.String()), canvas.Text(" "))
		}
	}
	if n := d.Body.Below(p.l.Detail.Rows - 1); n > 0 && it != nil {
		left = append(left, canvas.As(canvas.Wait, plain.Count(n, "line")+" below - G "))
	}
	name := p.m.Name(it)
	right := canvas.Row{canvas.Text(" "), canvas.As(canvas.Strong, name), canvas.Text(" ")}
	if p.m.Focus == model.OnDetail {
		right = append(canvas.Row{canvas.As(canvas.Strong, " >")}, right...)
	}
	gap := cols - left.Width() - right.Width() - 4
	if gap < 1 || it == nil {
		return append(left, canvas.Rule(max(cols-left.Width(), 0)))
	}
	return append(append(append(left, canvas.Rule(gap)), right...), canvas.Rule(4))
}

// cards is the strip of approvals.
func (p *painter) cards() []canvas.Row {
	all := p.m.Requests
	if len(all) == 0 {
		return nil
	}
	if p.m.Focus == model.OnCards {
		return p.namedCard()
	}
	keys := p.m.Opts.Keys
	if p.l.Side {
		rows := []canvas.Row{{canvas.As(canvas.Wait, fmt.Sprintf("APPROVALS (%d)", len(all))), canvas.As(canvas.Faint, fmt.Sprintf("   never take focus; %s to focus, then y approve, %s deny, %s explain, %s open job; keys count from half a second after a change",
			namer(p), keys.Shown("n"), keys.Shown("e"), keys.Shown("o")))}}
		for i := range all {
			rows = append(rows, cardLine(p, &all[i], i))
		}
		return rows
	}
	a := &all[0]
	row := canvas.Row{canvas.As(canvas.Wait, fmt.Sprintf("APPROVAL 1 of %d", len(all))), canvas.Text(fmt.Sprintf("  %s  risk %s  %s", model.Asker(a), a.Risk, until(p, a)))}
	if p.l.Two {
		row = canvas.Row{canvas.As(canvas.Wait, fmt.Sprintf("APPROVAL 1/%d", len(all))), canvas.Text(fmt.Sprintf(" %s  %s  %s", a.Job, a.Risk, strings.TrimPrefix(until(p, a), "since ")))}
	}
	hint := canvas.Row{canvas.As(canvas.Faint, namer(p)+" focus  (then y approve "+keys.Shown("n")+" deny)")}
	if p.l.Two {
		hint = canvas.Row{canvas.As(canvas.Faint, namer(p)+" focus")}
	}
	summary := plain.Truncate(plain.Line(sheet.Request(a)), max(p.l.Cols-hint.Width()-4, 8))
	return []canvas.Row{row, canvas.Ends(canvas.Row{canvas.As(canvas.Strong, "  "+summary)}, hint, p.l.Cols)}
}

// namer is the key that names a request here; where text is typed, a letter would be text.
func namer(p *painter) string {
	if p.m.Focus == model.OnChat {
		return p.m.Opts.Keys.Shown("ctrl-y")
	}
	return p.m.Opts.Keys.Shown("A")
}

// until says how long a request waits for: for ever, unless the owner set a time.
func until(p *painter, a *wire.Approval) string {
	clock := func(unix uint64) string {
		return wording.Clock(time.Unix(int64(unix), 0).In(p.m.Opts.Zone), p.m.At())
	}
	if a.ExpiresUnixSeconds < wire.NoDeadline {
		return "until " + clock(a.ExpiresUnixSeconds)
	}
	return "since " + clock(a.SinceUnixSeconds)
}

func cardLine(p *painter, a *wire.Approval, i int) canvas.Row {
	return canvas.Row{
		canvas.Cell(canvas.Faint, fmt.Sprintf(" %d", i+1), 4), canvas.Cell(canvas.Body, model.Asker(a), 10), canvas.Text(" "),
		canvas.Cell(canvas.Body, a.Risk, 10), canvas.Text(" "), canvas.Cell(canvas.Faint, until(p, a), 12), canvas.Text(" "),
		canvas.Cell(canvas.Faint, a.Cwd, 32), canvas.Text("  "), canvas.As(canvas.Strong, sheet.Request(a)),
	}
}

// namedCard is the request that A named, whole, as far as the screen goes.
func (p *painter) namedCard() []canvas.Row {
	c := &p.m.Cards
	a := c.Selected(p.m)
	if a == nil {
		return nil
	}
	state := "y approve  n deny  N deny with a reason  m more"
	if p.l.Two {
		state = "y approve  n deny"
	}
	if c.Sent(a.ID) {
		state = "answered; the agent has not taken it yet"
	}
	head := canvas.Ends(canvas.Row{
		canvas.As(canvas.Wait, fmt.Sprintf("APPROVAL %d of %d", c.At(p.m)+1, len(p.m.Requests))),
		canvas.As(canvas.Strong, fmt.Sprintf("  %s  risk %s  %s", model.Asker(a), a.Risk, until(p, a))),
	}, canvas.Row{canvas.As(canvas.Strong, state)}, p.l.Cols)
	rows := []canvas.Row{{canvas.Rule(p.l.Cols)}, head}
	body := c.Body(p.l.Cols)
	room := p.l.Cards.Rows - len(rows)
	if len(body) > room && room > 0 {
		body = append(body[:room-1:room-1], canvas.Row{canvas.As(canvas.Wait, fmt.Sprintf("  %s more; o opens the job, scv approvals show %s prints all", plain.Count(len(body)-room+1, "line"), a.ID))})
	}
	return append(rows, body...)
}

// field is the line that is typed at the bottom, with the terminal's own cursor in it, so that an input method knows where
// it is.
func (p *painter) field() {
	if p.l.Field.Rows == 0 {
		return
	}
	if p.m.Focus != model.OnField {
		p.chatField()
		return
	}
	f := &p.m.Field
	label := "filter (words, state:failed|queued, agent:codex, age>2h):"
	switch f.Kind {
	case model.FieldSearch:
		label = "search in the pane:"
	case model.FieldSend:
		label = fmt.Sprintf("message to %s (enter send, ctrl-j newline, tab mode: %s):", f.To, sendMode(f.Mode))
	case model.FieldDeny:
		label = fmt.Sprintf("why %s may not (the agent is told; enter denies, esc goes back):", f.To)
	case model.FieldFork:
		label = fmt.Sprintf("a new conversation goes on from %s; what is it to do (enter starts, ctrl-j newline, empty: go on):", f.To)
	case model.FieldAttach:
		label = fmt.Sprintf("file for %s (tab goes on with the name, enter attaches, blank: none):", f.To)
	case model.FieldFirst:
		label = fmt.Sprintf("a new session with SCV's own model in %s (enter begins, ctrl-j newline):", f.To)
	case model.FieldFilter:
	}
	r := p.l.Field
	p.f.Rows[r.Row] = canvas.Row{canvas.As(canvas.Strong, label)}
	p.edit(&f.Editor, model.Rect{Row: r.Row + 1, Rows: r.Rows - 1, Cols: r.Cols})
}

// sendMode shows the three ways of sending with the chosen one in brackets.
func sendMode(mode wire.SendMode) string {
	var out strings.Builder
	for _, m := range []wire.SendMode{wire.SendAuto, wire.SendQueue, wire.SendSteer} {
		if m == mode {
			out.WriteString("[" + string(m) + "] ")
		} else {
			out.WriteString(string(m) + " ")
		}
	}
	return out.String()[:len(out.String())-1]
}

// edit draws a text that is typed so that its cursor is seen, and puts the cursor there.
func (p *painter) edit(e *widget.Editor, r model.Rect) {
	rows, row, col := e.Lines(r.Cols)
	top := max(row-r.Rows+1, 0)
	for i := range r.Rows {
		text := ""
		if top+i < len(rows) {
			text = rows[top+i]
		}
		at := r.Row + i
		p.f.Rows[at] = append(canvas.Fit(p.f.Rows[at], r.Col), canvas.Text(text))
	}
	if row-top < r.Rows {
		p.f.Cursor, p.f.Typing = canvas.Point{Row: r.Row + row - top, Col: r.Col + col}, true
	}
}

// question is what only y answers with yes.
func question(p *painter) []canvas.Row {
	rows := []canvas.Row{{}}
	rows = append(rows, canvas.Wrap(canvas.Row{canvas.Text("  ")}, canvas.Strong, p.m.Ask.Text, p.l.Cols)...)
	return append(rows, canvas.Row{}, canvas.Row{canvas.Text("  y yes   every other key: no")})
}

// menu is the palette, the help and the copy menu: key, what it does, and how the command line says it.
func (p *painter) menu() {
	u, r := &p.m.Menu, p.l.Over
	p.f.Rows[r.Row] = canvas.Row{canvas.As(canvas.Strong, u.Title)}
	p.f.Rows[r.Row+1] = canvas.Row{canvas.As(canvas.Strong, "> ")}
	p.edit(&u.Query, model.Rect{Row: r.Row + 1, Col: 2, Rows: 1, Cols: r.Cols - 2})
	height := r.Rows - 2
	top := max(u.At-height+1, 0)
	keys, title := menuWidths(u, r.Cols)
	for i := range height {
		if top+i >= len(u.Entries) {
			break
		}
		e := &u.Entries[top+i]
		role := canvas.Body
		if e.Off != "" {
			role = canvas.Faint
		}
		row := canvas.Row{canvas.Cell(role, e.Keys, keys), canvas.Cell(role, e.Title, title), canvas.Text("  "), canvas.As(canvas.Faint, orElse(e.Off, e.CLI))}
		if p.l.Two {
			row = canvas.Row{canvas.Cell(role, e.Keys, keys), canvas.As(role, e.Title)}
		}
		if top+i == u.At {
			row = canvas.Fit(row, r.Cols).Choose()
		}
		p.f.Rows[r.Row+2+i] = row
	}
	if len(u.Entries) == 0 {
		p.f.Rows[r.Row+2] = canvas.Row{canvas.As(canvas.Faint, "  nothing of that name")}
	}
}

// menuWidths are the columns of a menu: none for keys when no entry has one, and what the titles need within reason.
func menuWidths(u *model.Menu, cols int) (keys, title int) {
	for _, e := range u.All() {
		if title = max(title, plain.Width(plain.Line(e.Title))); e.Keys != "" {
			keys = max(keys, min(plain.Width(e.Keys)+1, 17))
		}
	}
	if cols < 60 {
		keys = min(keys, 11)
	}
	return keys, max(min(title, cols*5/8-keys, 64), 20)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// form is the form of a new job.
func (p *painter) form() {
	f, r := &p.m.Form, p.l.Over
	row := r.Row
	if r.Rows > len(f.Fields)+4 {
		p.f.Rows[row] = canvas.Row{canvas.As(canvas.Strong, "New job")}
		row++
	}
	const label = 12
	for _, field := range f.Fields {
		if row >= r.Row+r.Rows {
			return
		}
		role := canvas.Faint
		if field == f.At {
			role = canvas.Strong
		}
		mark := "  "
		if field == f.At {
			mark = "> "
		}
		p.f.Rows[row] = canvas.Row{canvas.As(role, mark), canvas.Cell(role, fieldName(field), label-2)}
		area := model.Rect{Row: row, Col: label, Rows: 1, Cols: r.Cols - label}
		if field == model.FieldPrompt {
			area.Rows = r.Row + r.Rows - row
		}
		formField(p, field, area)
		row += area.Rows
	}
}

// formField draws a field's value; the terminal's cursor stands in the one that is typed.
func formField(p *painter, field model.FormField, area model.Rect) {
	f := &p.m.Form
	if e := f.Text(field); e != nil {
		cursor, typing := p.f.Cursor, p.f.Typing
		p.edit(e, area)
		if field != f.At {
			p.f.Cursor, p.f.Typing = cursor, typing
		}
		if e.Text() == "" && field != model.FieldPrompt {
			p.f.Rows[area.Row] = append(p.f.Rows[area.Row], canvas.As(canvas.Faint, "as configured"))
		}
		if list := f.Offered(p.m, field); field == f.At && len(list) > 0 {
			p.f.Rows[area.Row] = append(p.f.Rows[area.Row], canvas.As(canvas.Faint, "  ctrl-n: "+strings.Join(list, ", ")))
		}
		return
	}
	value, more := "", ""
	switch field {
	case model.FieldAgent:
		value, more = orElse(f.AgentName(), "none known yet"), fmt.Sprintf("  left right: %d of %d", min(f.Agent+1, len(f.Agents)), len(f.Agents))
	case model.FieldPermission:
		value, more = orElse(f.ModeName(), "as configured"), "  left right: what it may do unasked"
	case model.FieldWorktree:
		value, more = map[bool]string{true: "yes", false: "no"}[f.Worktree], "  space: work in a git worktree of its own"
	case model.FieldReview:
		value, _ = f.Reviewer()
		more = "  left right: who reviews the work in rounds, in a worktree"
	default:
	}
	row := canvas.Row{canvas.As(canvas.Body, value)}
	if field == f.At {
		row = append(row, canvas.As(canvas.Faint, more))
	}
	p.f.Rows[area.Row] = append(p.f.Rows[area.Row], row...)
}

func fieldName(f model.FormField) string {
	switch f {
	case model.FieldAgent:
		return "agent"
	case model.FieldModel:
		return "model"
	case model.FieldEffort:
		return "effort"
	case model.FieldPermission:
		return "mode"
	case model.FieldCwd:
		return "directory"
	case model.FieldWorktree:
		return "worktree"
	case model.FieldReview:
		return "review"
	case model.FieldPrompt:
		return "prompt"
	}
	return ""
}
