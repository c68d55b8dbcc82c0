package player

import (
	"bufio"
	"fmt"
	"strings"
	"unicode"
)

// terminal is the session on a terminal: a screen of its own, lines that are typed and answered, and /quit.
func (v *voice) terminal() int {
	const enter, leave = "\x1b[?1049h\x1b[2J\x1b[H", "\x1b[?1049l"
	fmt.Fprintf(v.Out, "%s\x1b]0;demo agent\x07\x1b[1mdemo agent\x1b[m  session %s\r\n\r\nType a line; /quit leaves.\r\n\r\n> ", enter, printable(v.session))
	defer fmt.Fprint(v.Out, leave)
	lines := bufio.NewScanner(v.In)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch line {
		case "/quit":
			return 0
		case "":
		default:
			fmt.Fprintf(v.Out, "\x1b[2myou said:\x1b[m %s\r\n", printable(line))
		}
		fmt.Fprint(v.Out, "> ")
	}
	return 0
}

// printable is a line without what a terminal would take for more than text.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, line)
}
