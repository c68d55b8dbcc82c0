// Package view draws the dashboard: View is a pure function from the model to the rows of the screen. It decides nothing
// and remembers nothing; two models that are equal look the same. What is shown are clock times and never ages, so that
// a screen on which nothing happens has nothing to draw.
package view

import (
	"fmt"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/model"
)

// View draws the model at its size. Every row is one cell narrower than the screen: the last column stays empty, because
// terminals disagree about wide characters there.
func View(m *model.Model) canvas.Frame {
	f := canvas.Frame{Rows: make([]canvas.Row, m.Rows), Title: title(m), State: state(m)}
	l := m.Layout()
	if l.Small {
		if m.Rows > 0 {
			f.Rows[0] = canvas.Row{canvas.Text(fmt.Sprintf("terminal too small: %dx%d, needs %dx%d", m.Cols, m.Rows, model.MinCols, model.MinRows))}
		}
		return fit(f, l)
	}
	p := &painter{m: m, l: l, f: &f}
	f.Rows[0] = p.head()
	if m.Focus == model.OnTerminal {
		p.terminal()
		return fit(f, l)
	}
	p.put(l.Banner, []canvas.Row{{canvas.As(canvas.Fail, m.Banner())}})
	p.put(l.Tabs, []canvas.Row{p.tabs()})
	switch m.Focus {
	case model.OnForm:
		p.form()
	case model.OnMenu:
		p.menu()
	case model.OnConfirm:
		p.put(l.Over, question(p))
	default:
		p.body()
	}
	p.put(l.Cards, p.cards())
	p.field()
	f.Rows[l.Foot] = p.foot()
	return fit(f, l)
}

// fit makes every row as wide as the screen has room, and cleans it once more.
func fit(f canvas.Frame, l model.Layout) canvas.Frame {
	for i := range f.Rows {
		f.Rows[i] = canvas.Fit(f.Rows[i], max(l.Cols, 0))
	}
	f.Title = plain.Line(f.Title)
	return f
}

// title tells of who needs the owner also where the window is not seen.
func title(m *model.Model) string {
	t := m.Tally()
	if t.Need > 0 {
		return fmt.Sprintf("scv: %d need you", t.Need)
	}
	return "scv"
}

// state tells the same to the terminal.
func state(m *model.Model) canvas.State {
	switch t := m.Tally(); {
	case t.Need > 0:
		return canvas.Blocked
	case t.Working > 0:
		return canvas.Working
	}
	return canvas.Idle
}

// A painter draws one frame.
type painter struct {
	m *model.Model
	l model.Layout
	f *canvas.Frame
}

// put lays rows into a part of the screen that begins at the left edge; rows that are missing are blank.
func (p *painter) put(r model.Rect, rows []canvas.Row) {
	for i := range r.Rows {
		if i < len(rows) {
			p.f.Rows[r.Row+i] = rows[i]
		}
	}
}

// head is the first row: who needs the owner, then what goes on.
func (p *painter) head() canvas.Row {
	t := p.m.Tally()
	row := canvas.Row{canvas.As(canvas.Strong, "scv")}
	bar := func(role canvas.Role, text string) {
		row = append(row, canvas.As(canvas.Faint, " | "), canvas.As(role, text))
	}
	if t.Need > 0 {
		bar(canvas.Wait, fmt.Sprintf("%d NEED YOU", t.Need))
	}
	if p.l.Two {
		bar(canvas.Body, fmt.Sprintf("%d work %d que", t.Working, t.Queued))
		return row
	}
	bar(canvas.Body, fmt.Sprintf("%d working  %d queued", t.Working, t.Queued))
	if t.Unknown > 0 {
		bar(canvas.Doubt, fmt.Sprintf("%d unknown", t.Unknown))
	}
	bar(canvas.Body, fmt.Sprintf("%d done  %d failed", t.Done, t.Failed))
	right := canvas.Row{}
	switch {
	case p.m.Link.Up && p.l.Side:
		right = append(right, canvas.As(canvas.Faint, "home "+p.m.Opts.Home+"  daemon "+p.m.Link.Server.Version))
	case !p.m.Link.Asked:
		right = append(right, canvas.As(canvas.Faint, "connecting"))
	case !p.m.Link.Up:
		right = append(right, canvas.As(canvas.Fail, "offline"))
	}
	return canvas.Ends(row, right, p.l.Cols)
}

// tabs is the row of views, with what narrows the list at its right.
func (p *painter) tabs() canvas.Row {
	var row canvas.Row
	for v := range model.Views {
		if v == model.ViewWorktrees && !p.m.ShowsTrees() {
			continue
		}
		name := fmt.Sprintf("%d %s", v+1, v)
		if v == p.m.List.View {
			row = append(row, canvas.As(canvas.Strong, "["+name+"]"), canvas.Text(" "))
		} else {
			row = append(row, canvas.As(canvas.Faint, name), canvas.Text(" "))
		}
	}
	var right canvas.Row
	if n := len(p.m.List.Marks); n > 0 {
		right = append(right, canvas.As(canvas.Strong, fmt.Sprintf("%d marked  ", n)))
	}
	if p.m.List.Mine {
		right = append(right, canvas.As(canvas.Wait, "only what needs me  "))
	}
	if p.m.List.Filter != "" {
		right = append(right, canvas.As(canvas.Strong, fmt.Sprintf("filter: %s (%d left out)", plain.Truncate(plain.Line(p.m.List.Filter), 30), p.m.List.Hidden())))
	} else if !p.m.List.Mine {
		right = append(right, canvas.As(canvas.Faint, "filter: -"))
	}
	return canvas.Ends(row, right, p.l.Cols)
}

