package term

import (
	"strconv"
	"strings"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"

	"scv/internal/ui/tui/canvas"
)

// A ground is what is known of the terminal's background.
type ground uint8

const (
	unknownGround ground = iota
	darkGround
	lightGround
)

// shades are the foregrounds of the roles, as indices of the xterm palette: its first 16 are the owner's own and are used
// while nobody knows the background; the others are fixed, and have a contrast of at least 4.5 on their ground. The
// background is never painted.
func shades(g ground) [canvas.Roles]int {
	const own = -1 // the terminal's foreground
	switch g {
	case darkGround:
		return [canvas.Roles]int{canvas.Body: own, canvas.Strong: own, canvas.Faint: 248, canvas.Wait: 221, canvas.Work: 81, canvas.Done: 114, canvas.Fail: 210, canvas.Doubt: 183}
	case lightGround:
		return [canvas.Roles]int{canvas.Body: own, canvas.Strong: own, canvas.Faint: 240, canvas.Wait: 94, canvas.Work: 24, canvas.Done: 22, canvas.Fail: 124, canvas.Doubt: 54}
	case unknownGround:
	}
	return [canvas.Roles]int{canvas.Body: own, canvas.Strong: own, canvas.Faint: own, canvas.Wait: 3, canvas.Work: 6, canvas.Done: 2, canvas.Fail: 1, canvas.Doubt: 5}
}

// A theme is how each role looks, plain and chosen. It is made once: the library compares styles.
type theme [canvas.Roles][2]tcell.Style

// newTheme makes the styles for a terminal of so many colours. With none, what matters is bold and what is chosen is
// reversed; every role is told by its words too.
func newTheme(g ground, colours int) *theme {
	if colours < 256 {
		g = unknownGround
	}
	var t theme
	for role, index := range shades(g) {
		style := tcell.StyleDefault
		if index >= 0 && colours >= 8 {
			style = style.Foreground(color.PaletteColor(index))
		}
		switch canvas.Role(role) {
		case canvas.Strong, canvas.Wait, canvas.Fail:
			style = style.Bold(true)
		default:
		}
		t[role] = [2]tcell.Style{style, style.Reverse(true)}
	}
	return &t
}

// groundOf reads the answer to OSC 11: 11;rgb:RRRR/GGGG/BBBB, each part one to four hex digits.
func groundOf(a Answer) ground {
	text, ok := strings.CutPrefix(string(a), "11;rgb:")
	if !ok {
		if text, ok = strings.CutPrefix(string(a), "11;rgba:"); !ok {
			return unknownGround
		}
	}
	parts := strings.Split(text, "/")
	if len(parts) < 3 {
		return unknownGround
	}
	weights, light := [3]float64{0.2126, 0.7152, 0.0722}, 0.0
	for i, w := range weights {
		n, err := strconv.ParseUint(parts[i], 16, 16)
		if err != nil || len(parts[i]) == 0 {
			return unknownGround
		}
		light += w * float64(n) / float64(uint64(1)<<(4*len(parts[i]))-1)
	}
	if light < 0.5 {
		return darkGround
	}
	return lightGround
}

// styled is the style of a cell of another terminal, in as many colours as this one has.
func styled(l canvas.Look, colours int) tcell.Style {
	style := tcell.StyleDefault.Bold(l.Bold).Italic(l.Italic).Underline(l.Underline).Reverse(l.Inverse)
	if colours < 8 {
		return style
	}
	if c, ok := shade(l.Fg, colours); ok {
		style = style.Foreground(c)
	}
	if c, ok := shade(l.Bg, colours); ok {
		style = style.Background(c)
	}
	return style
}

func shade(c canvas.Colour, colours int) (color.Color, bool) {
	if i, ok := c.Index(); ok {
		return color.PaletteColor(int(i)), int(i) < colours
	}
	r, g, b, ok := c.Parts()
	return color.NewRGBColor(int32(r), int32(g), int32(b)), ok && colours >= 256
}
