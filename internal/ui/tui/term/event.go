package term

import (
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
		return mouse(e)
	}
	return nil, false
}

func mouse(e *tcell.EventMouse) (model.Msg, bool) {
	col, row := e.Position()
	switch e.Buttons() {
	case tcell.Button1:
		return model.Clicked{Row: row, Col: col}, true
	case tcell.WheelUp:
		return model.Clicked{Row: row, Col: col, Wheel: -wheelRows}, true
	case tcell.WheelDown:
		return model.Clicked{Row: row, Col: col, Wheel: wheelRows}, true
	}
	return nil, false
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
	if e.Modifiers()&tcell.ModAlt != 0 {
		name = "alt-" + name
	}
	return model.Key{Name: name}, true
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
	default:
	}
	if k >= tcell.KeyCtrlA && k <= tcell.KeyCtrlZ {
		return "ctrl-" + string(rune('a'+int(k-tcell.KeyCtrlA)))
	}
	return ""
}
