package wire

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how many arrays and objects may stand in each other, in unknown fields too.
const maxDepth = 127

// DecodeError says where and why a text was refused.
type DecodeError struct {
	// Path is the field, such as command.handle; empty for the text as a whole.
	Path string
	// Offset is the byte at which reading stopped.
	Offset int
	// Problem says what is wrong.
	Problem string
}

// Error returns the problem and its place.
func (e *DecodeError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s (byte %d)", e.Problem, e.Offset)
	}
	return fmt.Sprintf("field %s: %s (byte %d)", e.Path, e.Problem, e.Offset)
}

// decoder reads one text, which is valid UTF-8, from left to right. It is used once and by one goroutine.
type decoder struct {
	data  []byte
	at    int
	depth int
}

func (d *decoder) errorf(format string, args ...any) error {
	return &DecodeError{Offset: d.at, Problem: fmt.Sprintf(format, args...)}
}

func (d *decoder) space() {
	for d.at < len(d.data) {
		switch d.data[d.at] {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return
		}
	}
}

// peek returns the first byte of the next token, or 0 at the end.
func (d *decoder) peek() byte {
	d.space()
	if d.at >= len(d.data) {
		return 0
	}
	return d.data[d.at]
}

func (d *decoder) expect(c byte) error {
	if d.peek() != c {
		return d.unexpected(fmt.Sprintf("%q", string(c)))
	}
	d.at++
	return nil
}

func (d *decoder) unexpected(wanted string) error {
	if d.at >= len(d.data) {
		return d.errorf("the text ends where %s should be", wanted)
	}
	return d.errorf("%q stands where %s should be", string(d.data[d.at]), wanted)
}

func (d *decoder) end() error {
	if d.peek(); d.at < len(d.data) {
		return d.errorf("more follows after the value")
	}
	return nil
}

// word consumes a literal such as true if it is next.
func (d *decoder) word(text string) bool {
	d.space()
	if len(d.data)-d.at < len(text) || string(d.data[d.at:d.at+len(text)]) != text {
		return false
	}
	d.at += len(text)
	return true
}

func (d *decoder) bool() (bool, error) {
	switch {
	case d.word("true"):
		return true, nil
	case d.word("false"):
		return false, nil
	}
	return false, d.unexpected("true or false")
}

// number consumes a number and returns its text.
func (d *decoder) number() ([]byte, error) {
	d.space()
	start := d.at
	d.skipByte('-')
	first := d.at
	digits := d.digits()
	if digits == 0 {
		return nil, d.unexpected("a number")
	}
	if digits > 1 && d.data[first] == '0' {
		return nil, d.errorf("a number begins with 0")
	}
	if d.skipByte('.') && d.digits() == 0 {
		return nil, d.unexpected("a digit")
	}
	if d.skipByte('e') || d.skipByte('E') {
		if !d.skipByte('-') {
			d.skipByte('+')
		}
		if d.digits() == 0 {
			return nil, d.unexpected("a digit")
		}
	}
	return d.data[start:d.at], nil
}

func (d *decoder) skipByte(c byte) bool {
	if d.at < len(d.data) && d.data[d.at] == c {
		d.at++
		return true
	}
	return false
}

func (d *decoder) digits() int {
	start := d.at
	for d.at < len(d.data) && d.data[d.at] >= '0' && d.data[d.at] <= '9' {
		d.at++
	}
	return d.at - start
}

// uint reads an integer without sign, fraction and exponent that fits the bits.
func (d *decoder) uint(bits int) (uint64, error) {
	text, err := d.number()
	if err != nil {
		return 0, err
	}
	var n uint64
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, d.errorf("%.40s is not a whole number from 0", text)
		}
		digit := uint64(c - '0')
		if n > (1<<64-1)/10 || n*10 > 1<<64-1-digit {
			return 0, d.errorf("%.40s is too large", text)
		}
		n = n*10 + digit
	}
	if bits < 64 && n>>bits != 0 {
		return 0, d.errorf("%.40s is too large", text)
	}
	return n, nil
}

func (d *decoder) float() (float64, error) {
	text, err := d.number()
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return 0, d.errorf("%.40s is too large", text)
	}
	return f, nil
}

