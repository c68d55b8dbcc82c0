//go:build ignore

package main

import (
	"fmt"
	"math/rand/v2"
)

// A stream is listed with the reason why SCV shows something else than xterm.js and tmux agree on; "" for none.
type stream struct{ name, input, why string }

const fill = "\x1b[2J\x1b[Haaaaa\r\nbbbbb\r\nccccc\r\nddddd\r\neeeee\r\nfffff"

func listed() []stream { return append(moving(), changing()...) }

// moving streams are on margins, the cursor, wrapping and tabs.
func moving() []stream {
	return []stream{
		{"DECSTBM scrolls", fill + "\x1b[2;4r\x1b[4;1H\nx", ""},
		{"DECSTBM and RI", fill + "\x1b[2;4r\x1b[2;3H\x1bMx", ""},
		{"a line feed below the region", fill + "\x1b[2;3r\x1b[6;1H\n\nx", ""},
		{"one row is no region", fill + "\x1b[3;3r\x1b[3;1H\nx", ""},
		{"DECSTBM takes the cursor home", fill + "\x1b[4;4H\x1b[2;5rx", ""},
		{"DECOM", fill + "\x1b[2;4r\x1b[?6h\x1b[9;2Hx\x1b[1;1Hy", ""},
		{"CUP without DECOM leaves the region", fill + "\x1b[2;4r\x1b[6;2Hx", ""},
		{"CUU and CUD stop at the region", fill + "\x1b[2;4r\x1b[3;1H\x1b[9Ax\x1b[9By", ""},
		{"CUU from below passes into it", fill + "\x1b[2;4r\x1b[6;1H\x1b[9Ax", ""},
		{"CNL and CPL", fill + "\x1b[3;3H\x1b[2Ex\x1b[9Fy", ""},
		{"VPA, HPA, VPR, HPR", "\x1b[3dx\x1b[5`y\x1b[2ez\x1b[2aw", ""},
		{"autowrap", "0123456789ab", ""},
		{"EL in the last column", "0123456789\x1b[Kx", "the cursor stands in the last column while a wrap waits, and EL erases what it stands on, as in xterm"},
		{"a return ends the wait", "0123456789\rx", ""},
		{"CUF ends the wait", "0123456789\x1b[Cx", ""},
		{"CUB from the wait", "0123456789\x1b[Dx", ""},
		{"CUU ends the wait", "a\r\n0123456789\x1b[Ax", ""},
		{"no autowrap", "\x1b[?7l0123456789abc\x1b[?7hde", ""},
		{"SGR keeps the wait", "0123456789\x1b[1mx", ""},
		{"tabs", "a\tb\x1b[1;3H\x1bH\x1b[1;1H\tc", ""},
		{"TBC", "\x1b[3ga\tb", ""},
		{"CHT and CBT", "\x1b[1Ix\x1b[2Zy", ""},
	}
}

