package redact

import "strings"

// blockState says where a line lies in a key block. A private key is masked line by line between its armour lines,
// also when the END was cut off; when the BEGIN was, the engine holds the rows until it sees what they end with.
type blockState int

const (
	blockNone    blockState = iota
	blockPrivate            // after BEGIN ... PRIVATE KEY
	blockTail               // after the short last row of its body
	blockPublic             // after another BEGIN: rows are not held, but scanned like any text
)

const keyKind = "private-key"

// blockRow masks the row when it belongs to the private key block that is open, and says so.
func (e *engine) blockRow(text string, f *finding) bool {
	if e.ctx.block != blockPrivate && e.ctx.block != blockTail {
		if _, _, ok := keyBody(text); !ok {
			e.ctx.block = blockNone
		}
		return false
	}
	before, _, ok := strings.Cut(text, "----")
	if ok {
		if from, to, ok := keyBody(before); ok && to-from >= 4 {
			f.addBody(text, from, to)
		}
		e.ctx.block = blockNone
		return true
	}
	from, to, ok := keyBody(text)
	n := to - from
	switch {
	case ok && e.ctx.block == blockTail && text[from] != '=':
		// The row after the short one is not the key's any more.
	case ok:
		f.addBody(text, from, to)
		if e.ctx.width == 0 {
			e.ctx.width = n
		}
		if n < e.ctx.width {
			e.ctx.block = blockTail
		}
		return true
	case e.ctx.width == 0 && keyHeader(text):
		return true
	}
	e.ctx.block, e.ctx.width = blockNone, 0
	return false
}

// keyHeader says whether the row may stand between BEGIN and the body: blank, or a "Name: value" header.
func keyHeader(text string) bool {
	text = strings.TrimSpace(text)
	name, _, ok := strings.Cut(text, ":")
	return text == "" || text == "+" || text == "│" || ok && len(name) < 24 && runOf(name, 'w') == len(name)
}

// keyBody finds the one run of base64 in a row, if the row holds nothing else but what a listing puts around it:
// diff signs, quote marks, line numbers, borders, quotes and string ends.
func keyBody(text string) (from, to int, ok bool) {
	from = bodyStart(text)
	to = from
	for to < len(text) && base64Byte(text[to]) {
		to++
	}
	if to == from {
		return 0, 0, false
	}
	rest := text[to:]
	for _, end := range []string{`\n`, `\r`} {
		rest = strings.TrimPrefix(rest, end)
	}
	rest = strings.Trim(rest, " \t\r\"',;\\+|")
	return from, to, rest == "" || rest == "│"
}

// addBody masks a row's body but for the sign of a diff, which counts as part of the body when its length is compared
// with the row before, since base64 may begin with one.
func (f *finding) addBody(text string, from, to int) {
	if text[from] == '+' {
		from++
	}
	f.add(from, to, keyKind)
}

// bodyStart skips what a listing puts in front of a row.
func bodyStart(text string) int {
	i := 0
	for i < len(text) {
		switch c := text[i]; {
		case strings.IndexByte(" \t>|#\"'*:", c) >= 0, c == '-' && i == 0:
			i++
		case c == '+' && i == 0 && len(text) > 1 && (text[1] == ' ' || text[1] == '\t'):
			i++
		case strings.HasPrefix(text[i:], "│"):
			i += len("│")
		case isDigit(c) && i < 12 && lineNumber(text[i:]) > 0:
			i += lineNumber(text[i:])
		default:
			return i
		}
	}
	return i
}

// lineNumber returns the length of a line number at the start of s: digits and a tab, blank, colon or bar.
func lineNumber(s string) int {
	i := 0
	for i < len(s) && i < 8 && isDigit(s[i]) {
		i++
	}
	if i > 0 && i < len(s) && (s[i] == '\t' || s[i] == ' ' || s[i] == ':' || s[i] == '|') {
		return i + 1
	}
	return 0
}

// shortestBody is the least length, in bytes, of a row that is held as a possible key body.
const shortestBody = 40

