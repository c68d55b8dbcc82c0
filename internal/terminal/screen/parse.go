package screen

import "unicode/utf8"

// The parser follows the state machine that DEC's terminals have (and ECMA-48's syntax): its steps are characters, not
// bytes, so the second half of a UTF-8 character is never taken for a control. What is not complete waits in the
// parser, which is why the cuts of the input do not matter.
const (
	inGround = iota
	inEscape
	inParams       // CSI, before its final character
	inIgnore       // a CSI that is malformed: to its final character
	inCommand      // OSC
	inString       // DCS, SOS, PM, APC: to ST, and nothing of it is kept
	numStates      // bound for restored states
	maxParams      = 32
	maxValue       = 9999
	maxCommandBody = 64 << 10 // of an OSC, in bytes; a longer one is consumed and forgotten
)

// params are the numbers of a control sequence. A value is -1 where none was written.
type params struct {
	N    int
	V    [maxParams]int32
	Sub  [maxParams]bool // written behind a colon
	Over bool            // more came than there is room for; they are dropped
}

// at returns parameter i, or def where it is not written or 0 stands for the default (def is then at least 1).
func (ps *params) at(i, def int) int {
	if i >= ps.N || ps.V[i] < 0 || ps.V[i] == 0 && def > 0 {
		return def
	}
	return int(ps.V[i])
}

type parser struct {
	State    uint8
	Need     uint8 // bytes that a character still lacks
	Low, Top uint8 // bounds of the next of them
	Code     rune
	Prefix   byte // one of < = > ? before the parameters, or 0
	Inter    [2]byte
	NInter   uint8 // 3: too many
	Params   params
	Body     []byte // of an OSC
	Long     bool   // the body was too long
	Ending   bool   // an ESC came in an OSC: a backslash ends it
}

// feed takes bytes of the program.
func (s *interpreter) feed(p []byte) {
	for i := 0; i < len(p); {
		if s.parse.State == inGround && s.parse.Need == 0 {
			if n := s.printASCII(p[i:]); n > 0 {
				i += n
				continue
			}
		}
		if s.parse.State == inParams && s.parse.NInter == 0 && s.parse.Need == 0 {
			i += s.parse.numbers(p[i:])
			if i == len(p) {
				return
			}
		}
		b := p[i]
		if s.parse.Need == 0 && b < utf8.RuneSelf {
			s.step(rune(b))
			i++
			continue
		}
		if !s.parse.byte(b) {
			s.step(utf8.RuneError) // b is looked at again
			continue
		}
		i++
		if s.parse.Need == 0 {
			s.step(s.parse.Code)
		}
	}
}

// byte takes one byte of a multi-byte character. It reports false when b does not belong to the character begun, which
// is then given up: its maximal subpart stands for one U+FFFD.
func (p *parser) byte(b byte) bool {
	if p.Need > 0 {
		if b < p.Low || b > p.Top {
			p.Need = 0
			return false
		}
		p.Code = p.Code<<6 | rune(b&0x3f)
		p.Need--
		p.Low, p.Top = 0x80, 0xbf
		return true
	}
	p.Low, p.Top = 0x80, 0xbf
	switch {
	case b >= 0xc2 && b <= 0xdf:
		p.Need, p.Code = 1, rune(b&0x1f)
	case b >= 0xe0 && b <= 0xef:
		p.Need, p.Code = 2, rune(b&0x0f)
		if b == 0xe0 {
			p.Low = 0xa0
		} else if b == 0xed {
			p.Top = 0x9f
		}
	case b >= 0xf0 && b <= 0xf4:
		p.Need, p.Code = 3, rune(b&0x07)
		if b == 0xf0 {
			p.Low = 0x90
		} else if b == 0xf4 {
			p.Top = 0x8f
		}
	default:
		p.Code = utf8.RuneError
	}
	return true
}

// step takes one character.
func (s *interpreter) step(r rune) {
	p := &s.parse
	switch {
	case r == 0x1b:
		p.Ending = p.State == inCommand
		p.State = inEscape
		p.NInter = 0
		return
	case r == 0x18 || r == 0x1a:
		p.State, p.Ending = inGround, false
		return
	case r >= 0x80 && r < 0xa0:
		s.c1(r)
		return
	}
	switch p.State {
	case inGround:
		s.ground(r)
	case inEscape:
		s.escape(r)
	case inParams:
		s.param(r)
	case inIgnore:
		s.ignore(r)
	case inCommand:
		s.body(r)
	}
}