// text reads a string. What it returns may point into the data: use it before the next read, or copy it.
func (d *decoder) text() ([]byte, error) {
	if d.peek() != '"' {
		return nil, d.unexpected("a string")
	}
	start := d.at + 1
	for i := start; i < len(d.data); i++ {
		switch c := d.data[i]; {
		case c == '"':
			d.at = i + 1
			return d.data[start:i], nil
		case c == '\\':
			return d.escapedText(start, i)
		case c < 0x20:
			d.at = i
			return nil, d.errorf("a control byte stands in a string")
		}
	}
	d.at = len(d.data)
	return nil, d.errorf("the text ends inside a string")
}

// escapedText goes on with a string that began at start and has its first escape at i.
func (d *decoder) escapedText(start, i int) ([]byte, error) {
	out := append(make([]byte, 0, 2*(i-start)+32), d.data[start:i]...)
	for i < len(d.data) {
		c := d.data[i]
		switch {
		case c == '"':
			d.at = i + 1
			return out, nil
		case c < 0x20:
			d.at = i
			return nil, d.errorf("a control byte stands in a string")
		case c != '\\':
			out = append(out, c)
			i++
		default:
			r, size, err := escape(d.data[i:])
			if err != nil {
				d.at = i
				return nil, d.errorf("%v", err)
			}
			out = utf8.AppendRune(out, r)
			i += size
		}
	}
	d.at = len(d.data)
	return nil, d.errorf("the text ends inside a string")
}

var (
	errEscape    = errors.New("a string holds an escape that does not exist")
	errSurrogate = errors.New("a string holds half of a surrogate pair")
)

// escape reads the escape sequence that the text begins with.
func escape(text []byte) (r rune, size int, err error) {
	if len(text) < 2 {
		return 0, 0, errEscape
	}
	switch text[1] {
	case '"', '\\', '/':
		return rune(text[1]), 2, nil
	case 'b':
		return '\b', 2, nil
	case 'f':
		return '\f', 2, nil
	case 'n':
		return '\n', 2, nil
	case 'r':
		return '\r', 2, nil
	case 't':
		return '\t', 2, nil
	case 'u':
		return unicodeEscape(text)
	}
	return 0, 0, errEscape
}

func unicodeEscape(text []byte) (r rune, size int, err error) {
	high, ok := hex4(text)
	if !ok {
		return 0, 0, errEscape
	}
	if !utf16.IsSurrogate(high) {
		return high, 6, nil
	}
	low, ok := hex4(text[6:])
	if !ok {
		return 0, 0, errSurrogate
	}
	pair := utf16.DecodeRune(high, low)
	if pair == utf8.RuneError {
		return 0, 0, errSurrogate
	}
	return pair, 12, nil
}

// hex4 reads a \uXXXX that the text begins with.
func hex4(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range text[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func (d *decoder) enter(open byte) error {
	if err := d.expect(open); err != nil {
		return err
	}
	if d.depth++; d.depth > maxDepth {
		return d.errorf("more than %d levels stand in each other", maxDepth)
	}
	return nil
}

// array reads an array; element must consume one value.
func (d *decoder) array(element func() error) error {
	if err := d.enter('['); err != nil {
		return err
	}
	if d.peek() != ']' {
		for {
			if err := element(); err != nil {
				return err
			}
			if d.peek() != ',' {
				break
			}
			d.at++
		}
	}
	d.depth--
	return d.expect(']')
}

// object reads an object; member must consume one value. The name is good until member reads.
func (d *decoder) object(member func(name []byte) error) error {
	if err := d.enter('{'); err != nil {
		return err
	}
	if d.peek() != '}' {
		for {
			name, err := d.text()
			if err != nil {
				return err
			}
			if err := d.expect(':'); err != nil {
				return err
			}
			if err := member(name); err != nil {
				return err
			}
			if d.peek() != ',' {
				break
			}
			d.at++
		}
	}
	d.depth--
	return d.expect('}')
}

// skip consumes any value.
func (d *decoder) skip() error {
	switch c := d.peek(); {
	case c == '{':
		return d.object(func([]byte) error { return d.skip() })
	case c == '[':
		return d.array(d.skip)
	case c == '"':
		_, err := d.text()
		return err
	case c == '-' || c >= '0' && c <= '9':
		_, err := d.number()
		return err
	case d.word("null"), d.word("true"), d.word("false"):
		return nil
	}
	return d.unexpected("a value")
}