// bodyRow says whether the row looks like the next of a key's body: as long as those held, or the one short end.
func (e *engine) bodyRow(text string) (from, to int, ok bool) {
	from, to, ok = keyBody(text)
	if !ok {
		return 0, 0, false
	}
	n := to - from
	if e.wait != waitBody || len(e.rows) == 0 {
		return from, to, n >= shortestBody
	}
	width := e.rows[0].to - e.rows[0].from
	if e.short || n > width {
		return from, to, false
	}
	if n < width {
		e.short = true
	}
	return from, to, true
}

// maskBodies masks the held rows: an END of a private key followed them.
func (e *engine) maskBodies() {
	for i := range e.rows {
		r := &e.rows[i]
		if r.to-r.from >= 4 {
			f := finding{spans: r.spans[:0]}
			f.addBody(r.raw, r.from, r.to)
			r.spans = f.spans
		}
	}
}

// armour handles dashes at i: BEGIN and END lines, and a whole block in one line (JSON with \n in it). It returns
// where to go on.
func (s *scanner) armour(i int) int {
	t := s.t
	j := i
	for j < len(t) && t[j] == '-' {
		j++
	}
	if j-i < 4 {
		return j
	}
	rest := strings.TrimPrefix(t[j:], " ")
	begin := strings.HasPrefix(rest, "BEGIN ")
	if !begin && !strings.HasPrefix(rest, "END ") {
		return j
	}
	label, _, ok := strings.Cut(rest[:min(len(rest), 80)], "----")
	if !ok {
		return j
	}
	private := strings.Contains(label, "PRIVATE KEY")
	after := len(t) - len(rest) + len(label)
	for after < len(t) && t[after] == '-' {
		after++
	}
	switch {
	case !begin:
		s.f.end = s.f.end || private && s.next.block == blockNone
		s.next.block = blockNone
	case !private:
		s.next.block = blockPublic
	default:
		return s.privateBlock(after)
	}
	return after
}

// privateBlock masks what follows a BEGIN in the same line.
func (s *scanner) privateBlock(after int) int {
	t := s.t
	for strings.HasPrefix(t[after:], `\n`) || strings.HasPrefix(t[after:], `\r`) {
		after += 2
	}
	if s.noEnd < after {
		s.noEnd = len(t)
		if k := strings.Index(t[after:], "---"); k >= 0 {
			s.noEnd = after + k
		}
	}
	end := s.noEnd
	if end == len(t) { // no END: as far as it looks like a key
		end = after
		for end < len(t) && (base64Byte(t[end]) || t[end] == '\\' || t[end] == ' ') {
			end++
		}
		for end < len(t) && tokenByte(t[end]) { // no token is to be cut in two
			end++
		}
	} else {
		s.next.block = blockNone
	}
	if end == len(t) {
		s.next.block, s.next.width = blockPrivate, 0
	}
	if end-after >= 16 && !strings.Contains(t[after:end], markOpen) {
		s.f.add(after, end, keyKind)
		return end
	}
	return after
}

type yamlState int

const (
	yamlNone   yamlState = iota
	yamlSecret           // after "kind: Secret"
	yamlData             // below its data or stringData
)

// manifest follows a Kubernetes Secret over lines: below data every value is one.
func (s *scanner) manifest() {
	s.next.yaml = s.prev.yaml
	switch line := strings.TrimSpace(s.t); {
	case strings.HasPrefix(line, "Private-Lines: "): // PuTTY key file
		s.next.block, s.next.width = blockPrivate, 0
	case line == "kind: Secret":
		s.next.yaml = yamlSecret
	case line == "---" || strings.HasPrefix(line, "kind:"):
		s.next.yaml = yamlNone
	case s.prev.yaml == yamlSecret && (line == "data:" || line == "stringData:"):
		s.next.yaml = yamlData
	case s.prev.yaml == yamlData && s.t != "" && s.t[0] != ' ' && s.t[0] != '\t':
		s.next.yaml = yamlSecret
		s.prev.yaml = yamlSecret
	}
}
