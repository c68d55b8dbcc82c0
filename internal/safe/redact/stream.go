package redact

import (
	"slices"
	"strings"
)

// Stream masks a text that comes in pieces: one Stream per message or output channel. It passes on whole lines only,
// and holds a line back while the next one can still decide about it (a token wrapped at the edge, the body of a key
// whose BEGIN was cut off), so nothing it has passed on is ever found to be secret later.
type Stream struct {
	e   engine
	buf []byte // the line that has no end yet
}

// Stream returns a new Stream of this Masker.
func (m *Masker) Stream() *Stream {
	return &Stream{e: engine{m: m, sink: sink{stream: true}}}
}

// Write takes the next piece, cut anywhere, and returns the masked lines that are settled by it, each with its line
// ending. Joined with what Flush returns they are what Text gives for the joined pieces. A line over 64 KiB comes in
// several parts, only the last of which has the line ending.
func (s *Stream) Write(chunk string) []string {
	for chunk != "" && len(s.buf) > 0 {
		n := strings.IndexByte(chunk, '\n') + 1
		if n == 0 {
			n = len(chunk)
		}
		n = min(n, pieceSize-len(s.buf))
		s.buf = append(s.buf, chunk[:n]...)
		chunk = chunk[n:]
		if s.buf[len(s.buf)-1] != '\n' && len(s.buf) < pieceSize {
			return s.settled()
		}
		rest := s.e.take(string(s.buf))
		s.buf = append(s.buf[:0], rest...)
	}
	s.buf = append(s.buf, s.e.take(chunk)...)
	return s.settled()
}

// Flush ends the text and returns what is left of it, masked; a last line without an ending is included. Call it at
// the end of a message or turn and at the end of a channel; the Stream is then as new.
func (s *Stream) Flush() []string {
	s.e.finish(string(s.buf))
	lines := s.settled()
	s.buf = s.buf[:0]
	s.e = engine{m: s.e.m, sink: sink{stream: true}, spans: s.e.spans[:0]}
	return lines
}

func (s *Stream) settled() []string {
	lines := s.e.sink.lines
	s.e.sink.lines = nil
	return lines
}

// State is what a Stream carries between pieces, for a checkpoint. It holds unmasked text: keep it only where the raw
// text may lie too.
type State struct {
	Line  []byte     `json:"line,omitempty"`  // the line without an end
	Rows  []StateRow `json:"rows,omitempty"`  // lines held back
	Join  []byte     `json:"join,omitempty"`  // rows of a wrapped value so far
	Left  []byte     `json:"left,omitempty"`  // the end of the last part of a long line
	Run   string     `json:"run,omitempty"`   // kind of a mask that goes on in the next part
	Wait  int        `json:"wait,omitzero"`   // why the rows are held
	Block int        `json:"block,omitzero"`  // inside a key block
	Width int        `json:"width,omitzero"`  // body width of that block
	Name  int        `json:"name,omitzero"`   // strength of a name whose value is on the next line
	Yaml  int        `json:"yaml,omitzero"`   // inside a Secret manifest
	Short bool       `json:"short,omitzero"`  // the last held row was the short end of a body
	Mid   bool       `json:"middle,omitzero"` // inside a long line
}

// StateRow is one held line of a State.
type StateRow struct {
	Raw   []byte      `json:"raw"`
	Spans []StateSpan `json:"spans,omitempty"`
	From  int         `json:"from,omitzero"`
	To    int         `json:"to,omitzero"`
	Width int         `json:"width,omitzero"`
	Box   bool        `json:"box,omitzero"`
}

// StateSpan is one masked stretch of a held line, in bytes.
type StateSpan struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Kind string `json:"kind"`
}

// State returns the carry; the Stream goes on unchanged.
func (s *Stream) State() State {
	e := &s.e
	st := State{
		Line: slices.Clone(s.buf), Join: []byte(e.join), Left: []byte(e.left), Run: e.run,
		Wait: int(e.wait), Block: int(e.ctx.block), Width: e.ctx.width, Name: int(e.ctx.name), Yaml: int(e.ctx.yaml),
		Short: e.short, Mid: e.mid,
	}
	for _, r := range e.rows {
		row := StateRow{Raw: []byte(r.raw), From: r.from, To: r.to, Width: r.width, Box: r.box}
		for _, p := range r.spans {
			row.Spans = append(row.Spans, StateSpan{p.from, p.to, p.kind})
		}
		st.Rows = append(st.Rows, row)
	}
	return st
}

// Restore puts the Stream where the one was that gave the state. A state that does not fit its own text (a damaged
// checkpoint) loses only its marks: spans outside their line are dropped and the line is masked as a whole.
func (s *Stream) Restore(st State) {
	s.buf = slices.Clone(st.Line)
	e := engine{
		m: s.e.m, sink: sink{stream: true}, join: string(st.Join), left: string(st.Left), run: st.Run,
		wait: waitReason(st.Wait), short: st.Short, mid: st.Mid,
		ctx: context{block: blockState(st.Block), width: st.Width, name: strength(st.Name), yaml: yamlState(st.Yaml)},
	}
	for _, r := range st.Rows {
		e.rows = append(e.rows, r.row())
	}
	s.e = e
}

func (r StateRow) row() row {
	n := len(r.Raw)
	out := row{raw: string(r.Raw), from: r.From, to: r.To, width: r.Width, box: r.Box}
	at := 0
	for _, p := range r.Spans {
		if p.From < at || p.To <= p.From || p.To > n {
			out.spans = []span{{0, n, "damaged"}}
			break
		}
		out.spans = append(out.spans, span{p.From, p.To, p.Kind})
		at = p.To
	}
	if out.from < 0 || out.to < out.from || out.to > n {
		out.from, out.to = 0, n
	}
	return out
}