// changing streams are on what changes text, screens, sets and the syntax.
func changing() []stream {
	return []stream{
		{"REP", "ab\x1b[3bc", ""},
		{"REP over the edge", "0123456x\x1b[5by", ""},
		{"IRM", "abcdef\x1b[1;3H\x1b[4hXY\x1b[4lZ", ""},
		{"ICH", "abcdefghij\x1b[1;3H\x1b[2@x", ""},
		{"DCH", "abcdefghij\x1b[1;3H\x1b[2Px", ""},
		{"ECH", "abcdefghij\x1b[1;3H\x1b[4Xx", ""},
		{"IL", fill + "\x1b[2;3H\x1b[2Lx", ""},
		{"DL", fill + "\x1b[2;3H\x1b[2Mx", ""},
		{"IL in the region", fill + "\x1b[2;4r\x1b[3;1H\x1b[9Lx", ""},
		{"DL in the region", fill + "\x1b[2;4r\x1b[3;1H\x1b[Mx", ""},
		{"IL outside of it", fill + "\x1b[2;4r\x1b[5;1H\x1b[Lx", ""},
		{"SU and SD", fill + "\x1b[2S\x1b[Tx", ""},
		{"SU in the region", fill + "\x1b[2;5r\x1b[2Sx", ""},
		{"ED 0, 1 and 2", fill + "\x1b[3;3H\x1b[J\x1b[2;2H\x1b[1Jx", ""},
		{"EL 0, 1 and 2", fill + "\x1b[3;3H\x1b[K\x1b[2;2H\x1b[1K\x1b[5;1H\x1b[2Kx", ""},
		{"DECALN", "\x1b[2;4r\x1b#8\x1b[2;2Hx", ""},
		{"DECSC and DECRC", "ab\x1b7\x1b[4;4Hx\x1b8y", ""},
		{"DECRC without DECSC", "ab\r\ncd\x1b8x", ""},
		{"DECRC keeps DECOM", fill + "\x1b[2;4r\x1b[?6h\x1b7\x1b[?6l\x1b8\x1b[1;1Hx", ""},
		{"alternate screen 1049", "main\x1b[?1049halt\x1b[?1049lx", ""},
		{"1049 twice", "\x1b[?1049habc\x1b[?1049hd", ""},
		{"1049 left twice", "\x1b[?6h\x1b[2;4rab\x1b[?1049l\r\nx", "DECRC without DECSC goes home and ends DECOM (VT510)"},
		{"alternate screen 47", "main\x1b[?47halt\x1b[?47lx", ""},
		{"alternate screen 1047", "main\x1b[?1047halt\x1b[?1047l\x1b[?1047hx", ""},
		{"DEC graphics", "\x1b(0lqkx\x1b(Bq", ""},
		{"SO and SI", "\x1b)0q\x0eq\x0fq", ""},
		{"IND, NEL, RI", fill + "\x1b[6;3H\x1bDx\x1bEy\x1b[1;2H\x1bMz", ""},
		{"RIS", "\x1b[2;4r\x1b[?6h\x1b[3;3Hx\x1bcy", ""},
		{"DECSTR", "\x1b[2;4r\x1b[?6h\x1b[4h\x1b[!p\x1b[1;1Hxy\x1b[1;1Hz", ""},
		{"wide characters", "a世b\x1b[1;2Hx", ""},
		{"wide at the edge", "012345678世x", ""},
		{"combining", "e\u0301x", ""},
		{"errors in UTF-8", "a\xffb\xe4\xb8c\xf0\x9f\x92d", "an unfinished character is one U+FFFD for its maximal subpart, as Unicode says (chapter 3.9)"},
		{"LNM", "\x1b[20hab\ncd\x1b[20l\nx", ""},
		{"CAN and SUB in a sequence", "a\x1b[3\x18b\x1b[3\x1ac", ""},
		{"ESC in a sequence", "a\x1b[3\x1b[2Cb", ""},
		{"a control in a sequence", "ab\x1b[1\r;3Hx", ""},
		{"strings", "a\x1b]0;t\x07b\x1bPq\x1b\\c\x1b_x\x1b\\d\x1b^y\x1b\\e\x1bXz\x1b\\f", ""},
		{"colons", "\x1b[38:2::1:2:3;4:3mab", ""},
		{"unknown functions", "a\x1b[5;6yb\x1b[?9zc\x1b%Gd\x1b[>1;2;3vef", ""},
		{"backspace at the left", "ab\b\b\bx", ""},
		{"reverse wrap", "\x1b[?45h0123456789ab\b\b\b\bx", ""},
	}
}

// parts are what random streams are made of: functions that SCV, xterm.js and tmux all claim to have.
func part(random *rand.Rand) string {
	n := func() int { return random.IntN(12) }
	switch random.IntN(16) {
	case 0, 1, 2:
		return "text of some words"[random.IntN(8) : 8+random.IntN(10)]
	case 3:
		return fmt.Sprintf("\x1b[%d;%dH", n(), n())
	case 4:
		return fmt.Sprintf("\x1b[%d%c", n(), "ABCDEFGdX@PLMST"[random.IntN(15)])
	case 5:
		return fmt.Sprintf("\x1b[%d%c", random.IntN(3), "JK"[random.IntN(2)])
	case 6:
		return fmt.Sprintf("\x1b[%d;%dr", random.IntN(5), 3+random.IntN(6))
	case 7:
		return []string{"\x1bM", "\x1bD", "\x1bE", "\x1b7", "\x1b8"}[random.IntN(5)]
	case 8:
		return []string{"\x1b[?6h", "\x1b[?6l", "\x1b[4h", "\x1b[4l", "\x1b[?7l", "\x1b[?7h"}[random.IntN(6)]
	case 9:
		return []string{"世", "e\u0301", "é", "漢字"}[random.IntN(4)]
	case 10:
		return "\t"
	case 11:
		return fmt.Sprintf("\x1b[%d;4%dm", random.IntN(8), random.IntN(8))
	case 12:
		return []string{"\x1b[?1049h", "\x1b[?1049l"}[random.IntN(2)]
	default:
		return []string{"\r\n", "\r", "\n", "\b"}[random.IntN(4)]
	}
}
