package canvas

import (
	"strings"
	"testing"

	"scv/internal/safe/plain"
)

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		row  Row
		want string
	}{
		{Row{Text("ab"), Text("cd")}, "abcd  "},
		{Row{Text("abcdefgh")}, "abcd.."},
		{Row{Text("abcde"), Text("你好")}, "abcde."},
		{Row{Text("你好"), Text("世界")}, "你好.."},
		{Row{Text("你好世")}, "你好世"},
		{Row{{Text: "a\x1b[31mb\x07"}}, "ab    "},
		{nil, "      "},
	} {
		got := Fit(tt.row, 6)
		if got.Width() != 6 {
			t.Errorf("Fit(%v) is %d wide", tt.row, got.Width())
		}
		var b strings.Builder
		for _, s := range got {
			b.WriteString(s.Text)
		}
		if b.String() != tt.want {
			t.Errorf("Fit(%v) = %q, want %q", tt.row, b.String(), tt.want)
		}
	}
}

func TestEnds(t *testing.T) {
	left, right := Row{Text("left")}, Row{Text("right")}
	if got := Ends(left, right, 12).String(); got != "left   right" {
		t.Errorf("got %q", got)
	}
	if got := Ends(left, right, 10).String(); got != "left" {
		t.Errorf("without room: %q", got)
	}
}

func TestWrapHangs(t *testing.T) {
	rows := Wrap(Row{Text("12:03 tool ")}, Body, "one two three four five six", 28)
	if len(rows) != 2 || rows[0].String() != "12:03 tool one two three" || rows[1].String() != "           four five six" {
		t.Errorf("got %q", rows)
	}
	rows = Wrap(Row{Text("a long head ")}, Body, "text", 20)
	if rows[0].String() != "a long head text" {
		t.Errorf("without room for a margin: %q", rows)
	}
}

func TestT35_E20_NothingHostileGetsOntoARow(t *testing.T) {
	const hostile = "a\x1b]52;c;aGk=\x07b\x1b[2J\u009b31mc\u202ed\x00\r\n\x7fe\u200b"
	var rows []Row
	rows = append(rows, Row{Text(hostile), As(Fail, hostile), Cell(Body, hostile, 40)})
	rows = append(rows, Wrap(Row{Text(hostile)}, Body, strings.Repeat(hostile, 9), 60)...)
	rows = append(rows, Fit(Row{{Text: hostile}}, 90), Ends(Row{Text(hostile)}, Row{Text("x")}, 90))
	for _, row := range rows {
		for _, s := range row {
			for _, r := range s.Text {
				if r < 0x20 || r >= 0x7f && r <= 0x9f || plain.Hidden(r) {
					t.Fatalf("%U in %q", r, s.Text)
				}
			}
		}
	}
}

func TestFramesCompare(t *testing.T) {
	a := Frame{Rows: []Row{{Text("x")}}, Title: "t"}
	b := Frame{Rows: []Row{{Text("x")}}, Title: "t"}
	if !a.Equal(&b) {
		t.Error("the same frames differ")
	}
	for _, other := range []Frame{
		{Rows: []Row{{Text("x")}}, Title: "u"},
		{Rows: []Row{{As(Wait, "x")}}, Title: "t"},
		{Rows: []Row{Row{Text("x")}.Choose()}, Title: "t"},
		{Rows: a.Rows, Title: "t", Typing: true},
		{Title: "t"},
	} {
		if a.Equal(&other) {
			t.Errorf("%v is taken for the same", other)
		}
	}
}