// body is the list and the detail, one below the other, beside each other, or one alone.
func (p *painter) body() {
	l := p.l
	columns := p.columns(max(l.Head.Cols, l.List.Cols))
	if l.Head.Rows > 0 {
		p.f.Rows[l.Head.Row] = columns.head()
	}
	p.put(l.List, p.list(columns))
	if l.Detail.Rows == 0 {
		return
	}
	rows := p.detail()
	if !l.Side {
		p.put(l.Detail, rows)
		return
	}
	for i := range l.Detail.Rows {
		row := canvas.Row{}
		if i < len(rows) {
			row = rows[i]
		}
		at := l.Detail.Row + i
		left := canvas.Fit(p.f.Rows[at], l.Detail.Col-2)
		p.f.Rows[at] = append(append(left, canvas.As(canvas.Faint, "| ")), row...)
	}
}

// foot is the last row: what there is to say, else the keys that matter here.
func (p *painter) foot() canvas.Row {
	if n := p.m.Notice; n.Text != "" {
		role := canvas.Strong
		if n.Bad {
			role = canvas.Fail
		}
		return canvas.Row{canvas.As(role, n.Text)}
	}
	text := hint(p)
	if p.m.Focus != model.OnConfirm { // whose keys stay what they are
		text = p.m.Opts.Keys.Hint(text)
	}
	return canvas.Row{canvas.As(canvas.Faint, text)}
}

func hint(p *painter) string {
	switch p.m.Focus {
	case model.OnCards:
		return pick(p, "y approve  n deny  N deny with a reason  m more answers  e explain  o open job  j k other request  esc back", "y approve  n deny  N reason  m more  esc")
	case model.OnForm:
		return pick(p, "tab next field  ctrl-j newline  ctrl-o editor  ctrl-t kept  ctrl-s start  esc leave", "tab next  ctrl-s start  esc leave")
	case model.OnMenu:
		return pick(p, "type to narrow  up down  enter do it  esc leave", "enter do it  esc leave")
	case model.OnConfirm:
		return "y yes  every other key: no"
	case model.OnField:
		if p.m.Field.Kind == model.FieldSend {
			return pick(p, "enter send  ctrl-j newline  tab mode  esc leave, the text is kept", "enter send  tab mode  esc leave")
		}
		if p.m.Field.Kind == model.FieldDeny {
			return "enter deny  esc back to the request"
		}
		if p.m.Field.Kind == model.FieldAttach {
			return "enter attach  tab complete  esc leave"
		}
		if p.m.Field.Kind == model.FieldFork || p.m.Field.Kind == model.FieldFirst {
			return "enter start  ctrl-j newline  esc leave"
		}
		return "enter done  esc clear"
	case model.OnChat:
		return pick(p, chatHint(p), "enter send  ctrl-x cancel  esc leave  f1")
	case model.OnDetail:
		if p.m.Chat.Open() {
			return pick(p, "enter write  j k scroll  / search  n N match  G end  y copy  esc leave  ? help", "enter write  / search  esc leave")
		}
		return pick(p, "esc back  j k scroll  tab pane  / search  G end  s send  d diff  n new  x stop  y copy  ? help", "esc back  tab pane  / search  ? help")
	case model.OnList, model.OnTerminal:
	}
	asks := ""
	if len(p.m.Requests) > 0 {
		asks = "A approvals  "
	}
	long := "enter open  / filter  n new  s send  t takeover  " + asks + "! mine  ? help  q quit"
	if p.l.Side {
		long = "enter open  / filter  : command  n new  s send  t take over  " + asks + "x stop  r resume  space mark  y copy  m mouse  p plain  ! only mine  ? help  q quit"
	}
	return pick(p, long, "enter open  / filter  "+strings.Replace(asks, "approvals", "appr.", 1)+"? help")
}

// chatHint are the keys of a session that matter now.
func chatHint(p *painter) string {
	hint := "enter send  "
	if len(p.m.Requests) > 0 {
		hint += "ctrl-y requests  "
	}
	if p.m.Chat.Talk.Turn != "" {
		hint += "ctrl-x cancel  "
	}
	if len(p.m.Chat.Talk.Queue) > 0 {
		hint += "ctrl-p queue  "
	}
	const end = "tab read  esc leave"
	for _, more := range []string{"ctrl-r earlier  ", "ctrl-o editor  ", "ctrl-t file  ", "ctrl-j newline  ", "f1 keys  "} {
		if len(hint)+len(more)+len(end) <= p.l.Cols {
			hint += more
		}
	}
	return hint + end
}

// pick is the long form where it fits.
func pick(p *painter, long, short string) string {
	if len(long) <= p.l.Cols {
		return long
	}
	return short
}
