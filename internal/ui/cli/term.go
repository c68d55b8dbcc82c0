package cli

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// The narrowest and the widest table.
const (
	minColumns     = 40
	maxColumns     = 400
	defaultColumns = 80
)

// columns is the width of the terminal that out is, or 0 when it is none. SCV_FORCE_TTY=<columns> makes it one, for
// tests of what a terminal shows.
func columns(out io.Writer, env func(string) string) int {
	if n, err := strconv.Atoi(env("SCV_FORCE_TTY")); err == nil && n > 0 {
		return min(max(n, minColumns), maxColumns)
	}
	file, ok := out.(*os.File)
	if !ok {
		return 0
	}
	n := width(file)
	if n == 0 {
		return 0
	}
	return min(max(n, minColumns), maxColumns)
}

// width is the number of columns of a terminal, 0 for anything else. A terminal that does not know is 80 wide.
func width(file *os.File) int {
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if size.Col == 0 {
		return defaultColumns
	}
	return int(size.Col)
}

// colourWanted follows NO_COLOR, CLICOLOR and TERM=dumb.
func colourWanted(env func(string) string) bool {
	return env("NO_COLOR") == "" && env("CLICOLOR") != "0" && env("TERM") != "dumb"
}
