package term

import (
	"strconv"
	"strings"

	"github.com/gdamore/tcell/v3"

	"scv/internal/ui/tui/model"
)

// wheelRows is how far one notch of the wheel turns.
const wheelRows = 3

// Take reads an event; ok is false for one that says nothing to the dashboard. What lies between the marks of a paste came
// past the library, so keys inside of one are none.
func (s *Screen) Take(event tcell.Event) (msg model.Msg, ok bool) {
	switch e := event.(type) {
	case *tcell.EventResize:
		s.Resized()
		cols, rows := e.Size()
		return model.Resized{Cols: cols, Rows: rows}, true
	case *tcell.EventKey:
		if s.pasting {
			return nil, false
		}
		return key(e)
	case *tcell.EventPaste:
		s.pasting = e.Start()
		if e.Start() {
			return nil, false
		}
		p, ok := s.tty.popPaste()
		return model.Pasted{Text: p.text, Cut: p.cut}, ok
	case *tcell.EventMouse:
		return s.mouse(e)
	case *tcell.EventFocus:
		return model.Watched{In: e.Focused}, !s.pasting
	}
	return nil, false
}

// buttons are those that a mouse holds down, in the order of their numbers on terminals.
const buttons = tcell.Button1 | tcell.Button2 | tcell.Button3

// mouse says what the mouse did. The library tells what is held down, so what was held before tells a press from a move.
func (s *Screen) mouse(e *tcell.EventMouse) (model.Msg, bool) {
	var c model.Clicked
	c.Col, c.Row = e.Position()
	now, before := e.Buttons(), s.held
	switch {
	case now&tcell.WheelUp != 0:
		c.Wheel, c.Button = -wheelRows, 64
	case now&tcell.WheelDown != 0:
		c.Wheel, c.Button = wheelRows, 65
	case now&^buttons != 0:
		return nil, false
	case now == before:
		c.Button = number(now) + 32
	case now&^before != 0:
		c.Button = number(now &^ before)
	default:
		c.Button, c.Up = number(before&^now), true
	}
	if now&^buttons == 0 {
		s.held = now
	}
	for _, m := range []struct {
		with tcell.ModMask
		adds int
	}{{tcell.ModShift, 4}, {tcell.ModAlt, 8}, {tcell.ModCtrl, 16}} {
		if e.Modifiers()&m.with != 0 {
			c.Button += m.adds
		}
	}
	return c, true
}

// number is that of a button; 3 for none.
func number(b tcell.ButtonMask) int {
	switch {
	case b&tcell.ButtonPrimary != 0:
		return 0
	case b&tcell.ButtonMiddle != 0:
		return 1
	case b&tcell.ButtonSecondary != 0:
		return 2
	}
	return 3
}

// key names a key as the key table does.
func key(e *tcell.EventKey) (model.Msg, bool) {
	name := named(e.Key())
	if name == "" && e.Key() == tcell.KeyRune {
		return character(e)
	}
	if name == "" {
		return nil, false
	}
	mods := e.Modifiers()
	if mods&tcell.ModAlt != 0 {
		name = "alt-" + name
	}
	return model.Key{Name: name, Shift: mods&tcell.ModShift != 0, Ctrl: mods&tcell.ModCtrl != 0 && !strings.HasPrefix(name, "ctrl-")}, true
}

// character is a key that writes something, alone or with a modifier.
func character(e *tcell.EventKey) (model.Msg, bool) {
	text, mods := e.Str(), e.Modifiers()
	name := text
	if text == " " {
		name = "space"
	}
	switch {
	case mods&tcell.ModCtrl != 0 && mods&tcell.ModAlt != 0 && strings.EqualFold(text, "m"):
		return model.Key{Name: "alt-enter"}, true
	case mods&tcell.ModCtrl != 0:
		return model.Key{Name: "ctrl-" + strings.ToLower(name)}, true
	case mods&(tcell.ModAlt|tcell.ModMeta) != 0:
		return model.Key{Name: "alt-" + name}, true
	}
	return model.Key{Name: name, Text: text}, text != ""
}

// named is the name of a key that writes nothing; empty for one that nothing is bound to.
func named(k tcell.Key) string {
	switch k {
	case tcell.KeyEnter:
		return "enter"
	case tcell.KeyEsc:
		return "esc"
	case tcell.KeyTab:
		return "tab"
	case tcell.KeyBacktab:
		return "shift-tab"
	case tcell.KeyBackspace:
		return "backspace"
	case tcell.KeyDelete:
		return "delete"
	case tcell.KeyUp:
		return "up"
	case tcell.KeyDown:
		return "down"
	case tcell.KeyLeft:
		return "left"
	case tcell.KeyRight:
		return "right"
	case tcell.KeyHome:
		return "home"
	case tcell.KeyEnd:
		return "end"
	case tcell.KeyPgUp:
		return "pgup"
	case tcell.KeyPgDn:
		return "pgdn"
	case tcell.KeyInsert:
		return "insert"
	default:
	}
	if k >= tcell.KeyF1 && k <= tcell.KeyF12 {
		return "f" + strconv.Itoa(int(k-tcell.KeyF1)+1)
	}
	if k >= tcell.KeyCtrlA && k <= tcell.KeyCtrlZ {
		return "ctrl-" + string(rune('a'+int(k-tcell.KeyCtrlA)))
	}
	return ""
}
