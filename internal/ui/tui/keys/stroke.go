// Package keys knows what keys are called and what a terminal sends for them. It is pure.
package keys

import (
	"strconv"
	"strings"
	"unicode"
)

// Marks of a paste, for a program that asked for them, as terminals write them.
const (
	PasteBegin = "\x1b[200~"
	PasteEnd   = "\x1b[201~"
)

// Paste is a pasted text as a program in a terminal gets it: between marks when it asked for those, else as if it were
// typed. Only characters, tabs and line ends are left of it, so no text ends its own paste, and none is a key (security.md,
// case T37). lines is how many times what is sent presses Enter.
func Paste(text string, bracketed bool) (keys string, lines int) {
	text = strings.NewReplacer(PasteBegin, "", PasteEnd, "").Replace(strings.ToValidUTF8(text, ""))
	text = strings.Map(func(r rune) rune { // taking marks out can have made one
		if unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' {
			return -1
		}
		return r
	}, text)
	if bracketed {
		return PasteBegin + text + PasteEnd, 0
	}
	keys = strings.NewReplacer("\r\n", "\r", "\n", "\r").Replace(text)
	return keys, strings.Count(keys, "\r")
}

// Focus is what a terminal sends when its window gets or loses the focus, to a program that asked for it.
func Focus(in bool) string {
	if in {
		return "\x1b[I"
	}
	return "\x1b[O"
}

// Stroke is what a terminal sends for a key, by the key's name and the text that it writes; empty for a key that sends
// nothing. application is the mode of the arrow keys that the program asked for.
func Stroke(name, text string, shift, ctrl, application bool) string {
	if text != "" {
		return text
	}
	rest, alt := strings.CutPrefix(name, "alt-")
	modifier := 1
	if shift {
		modifier++
	}
	if alt {
		modifier += 2
	}
	if ctrl {
		modifier += 4
	}
	if seq := sequence(rest, modifier, application); seq != "" {
		return seq
	}
	seq := plainKey(rest)
	if seq != "" && alt {
		return "\x1b" + seq
	}
	return seq
}

// plainKey is a key that is one character.
func plainKey(name string) string {
	switch name {
	case "enter":
		return "\r"
	case "esc":
		return "\x1b"
	case "tab":
		return "\t"
	case "backspace":
		return "\x7f"
	case "space":
		return " "
	case "ctrl-space":
		return "\x00"
	}
	if c, ok := strings.CutPrefix(name, "ctrl-"); ok {
		if len(c) == 1 && (c[0] >= 'a' && c[0] <= 'z' || strings.ContainsAny(c, `[\]^_@`)) {
			return string(rune(c[0] & 0x1f))
		}
		return ""
	}
	if len([]rune(name)) == 1 { // with alt
		return name
	}
	return ""
}

// sequence is a key that sends more than a character: those of the arrows and their like end in a letter, the others in ~.
func sequence(name string, modifier int, application bool) string {
	if name == "shift-tab" {
		return "\x1b[Z"
	}
	letters := map[string]string{"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F", "f1": "P", "f2": "Q", "f3": "R", "f4": "S"}
	if letter, ok := letters[name]; ok {
		switch {
		case modifier > 1:
			return "\x1b[1;" + strconv.Itoa(modifier) + letter
		case application || name[0] == 'f':
			return "\x1bO" + letter
		}
		return "\x1b[" + letter
	}
	numbers := map[string]string{
		"insert": "2", "delete": "3", "pgup": "5", "pgdn": "6",
		"f5": "15", "f6": "17", "f7": "18", "f8": "19", "f9": "20", "f10": "21", "f11": "23", "f12": "24",
	}
	number, ok := numbers[name]
	switch {
	case !ok:
		return ""
	case modifier > 1:
		return "\x1b[" + number + ";" + strconv.Itoa(modifier) + "~"
	}
	return "\x1b[" + number + "~"
}
