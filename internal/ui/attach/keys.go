package attach

import (
	"strconv"
	"strings"

	"scv/internal/ui/tui/keys"
)

// Keys that turn the pages of what went up over the top, with Alt or Shift. Many terminals keep those with Shift for
// themselves.
const (
	pageUpAlt     = "\x1b[5;3~"
	pageUpShift   = "\x1b[5;2~"
	pageDownAlt   = "\x1b[6;3~"
	pageDownShift = "\x1b[6;2~"
)

// mouseBegin is how a terminal begins its report of the mouse in SGR's form, which is the one that it is asked for.
const mouseBegin = "\x1b[<"

// wants is what the agent asked of its terminal.
type wants struct {
	mouse, encoding uint16
	rows, cols      int  // of the window that are the agent's
	pages           bool // there is something above; else the keys that turn pages are the agent's
}

// sift divides keys into what the agent gets and the pages that are turned: up above 0, down below. Reports of the mouse
// become what the agent asked for, or nothing.
func sift(text string, w wants) (send string, turn int) {
	var b strings.Builder
	for len(text) > 0 {
		at := strings.IndexByte(text, 0x1b)
		if at < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:at])
		text = text[at:]
		switch n := pageKey(text); {
		case n != 0 && w.pages:
			turn += n
			text = text[len(pageUpAlt):]
		case strings.HasPrefix(text, mouseBegin):
			end := strings.IndexAny(text, "Mm")
			if end < 0 {
				end = len(text) - 1 // no report that anyone knows
			}
			b.WriteString(w.report(text[len(mouseBegin) : end+1]))
			text = text[end+1:]
		default:
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return b.String(), turn
}

func pageKey(text string) int {
	switch {
	case strings.HasPrefix(text, pageUpAlt), strings.HasPrefix(text, pageUpShift):
		return 1
	case strings.HasPrefix(text, pageDownAlt), strings.HasPrefix(text, pageDownShift):
		return -1
	}
	return 0
}

// report turns a report such as 0;12;3M into the agent's form; "" for one that it did not ask for, that does not fit into
// that form, or that is not on its part of the window.
func (w wants) report(sgr string) string {
	if sgr == "" {
		return ""
	}
	parts := strings.Split(sgr[:len(sgr)-1], ";")
	if len(parts) != 3 {
		return ""
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 || v > 9999 {
			return ""
		}
		n[i] = v
	}
	m := keys.Mouse{Button: n[0], Col: n[1], Row: n[2], Up: strings.HasSuffix(sgr, "m")}
	if m.Row < 1 || m.Row > w.rows || m.Col < 1 || m.Col > w.cols {
		return ""
	}
	return m.Report(w.mouse, w.encoding)
}
