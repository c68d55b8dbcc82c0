package cli

import "testing"

func TestLongTextHangsBelowItsFirstLine(t *testing.T) {
	f := &screen{columns: 40}
	for _, tt := range []struct{ name, in, want string }{
		{"fits", "one two", "one two"},
		{"at spaces", "the tests of the parser fail, and the rest was not run", "the tests of the parser fail,\n          and the rest was not run"},
		{"spaces inside stay", "a  b                          c d e", "a  b                         \n          c d e"},
		{"wide", "世界世界世界世界 世界世界世界世界 x", "世界世界世界世界\n          世界世界世界世界 x"},
		{"a word that is too long", "https://example.com/a/very/long/path/to/it then", "https://example.com/a/very/long/path/to/it\n          then"},
	} {
		if got := f.hang(10, tt.in); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
	long := "a text for a pipe is whole, however long it may be, and has no line breaks of ours"
	if got := new(screen).hang(10, long); got != long {
		t.Errorf("a pipe got %q", got)
	}
	if got := f.hang(20, long); got != long {
		t.Errorf("with no room to speak of: %q", got)
	}
}

func TestDaemonLogIsShortForPeopleAndWholeForAPipe(t *testing.T) {
	line := "time=2026-01-02T03:04:05.6Z level=WARN msg=\"a run's spool is kept\" run=codex-1"
	if got := new(screen).logText(line); got != line {
		t.Errorf("a pipe got %q", got)
	}
	people := &screen{columns: 80}
	if got, want := people.logText(line)[8:], " WARN \"a run's spool is kept\" run=codex-1"; got != want {
		t.Errorf("people got %q, want %q", got, want)
	}
	if got := people.logText("panic: oh"); got != "panic: oh" {
		t.Errorf("a line of another form became %q", got)
	}
}
