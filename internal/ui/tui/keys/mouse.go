package keys

import (
	"fmt"
	"unicode/utf8"
)

// A Mouse is one thing that the mouse did: the button as terminals number it, 0 to 2, and 3 for none, with 4 for Shift, 8 for
// Alt and 16 for Ctrl, 32 when it moved and 64 for the wheel; its cell, from 1; and whether the button was let go. Modes and
// forms are those of xterm's ctlseqs.
type Mouse struct {
	Button, Col, Row int
	Up               bool
}

// Report is what a program gets that asked for the mouse by mode (9, 1000, 1002 or 1003) in a form (0, 1005, 1006 or 1015);
// empty for what it did not ask for, and for what does not fit into that form.
func (m Mouse) Report(mode, form uint16) string {
	moved := m.Button&32 != 0
	switch {
	case mode == 0, mode == 9 && (m.Up || moved || m.Button&64 != 0), mode == 1000 && moved, mode == 1002 && moved && m.Button&3 == 3:
		return ""
	case mode == 9:
		m.Button &= 3 // without the keys that were held
	}
	plain := m.Button
	if m.Up {
		plain = m.Button&^3 | 3
	}
	switch form {
	case 1006:
		end := 'M'
		if m.Up {
			end = 'm'
		}
		return fmt.Sprintf("\x1b[<%d;%d;%d%c", m.Button, m.Col, m.Row, end)
	case 1015:
		return fmt.Sprintf("\x1b[%d;%d;%dM", plain+32, m.Col, m.Row)
	case 1005:
		return characters(2015, plain, m.Col, m.Row)
	case 0:
		return characters(95, plain, m.Col, m.Row) // bytes above 127 do not pass the wire
	}
	return "" // in pixels, which nobody knows here
}

// characters are the values as characters behind the blank; none when one is beyond the largest.
func characters(largest int, values ...int) string {
	out := []byte("\x1b[M")
	for _, v := range values {
		if v > largest {
			return ""
		}
		out = utf8.AppendRune(out, rune(v+32))
	}
	return string(out)
}
