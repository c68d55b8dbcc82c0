//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"scv/internal/client"
	"scv/internal/testkit/glass"
	"scv/internal/wire"
)

// resting starts a demo job, waits for its end and returns it.
func (l *lab) resting() *wire.Job {
	l.t.Helper()
	return l.reaches(l.start("--agent", "demo", "@@say"), wire.StateCompleted)
}

func (l *lab) dialled() *client.Conn {
	l.t.Helper()
	c, err := client.Dial(l.ctx, l.target(), l.target().Client)
	l.must(err)
	l.t.Cleanup(func() { _ = c.Close() })
	return c
}

// hold attaches to a terminal as a program does.
func (l *lab) hold(c *client.Conn, j *wire.Job, cols, rows uint16, shell bool) wire.AttachPage {
	l.t.Helper()
	st, err := c.Call(l.ctx, wire.AttachCommand{Session: j.Session, Conversation: *j.Conversation, Cols: &cols, Rows: &rows, Shell: shell})
	l.must(err)
	return *st.Attach
}

// io types into a held terminal and returns the page.
func (l *lab) io(c *client.Conn, page wire.AttachPage, input string) wire.AttachPage {
	l.t.Helper()
	st, err := c.Call(l.ctx, wire.AttachIO{ID: page.ID, Input: input})
	l.must(err)
	return *st.Attach
}

