package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// pieceSize is the longest line scanned in one go, in bytes; longer lines are scanned in pieces.
	pieceSize = 64<<10 + 4<<10
	// leftSize is how much of the piece before is looked at again, so that a name and its value may be apart.
	leftSize = 512
	// heldRows and joinSize bound what is held back: rows of a key body, bytes of one wrapped value.
	heldRows = 300
	joinSize = 16 << 10
	// narrowest is the least width, in characters, of a row that may be the first of a wrapped value.
	narrowest = 20
)

type waitReason int

const (
	waitNone waitReason = iota
	waitBody            // rows that are the body of a private key if its END follows
	waitWrap            // one row whose last token may go on in the next row
)

// row is a held line. from and to bound its content inside borders, in bytes of raw.
type row struct {
	raw      string
	spans    []span
	from, to int
	width    int // characters
	box      bool
}

// context is what one line tells the next.
type context struct {
	block blockState
	width int
	name  strength
	yaml  yamlState
}

// engine turns raw lines into masked ones, in order. Everything it decides depends on the lines alone, never on how
// they arrived, so Text and Stream agree.
type engine struct {
	m     *Masker
	sink  sink
	ctx   context
	rows  []row
	wait  waitReason
	short bool
	join  string // waitWrap: the content of the wrapped rows so far
	mid   bool   // inside a line that is scanned in pieces
	left  string // mid: end of the piece before
	run   string // mid: kind of a mask that reached the end of the piece before
	spans []span // scratch
}

// take handles all whole lines of s and returns what is left.
func (e *engine) take(s string) string {
	for {
		w := s[:min(len(s), pieceSize)]
		if i := strings.IndexByte(w, '\n'); i >= 0 {
			e.line(s[:i+1], false)
			s = s[i+1:]
			continue
		}
		if len(s) < pieceSize {
			return s
		}
		s = s[e.piece(w, false):]
	}
}

// finish handles the last line, which has no ending, and lets go of everything.
func (e *engine) finish(rest string) {
	if rest != "" {
		e.line(rest, true)
	}
	e.release()
}

// line handles one line with its ending, or the last one without.
func (e *engine) line(raw string, last bool) {
	if e.mid {
		e.piece(raw, true)
		return
	}
	v := newView(strings.TrimRight(raw, "\r\n"))
	f := finding{spans: e.spans[:0]}
	prev := e.ctx
	inBlock := e.blockRow(v.text, &f)
	e.ctx.name = 0
	scan(e.m.rules, v.text, &f, prev, &e.ctx)
	e.m.known.find(v.text, &f)
	v.scanInner(e.m)
	if last {
		f.addPartial(e.m.rules, v.text)
	}
	f.settle()
	r := row{raw: raw}
	e.settleRow(&r, v, &f, inBlock)
	e.spans = f.spans[:0]
}

// settleRow decides what becomes of a scanned row: joined to the one before, held, or passed on.
func (e *engine) settleRow(r *row, v view, f *finding, inBlock bool) {
	from, to, box := content(v.text)
	r.width, r.box = utf8.RuneCountInString(v.text), box
	joined := ""
	switch {
	case e.wait == waitWrap:
		joined = e.joinRow(v.text, f, r, from, to)
		e.release()
	case e.wait == waitBody && f.end:
		e.maskBodies()
		e.release()
	}
	bodyFrom, bodyTo, body := 0, 0, false
	if !inBlock && joined == "" && e.ctx.block == blockNone {
		bodyFrom, bodyTo, body = e.bodyRow(v.text)
	}
	if e.wait == waitBody && !body {
		e.release()
	}
	wrap := joined != "" || !inBlock && r.width >= narrowest && f.open(e.m.rules, v.text, to)
	r.spans = v.rawSpans(f.spans)
	switch {
	case body:
		r.from, r.to = v.raw(bodyFrom), v.rawEnd(bodyTo)
		e.hold(r, waitBody)
	case wrap:
		r.from, r.to = v.raw(from), v.rawEnd(to)
		e.hold(r, waitWrap)
		e.join = joined
		if joined == "" {
			e.join = strings.Clone(v.text[from:to])
		}
	default:
		e.sink.emit(r.raw, r.spans)
	}
}

// hold keeps the row back; of too many rows the oldest is passed on.
func (e *engine) hold(r *row, why waitReason) {
	if len(e.rows) >= heldRows {
		e.sink.emit(e.rows[0].raw, e.rows[0].spans)
		e.rows = slices.Delete(e.rows, 0, 1)
	}
	kept := *r
	kept.spans = slices.Clone(r.spans)
	e.rows = append(e.rows, kept)
	e.wait = why
}

// release passes on all held rows as they are.
func (e *engine) release() {
	for _, r := range e.rows {
		e.sink.emit(r.raw, r.spans)
	}
	e.rows, e.wait, e.join, e.short = e.rows[:0], waitNone, "", false
}

