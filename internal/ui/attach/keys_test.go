package attach

import (
	"strings"
	"testing"

	"scv/internal/wire"
)

// TestP40_TheMouseAsTheAgentWantsIt: the owner's terminal reports in SGR's form; the agent gets its own form, and nothing
// that it did not ask for.
func TestP40_TheMouseAsTheAgentWantsIt(t *testing.T) {
	const press, drag, hover, wheel, release = "\x1b[<0;5;3M", "\x1b[<32;6;3M", "\x1b[<35;6;3M", "\x1b[<64;5;3M", "\x1b[<0;5;3m"
	for name, c := range map[string]struct {
		mode, form uint16
		in, want   string
	}{
		"nobody asked":          {0, 0, press + release, ""},
		"between keys":          {1000, 1006, "a" + press + "b", "a" + press + "b"},
		"clicks alone":          {1000, 1006, press + drag + hover + wheel + release, press + wheel + release},
		"with a held button":    {1002, 1006, press + drag + hover, press + drag},
		"all":                   {1003, 1006, drag + hover, drag + hover},
		"X10, presses alone":    {9, 0, press + drag + release + wheel, "\x1b[M %#"},
		"plain":                 {1000, 0, press + release, "\x1b[M %#\x1b[M#%#"},
		"plain, too far right":  {1000, 0, "\x1b[<0;96;3M", ""},
		"characters":            {1000, 1005, "\x1b[<0;300;3M", "\x1b[M Ō#"},
		"urxvt":                 {1000, 1015, press + release, "\x1b[32;5;3M\x1b[35;5;3M"},
		"pixels":                {1000, 1016, press, ""},
		"on our own line":       {1000, 1006, "\x1b[<0;5;24M", ""},
		"no report":             {1000, 1006, "\x1b[<0;5M\x1b[<x;1;1M\x1b[<0;99999;1M", ""},
		"another key":           {1000, 1006, "\x1b[A\x1b", "\x1b[A\x1b"},
		"the focus goes by":     {0, 0, "\x1b[I\x1b[O", "\x1b[I\x1b[O"},
		"a page, then a letter": {0, 0, "x" + pageUpAlt + "y", "xy"},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := sift(c.in, wants{mouse: c.mode, encoding: c.form, rows: 23, cols: 400, pages: true})
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if _, turn := sift(pageUpAlt+pageUpShift+pageDownAlt, wants{pages: true}); turn != 1 {
		t.Errorf("turned %d pages", turn)
	}
	if got, turn := sift(pageUpAlt, wants{}); got != pageUpAlt || turn != 0 {
		t.Errorf("an agent with nothing above gets %q", got)
	}
}

// TestP40_ModesArePassedAndTakenBack: the owner's terminal reports the mouse and the focus while the agent wants it, and
// no replay ever asks for that.
func TestP40_ModesArePassedAndTakenBack(t *testing.T) {
	p := newPainter(20, 6)
	p.pass = true
	for _, c := range []struct {
		page wire.AttachPage
		want string
	}{
		{wire.AttachPage{Mouse: 1002, MouseEncoding: 1006, Focus: true}, "\x1b[?1004h\x1b[?1002h\x1b[?1006h"},
		{wire.AttachPage{Mouse: 1002, MouseEncoding: 1006, Focus: true}, ""},
		{wire.AttachPage{Mouse: 1003}, "\x1b[?1004l\x1b[?1002l\x1b[?1006l\x1b[?1003h\x1b[?1006h"},
		{wire.AttachPage{Mouse: 9}, "\x1b[?1003l\x1b[?1006l\x1b[?1000h\x1b[?1006h"},
		{wire.AttachPage{Mouse: 1000}, ""},
		{wire.AttachPage{Mouse: 31337}, "\x1b[?1000l\x1b[?1006l"},
	} {
		out := string(p.take(c.page))
		out = strings.TrimPrefix(out, syncBegin)
		if got, _, _ := strings.Cut(out, "\x1b[6;1H"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.page, got, c.want)
		}
	}
	for _, mode := range []string{"1000", "1002", "1003", "1004", "1006"} {
		if !strings.Contains(leaveScreen, "\x1b[?"+mode+"l") {
			t.Errorf("mode %s is left on", mode)
		}
	}
	if out := string(newPainter(20, 6).take(wire.AttachPage{Mouse: 1003, Focus: true})); strings.Contains(out, "?100") {
		t.Errorf("a replay asks for %q", out)
	}
}

// TestWhatIsAboveStaysWhileTheAgentDraws: pages that come meanwhile are kept and drawn on the way back.
func TestWhatIsAboveStaysWhileTheAgentDraws(t *testing.T) {
	p := newPainter(20, 4)
	p.take(wire.AttachPage{Full: true, Lines: []wire.AttachRow{{Row: 0, Spans: []wire.AttachSpan{{Text: "now"}}}}})
	p.past = map[uint16][]wire.AttachSpan{0: {{Text: "before"}}}
	if out := string(p.resize(20, 4)); !strings.Contains(out, "before") || strings.Contains(out, "now") {
		t.Errorf("scrolled up: %q", out)
	}
	if out := string(p.take(wire.AttachPage{Lines: []wire.AttachRow{{Row: 0, Spans: []wire.AttachSpan{{Text: "later"}}}}})); strings.Contains(out, "later") {
		t.Errorf("drawn over it: %q", out)
	}
	p.past = nil
	if out := string(p.resize(20, 4)); !strings.Contains(out, "later") || strings.Contains(out, "before") {
		t.Errorf("back: %q", out)
	}
}