func textOf(page wire.AttachPage) string {
	var b strings.Builder
	for _, l := range page.Lines {
		for _, s := range l.Spans {
			b.WriteString(s.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// sees watches a terminal until its screen says something.
func (l *lab) sees(run *wire.RunHandle, id wire.HoldID, want func(wire.AttachPage) bool) wire.AttachPage {
	l.t.Helper()
	if id != "" {
		run = nil
	}
	for {
		c := l.dialled()
		st, err := c.Call(l.ctx, wire.AttachWatch{ID: id, Run: run})
		l.must(err)
		_ = c.Close()
		page := *st.Attach
		if want(page) {
			return page
		}
		if l.ctx.Err() != nil || page.Ended {
			l.t.Fatalf("it shows\n%s", textOf(page))
		}
	}
}

// TestP38_P12_TheTerminalOfTheDemo: the size is right at the first frame, a second window takes it over, a viewer resizes
// nothing, what the owner has typed is not mixed with a machine's prompt, and the owner's terminal is left as it was.
func TestP38_P12_TheTerminalOfTheDemo(t *testing.T) {
	l := newLab(t)
	j := l.resting()
	first := l.attach(100, 31, "attach", string(j.Job))
	first.shows("Type a line", "ctrl-] lets go")
	l.must(first.Type("half a line"))
	first.shows("half a line")
	waits := l.sendQueued(j.Job, "@@say")
	view := l.until("a queued prompt", func(v *wire.Snapshot) bool { return job(v, waits) != nil && job(v, waits).State == wire.StateQueued })
	if o := job(view, waits).Attach; o == nil || o.State != wire.AttachTakenOver {
		t.Errorf("offer %+v", o)
	}
	viewer := l.attach(40, 10, "attach", "--read-only", string(j.Job))
	viewer.shows("half a line", "you only look")
	l.must(viewer.Type("x\x1d"))
	viewer.closed()
	c := l.dialled()
	page := l.hold(c, j, 0, 0, false)
	if page.Cols != 100 || page.Rows != 30 {
		t.Errorf("the viewer resized it to %dx%d", page.Cols, page.Rows)
	}
	if text := first.shows("taken by another client"); strings.Contains(text, "half a linex") {
		t.Errorf("the viewer typed:\n%s", text)
	}
	first.ended = true
	if end := first.Wait(); end.Err == nil || !end.Restored {
		t.Errorf("%+v", end)
	}
	second := l.attach(60, 20, "attach", string(j.Job))
	second.shows("half a line")
	l.must(second.Type("\r"))
	second.shows("you said: half a line")
	l.must(second.Type("/quit\r"))
	second.closed()
	l.reaches(waits, wire.StateCompleted)
}

// TestTheLiveDemoIsTakenOver while its process rests: that is closed first, and the next turn goes on with the session.
func TestTheLiveDemoIsTakenOver(t *testing.T) {
	l := newLab(t)
	j := l.reaches(l.start("--agent", "demo-live", "@@say"), wire.StateCompleted)
	w := l.attach(60, 20, "attach", string(j.Job))
	w.shows("Type a line")
	waits := l.sendQueued(j.Job, "@@say")
	l.must(w.Type("/quit\r"))
	w.closed()
	if next := l.reaches(waits, wire.StateCompleted); *next.Conversation != *j.Conversation {
		t.Errorf("it went on as %s and not as %s", *next.Conversation, *j.Conversation)
	}
}

// TestATerminalIsGivenBackWhateverEndsIt: signals, a lost keyboard, the end of the agent.
func TestATerminalIsGivenBackWhateverEndsIt(t *testing.T) {
	l := newLab(t)
	j := l.resting()
	for name, sig := range map[string]syscall.Signal{"SIGHUP": syscall.SIGHUP, "SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		w := l.attach(40, 10, "attach", string(j.Job))
		w.shows("ctrl-] lets go")
		l.must(w.Signal(sig))
		w.ended = true
		if end := w.Wait(); !end.Restored {
			t.Errorf("%s left it as %+v", name, end)
		}
	}
	w := l.attach(40, 10, "attach", string(j.Job))
	w.shows("ctrl-] lets go")
	l.ok("jobs", "attach", "--end", string(j.Job))
	w.closed()
	if code, _, errs := l.scv("jobs", "attach", "--end", string(j.Job)); code != 3 || !strings.Contains(errs, "not taken over") {
		t.Errorf("code %d: %s", code, errs)
	}
	if code, _, errs := l.scv("jobs", "attach", string(j.Job)); code != 1 || !strings.Contains(errs, "needs a terminal") {
		t.Errorf("code %d: %s", code, errs)
	}
}

// TestS1_TakeoversSurviveTheDaemon that is killed while the owner types: the screen is the same, each line came once, and
// the window goes on by itself. What went to a daemon that was just dying is there too.
func TestS1_TakeoversSurviveTheDaemon(t *testing.T) {
	l := newLab(t)
	j := l.resting()
	w := l.attach(80, 24, "attach", string(j.Job))
	w.shows("Type a line")
	for i := range 8 {
		word := fmt.Sprintf("word-%d", i)
		w.types(word)
		l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
		if i%2 == 0 { // what follows is typed while nobody listens, and else into what is just dying
			w.shows("the daemon is away")
		}
		word += "-x"
		l.must(w.Type("-x"))
		l.ok("start")
		w.shows(word)
		l.must(w.Type("\r"))
		text := w.shows("you said: " + word + "\n")
		if n := strings.Count(text, word); n != 2 {
			t.Errorf("%s is there %d times:\n%s", word, n, text)
		}
	}
	l.must(w.Type("/quit\r"))
	w.closed()
}

// kept waits until a word stands there whose end was typed after the daemon had gone. To a daemon that knows no numbers of what
// is typed nothing is sent twice: that something may be lost is said then, and the whole line is typed anew.
func (d *dash) kept(word string) {
	d.l.t.Helper()
	const lost, killLine = "may be lost", "\x15"
	if text, err := d.Until(d.l.ctx, func(text string) bool { return strings.Contains(text, word) || strings.Contains(text, lost) }); err != nil {
		d.l.t.Fatalf("%v; it shows\n%s", err, text)
	} else if strings.Contains(text, lost) {
		d.l.must(d.Type(killLine + word))
		d.shows(word)
	}
}

// TestATakeoverIsPlayedBack, while it goes on and afterwards.
func TestATakeoverIsPlayedBack(t *testing.T) {
	l := newLab(t)
	j := l.resting()
	w := l.attach(60, 20, "attach", string(j.Job))
	w.shows("Type a line")
	w.types("what was typed")
	cast := ""
	for !strings.Contains(cast, "what was typed") {
		cast = l.ok("replay", string(j.Job), "--cast", "-")
		l.must(l.ctx.Err())
	}
	if !strings.HasPrefix(cast, "{") || !strings.Contains(cast, `"version":2`) {
		t.Errorf("the recording is %s", cast)
	}
	l.must(w.Type("\r/quit\r"))
	w.closed()
	l.dashboard(glass.How{Cols: 60, Rows: 21}, "replay", string(j.Job), "--speed", "1000").closed()
	if code, _, errs := l.scv("replay", "demo-ffffff"); code != 3 || !strings.Contains(errs, "no recording") {
		t.Errorf("code %d: %s", code, errs)
	}
}

// TestV14_V15_AProgramThatReadsNothing: a note within the time for delivery; the rest goes on, and nothing is left of it.
func TestV14_V15_AProgramThatReadsNothing(t *testing.T) {
	l := newLab(t, "SHELL=/bin/sh")
	j := l.resting()
	c := l.dialled()
	page := l.hold(c, j, 80, 24, true)
	l.io(c, page, "sh -c 'sleep 1000 & setsid sleep 1001 & nohup sleep 1002 >/dev/null 2>&1 & stty raw -echo; echo on; exec sleep 1003'\r")
	l.sees(nil, page.ID, func(p wire.AttachPage) bool { return strings.Contains(textOf(p), "\non") })
	noted := ""
	for range 40 {
		if p := l.io(c, page, strings.Repeat("x", 32<<10)); p.Note != nil {
			noted = *p.Note
			break
		}
	}
	if !strings.Contains(noted, "bytes were") {
		t.Errorf("note %q", noted)
	}
	st, err := c.Call(l.ctx, wire.AttachEnd{Session: j.Session, Conversation: *j.Conversation, Shell: true})
	l.must(err)
	if st.Attach == nil || !st.Attach.Ended || st.Attach.Exit == nil {
		t.Errorf("the last page: %+v", st.Attach)
	}
}

// TestP10_AMegabyteIsTyped, and arrives whole in a program that reads it.
func TestP10_AMegabyteIsTyped(t *testing.T) {
	l := newLab(t, "SHELL=/bin/sh")
	j := l.resting()
	c := l.dialled()
	page := l.hold(c, j, 80, 24, true)
	l.io(c, page, "stty raw -echo; echo ready; head -c 1048576 | cksum; stty sane\r")
	l.sees(nil, page.ID, func(p wire.AttachPage) bool { return strings.Contains(textOf(p), "\nready") })
	text := strings.Repeat("0123456789abcde✓", 1<<20/18+1)[:1<<20-1] + "\n"
	for len(text) > 0 {
		n := min(32<<10, len(text))
		for n < len(text) && text[n]&0xc0 == 0x80 {
			n--
		}
		if p := l.io(c, page, text[:n]); p.Note != nil {
			t.Fatal(*p.Note)
		}
		text = text[n:]
	}
	l.sees(nil, page.ID, func(p wire.AttachPage) bool { return strings.Contains(textOf(p), " 1048576") })
}

// TestP40_TheOwnerScrollsAndClicks: what went over the top is paged through and left by any key; the mouse goes to a program
// that asked for it and nowhere else; an Escape that was typed alone stays alone.
func TestP40_TheOwnerScrollsAndClicks(t *testing.T) {
	l := newLab(t, "SHELL=/bin/sh")
	j := l.resting()
	ask := `stty raw -echo; printf '\033[?1000h\033[?1006h'; echo it asks; dd bs=1 count=16 2>/dev/null | od -An -c; stty sane`
	l.must(os.WriteFile(filepath.Join(l.work, "ask"), []byte(ask), 0o600))
	w := l.attach(90, 12, "shell", string(j.Job))
	w.shows("ctrl-] lets go")
	l.must(w.Type("i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo line $i is here; done\r"))
	w.shows("line 100 is here", "alt-PageUp")
	l.must(w.Type("\x1b[5;3~"))
	w.shows("line 85 is here", "lines up")
	l.must(w.Type("\x1b[5;3~\x1b[5;3~"))
	w.shows("line 65 is here", "lines up")
	l.must(w.Type("\x1b[6;3~\x1b[6;3~\x1b[6;3~"))
	w.shows("line 100 is here")
	l.must(w.Type("\x1b[5;3~"))
	w.shows("lines up")
	l.must(w.Type("sh ./ask\r")) // any key is the way back
	w.shows("it asks", "line 100 is here")
	l.must(w.Type("\x1b"))
	l.must(w.Type("x"))
	l.must(w.Type("\x1b[<0;5;3M\x1b[<0;5;99Mzzzzz")) // the second is on no row of the program's
	w.shows("033   x 033   [   <   0   ;   5   ;   3   M   z   z   z   z")
	l.must(w.Type("\x1d"))
	w.closed()
	l.ok("jobs", "shell", "--end", string(j.Job))
}

// TestTwoHundredAttachesAndAFlood: a program that never stops talking starves nobody, and each attach takes the terminal.
func TestTwoHundredAttachesAndAFlood(t *testing.T) {
	l := newLab(t, "SHELL=/bin/sh")
	j := l.resting()
	c := l.dialled()
	page := l.hold(c, j, 80, 24, true)
	l.io(c, page, "while :; do echo flood; done\r")
	l.sees(page.Run, "", func(p wire.AttachPage) bool { return strings.Count(textOf(p), "flood\n") > 10 })
	var wg sync.WaitGroup
	for range 8 {
		conn := l.dialled()
		wg.Go(func() {
			for range 25 {
				st, err := conn.Call(l.ctx, wire.AttachCommand{Session: j.Session, Conversation: *j.Conversation, Shell: true})
				if err != nil || st.Attach == nil || !st.Attach.Full {
					t.Errorf("%v", err)
				}
			}
		})
	}
	wg.Wait()
	last := l.hold(c, j, 90, 25, true)
	l.io(c, last, "\x03")
	l.sees(nil, last.ID, func(p wire.AttachPage) bool { return strings.Contains(textOf(p), "^C") })
	l.io(c, last, "echo it is over\r")
	l.sees(nil, last.ID, func(p wire.AttachPage) bool { return strings.Contains(textOf(p), "\nit is over") && p.Cols == 90 })
	l.ok("jobs", "shell", "--end", string(j.Job))
}

// TestT38_T55_WhatTheOwnerSees: questions of a program are answered by nobody but the emulator, and a secret that wraps is
// in no page.
func TestT38_T55_WhatTheOwnerSees(t *testing.T) {
	l := newLab(t, "SHELL=/bin/sh")
	j := l.resting()
	c := l.dialled()
	page := l.hold(c, j, 40, 24, true)
	key := "sk-ant-api03-" + strings.Repeat("Ab3dEf6hIj", 9) + "AA"
	shown := "\x1b]0;title\a\x1b]52;c;?\a\x1b[31mred\x1b[m\n\nkey=" + key[:50] + "\x1b[1m" + key[50:] + "\x1b[m\n"
	l.must(os.WriteFile(filepath.Join(l.work, "shown"), []byte(shown), 0o600))
	l.io(c, page, "cat shown; echo the end\r")
	seen := l.sees(nil, page.ID, func(p wire.AttachPage) bool {
		return strings.Contains(textOf(p), "red") && strings.Contains(textOf(p), "\nthe end")
	})
	joined := strings.ReplaceAll(textOf(seen), "\n", "")
	if at := strings.Index(joined, "key="); at < 0 || strings.Contains(joined[at:], key[30:60]) || strings.Contains(joined, "title") {
		t.Errorf("it shows\n%s", textOf(seen))
	}
	l.io(c, page, "stty raw -echo; printf '\\033[c\\033[5n'; head -c 13 | od -c; stty sane\r")
	l.sees(nil, page.ID, func(p wire.AttachPage) bool {
		return strings.Contains(textOf(p), "0   n") || strings.Contains(strings.ReplaceAll(textOf(p), " ", ""), "?62;22c")
	})
	l.ok("jobs", "shell", "--end", string(j.Job))
}