// piece handles one piece of a long line and returns how much of it is done; the rest is to be given again with what
// follows. The end piece is done whole.
func (e *engine) piece(w string, end bool) int {
	if !e.mid {
		e.release()
		e.ctx = context{}
	}
	text := e.left + w
	v := newView(text)
	f := finding{spans: e.spans[:0]}
	scan(e.m.rules, v.text, &f, context{}, &e.ctx)
	e.m.known.find(v.text, &f)
	v.scanInner(e.m)
	e.ctx = context{}
	f.settle()
	spans := v.rawSpans(f.spans)
	spans = e.clip(spans, len(e.left), w)
	cut := len(w)
	if !end {
		cut = cutAt(w)
		for _, s := range spans {
			if s.from < cut && s.to > cut {
				cut = s.to
			}
		}
	}
	for len(spans) > 0 && spans[len(spans)-1].from >= cut {
		spans = spans[:len(spans)-1]
	}
	e.run = ""
	if n := len(spans); n > 0 && spans[n-1].to == cut && cut == len(w) {
		e.run = spans[n-1].kind
	}
	e.sink.emit(w[:cut], spans)
	e.mid = !end
	e.left = ""
	if end {
		e.run = ""
	} else {
		e.left = strings.Clone(w[max(0, cut-leftSize):cut])
	}
	e.spans = f.spans[:0]
	return cut
}

// clip moves spans from left+w to w, and puts the mask that goes on from the piece before in front.
func (e *engine) clip(spans []span, left int, w string) []span {
	out := spans[:0]
	lead := 0
	if e.run != "" {
		for lead < len(w) && (tokenByte(w[lead]) || w[lead] == '\\') {
			lead++
		}
	}
	for _, s := range spans {
		s.from, s.to = max(s.from-left, lead), s.to-left
		if s.to > s.from {
			out = append(out, s)
		}
	}
	if lead > 0 {
		out = slices.Insert(out, 0, span{0, lead, e.run})
	}
	return out
}

// cutAt chooses where a piece ends: behind the last blank, comma or quote of its overlap, else hard.
func cutAt(w string) int {
	const size = pieceSize - 4<<10
	if i := strings.LastIndexAny(w[size-4<<10:size], " \t,;\"'"); i >= 0 {
		return size - 4<<10 + i + 1
	}
	return size
}

// content returns where the text of a row lies inside a border of a box, and whether it has one.
func content(text string) (from, to int, box bool) {
	to = len(text)
	trimmed := strings.TrimRight(text, " \t")
	for _, edge := range []string{"│", "┃", "║", "|"} {
		inner, right := strings.CutSuffix(trimmed, edge)
		left := strings.TrimLeft(inner, " \t")
		if !right || !strings.HasPrefix(left, edge) {
			continue
		}
		from = len(inner) - len(left) + len(edge)
		to = max(len(inner), from)
		if from < to && text[from] == ' ' {
			from++
		}
		if to > from && text[to-1] == ' ' {
			to--
		}
		return from, to, true
	}
	return 0, to, false
}

// joinRow tries to go on with the held row in this one. When the two make one secret, both parts are masked; the
// joined content is returned when the value may go on further.
func (e *engine) joinRow(text string, f *finding, r *row, from, to int) string {
	prev := &e.rows[0]
	n := continuation(e.m.rules, text[from:to], prev, r)
	if n == 0 || len(e.join) > joinSize {
		return ""
	}
	both := e.join + text[from:from+n]
	j := finding{}
	scan(e.m.rules, both, &j, context{}, &context{})
	e.m.known.find(both, &j)
	j.settle()
	for _, s := range j.spans {
		if s.from >= len(e.join) || s.to <= len(e.join) {
			continue
		}
		start := max(s.from-len(e.join), prev.from-prev.to)
		prev.spans = append(prev.spans, span{prev.to + start, prev.to, s.kind})
		p := finding{spans: prev.spans}
		p.settle()
		prev.spans = p.spans
		f.add(from, from+s.to-len(e.join), s.kind)
		f.settle()
		if from+s.to-len(e.join) == to && r.width == prev.width {
			return both
		}
	}
	return ""
}

// continuation returns how much of the row's start may be the rest of a token that the row before ended with, or 0.
func continuation(rules *ruleSet, text string, prev, r *row) int {
	n := 0
	for n < len(text) && tokenByte(text[n]) {
		n++
	}
	if n == 0 || prev.box != r.box {
		return 0
	}
	run := text[:n]
	whole := strings.TrimRight(text[n:], " \t\"'`,;)}]│|") == ""
	if !whole && !strings.ContainsRune(" \t\"'`,;)]}@&<>\\", rune(text[n])) {
		return 0
	}
	if i := strings.IndexByte(run, '='); i >= 0 && strings.Trim(run[i:], "=") != "" {
		return 0 // NAME=value
	}
	if strings.HasSuffix(run, ":") || !(r.box || whole && prev.width >= 40 || usualWidth(prev.width)) {
		return 0
	}
	if _, ok := rules.prefixOf(run); ok {
		return 0
	}
	c := count(run)
	if c.digits > 0 && c.lower+c.upper > 0 && c.changes >= 2 || c.lower > 1 && c.upper > 1 && c.changes*4 >= n {
		return n
	}
	if whole && (n <= 6 || c.hex == n) && prev.width == max(prev.width, r.width) {
		return n
	}
	return 0
}

func usualWidth(w int) bool {
	switch w {
	case 60, 72, 76, 78, 79, 80, 90, 96, 99, 100, 119, 120, 131, 132, 140, 150, 158, 159, 160, 180, 200:
		return true
	}
	return false
}