// c1 is an 8-bit control, which stands for ESC and a letter. In a string only ST means anything.
func (s *interpreter) c1(r rune) {
	p := &s.parse
	if p.State == inCommand || p.State == inString {
		if r == 0x9c {
			if p.State == inCommand {
				s.command("\x1b\\")
			}
			p.State = inGround
		}
		return
	}
	p.State, p.NInter, p.Ending = inEscape, 0, false
	s.escape(r - 0x40)
}

func (s *interpreter) ground(r rune) {
	switch {
	case r < 0x20:
		s.control(r)
	case r != 0x7f:
		s.print(r)
	}
}

func (s *interpreter) escape(r rune) {
	p := &s.parse
	switch {
	case r < 0x20:
		s.control(r)
	case r < 0x30:
		p.Ending = false
		p.intermediate(byte(r))
	case r < 0x7f:
		ending := p.Ending
		p.State, p.Ending = inGround, false
		if p.NInter > 0 {
			s.escapeWith(byte(r))
			return
		}
		switch r {
		case '[':
			p.State, p.Prefix, p.NInter = inParams, 0, 0
			p.Params.N, p.Params.Over = 0, false
		case ']':
			p.State, p.Body, p.Long = inCommand, p.Body[:0], false
		case 'P', 'X', '^', '_':
			p.State = inString
		case '\\':
			if ending {
				s.command("\x1b\\")
			}
		default:
			s.escapeOne(byte(r))
		}
	case r > 0x7f:
		p.State, p.Ending = inGround, false
		s.print(r)
	}
}

func (p *parser) intermediate(b byte) {
	if p.NInter < 2 {
		p.Inter[p.NInter] = b
	}
	p.NInter = min(p.NInter+1, 3)
}

func (s *interpreter) param(r rune) {
	p := &s.parse
	switch {
	case r < 0x20:
		s.control(r)
	case r < 0x30:
		p.intermediate(byte(r))
	case r < 0x40 && p.NInter > 0:
		p.State = inIgnore
	case r <= '9':
		p.digit(int32(r - '0'))
	case r <= ';':
		p.separate(r == ':')
	case r < 0x40:
		if p.Params.N > 0 || p.Prefix != 0 {
			p.State = inIgnore
			return
		}
		p.Prefix = byte(r)
	case r < 0x7f:
		p.State = inGround
		s.csi(byte(r))
	case r > 0x7f:
		p.State = inGround
		s.print(r)
	}
}

// numbers takes the digits and semicolons that text begins with, which is nearly all of what control sequences are.
func (p *parser) numbers(text []byte) int {
	for i, b := range text {
		switch {
		case b >= '0' && b <= '9':
			p.digit(int32(b - '0'))
		case b == ';':
			p.separate(false)
		default:
			return i
		}
	}
	return len(text)
}

func (p *parser) digit(d int32) {
	ps := &p.Params
	if ps.N == 0 {
		ps.N, ps.V[0] = 1, -1
	}
	if ps.Over {
		return
	}
	v := &ps.V[ps.N-1]
	*v = min(max(*v, 0)*10+d, maxValue)
}

func (p *parser) separate(colon bool) {
	ps := &p.Params
	if ps.N == 0 {
		ps.N, ps.V[0] = 1, -1
	}
	if ps.N == maxParams {
		ps.Over = true
		return
	}
	ps.V[ps.N], ps.Sub[ps.N] = -1, colon
	ps.N++
}

func (s *interpreter) ignore(r rune) {
	switch {
	case r < 0x20:
		s.control(r)
	case r >= 0x40 && r < 0x7f:
		s.parse.State = inGround
	case r > 0x7f:
		s.parse.State = inGround
		s.print(r)
	}
}

// body collects an OSC. BEL ends it, as ST does; other controls are dropped.
func (s *interpreter) body(r rune) {
	p := &s.parse
	switch {
	case r == 0x07:
		p.State = inGround
		s.command("\x07")
	case r < 0x20 || r == 0x7f:
	case len(p.Body) > maxCommandBody:
		p.Long = true
	default:
		p.Body = utf8.AppendRune(p.Body, r)
	}
}
