//go:build linux

package acceptance

import (
	"os"
	"path/filepath"
	"testing"

	"scv/internal/terminal/screen"
	"scv/internal/testkit/need"
)

// TestV4_TmuxShowsTheSame of streams from all that agents and full-screen programs do: another terminal, with nothing of ours
// in it, comes to the same rows. make terminal-diff asks more streams, random ones among them, and xterm.js as well.
func TestV4_TmuxShowsTheSame(t *testing.T) {
	need.Program(t, "tmux")
	const six = "\x1b[2J\x1b[Hone\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix"
	l := newLab(t)
	m := l.tmux(20, 8)
	file := filepath.Join(l.work, "stream")
	for name, stream := range map[string]string{
		"a region that scrolls":         six + "\x1b[2;4r\x1b[4;1H\n\nhere\x1b[r",
		"a region that scrolls down":    six + "\x1b[2;4r\x1b[2;1H\x1bM\x1bMhere",
		"origin mode":                   six + "\x1b[3;5r\x1b[?6h\x1b[1;5Ha\x1b[99;5Hz",
		"lines put in and taken out":    six + "\x1b[2;1H\x1b[2L\x1b[5;1H\x1b[Mx",
		"characters put in, taken out":  "0123456789\x1b[1;3H\x1b[2@ab\x1b[1;8H\x1b[3P\x1b[2X",
		"insert mode":                   "0123456789\x1b[1;4H\x1b[4hxyz\x1b[4l-",
		"erasing":                       six + "\x1b[3;3H\x1b[K\x1b[4;3H\x1b[1K\x1b[5;2H\x1b[J",
		"a line that wraps":             "0123456789012345678901234\r\nx\x1b[?7l\x1b[4;1H0123456789012345678901234",
		"a wait to wrap":                "01234567890123456789\ra\x1b[2;1H01234567890123456789\x1b[31mb",
		"tabs":                          "a\tb\tc\x1b[2;4H\x1bH\x1b[2;1H\tx\x1b[3g\ty",
		"the cursor kept":               six + "\x1b[2;5H\x1b7\x1b[6;1H\x1b8here\x1b[4;4H\x1b[s\x1b[H\x1b[uthere",
		"the other screen and back":     six + "\x1b[2;2H\x1b[?1049h\x1b[2J\x1b[Hother\x1b[?1049lback",
		"wide text":                     "你好 world 한글\r\n0123456789012345678你好",
		"marks that combine":            "cafe\u0301 n\u0303 a\u0308o",
		"repeats, up and down":          six + "\x1b[3;1Hz\x1b[4b\x1b[2S\x1b[T\x1b[Aup\x1b[2Bdown",
		"controls inside of a sequence": "ab\x1b[\r2Cc\x1b[2\x18d\x1b]0;a title\x07e\x1bP1$q\x1b\\f",
		"a reset":                       six + "\x1b[2;4r\x1b[?6h\x1b[4h\x1bcanew",
	} {
		t.Run(name, func(t *testing.T) {
			l.must(os.WriteFile(file, []byte(stream), 0o600))
			// The pane answers DSR once it has drawn what came before, and only then tells us.
			m.does("respawn-pane", "-k", "stty raw -echo; cat "+file+"; printf '\\033[5n'; dd bs=1 count=4 >/dev/null 2>&1; tmux wait-for -S drawn; exec sleep 1000")
			m.does("wait-for", "drawn")
			s := screen.New(20, 8)
			_, _ = s.Write([]byte(stream))
			if text := m.does("capture-pane", "-p"); rows(text) != rows(rowsOf(s)) {
				t.Errorf("tmux shows\n%s\nand our emulator\n%s", rows(text), rows(rowsOf(s)))
			}
		})
	}
}
