package term

import (
	"slices"
	"testing"

	"scv/internal/ui/tui/model"
)

// TestP40_TheMouseIsToldApart: presses, moves and releases, in the numbers of a terminal.
func TestP40_TheMouseIsToldApart(t *testing.T) {
	s, g := opened(t, 40, 5)
	s.Mouse(model.MouseAll)
	g.typed("\x1b[<0;5;3M\x1b[<32;6;3M\x1b[<0;6;3m\x1b[<35;7;3M\x1b[<18;1;1M\x1b[<2;1;1m\x1b[<1;1;2M\x1b[<1;1;2m\x1b[<64;2;2M\x1b[<69;2;2M")
	want := []model.Clicked{
		{Row: 2, Col: 4},
		{Row: 2, Col: 5, Button: 32},
		{Row: 2, Col: 5, Up: true},
		{Row: 2, Col: 6, Button: 35},
		{Button: 18},
		{Button: 2, Up: true},
		{Row: 1, Button: 1},
		{Row: 1, Button: 1, Up: true},
		{Row: 1, Col: 1, Button: 64, Wheel: -3},
		{Row: 1, Col: 1, Button: 69, Wheel: 3},
	}
	var got []model.Clicked
	for len(got) < len(want) {
		msg, _ := s.Take(<-s.Events())
		if c, ok := msg.(model.Clicked); ok {
			got = append(got, c)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestP40_TheFocusIsTold of the terminal's window, once that is asked for.
func TestP40_TheFocusIsTold(t *testing.T) {
	s, g := opened(t, 40, 5)
	s.Focus(true)
	g.typed("\x1b[O\x1b[I")
	var got []model.Msg
	for len(got) < 2 {
		if msg, ok := s.Take(<-s.Events()); ok {
			if _, size := msg.(model.Resized); !size {
				got = append(got, msg)
			}
		}
	}
	if want := []model.Msg{model.Watched{}, model.Watched{In: true}}; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
