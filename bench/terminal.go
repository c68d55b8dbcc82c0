//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"scv/internal/client"
	"scv/internal/terminal/screen"
	"scv/internal/testkit/glass"
	"scv/internal/wire"
)

// terminalMemory is a screen with a full scrollback of text in one colour.
func terminalMemory(context.Context, string) (string, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := screen.New(120, 40)
	for i := range 1100 {
		if _, err := fmt.Fprintf(s, "\x1b[32m%s\x1b[m\r\n", strings.Repeat(fmt.Sprint(i%10), 119)); err != nil {
			return "", err
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(s)
	return fmt.Sprintf("%.2f MB", float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1e6), nil
}

// terminalPage is a frame as agents draw them, five rows with a coloured word on a screen of 200x50: the time from its
// bytes to the page as JSON, and the sizes of both.
func terminalPage(context.Context, string) (string, error) {
	s := screen.New(200, 50)
	v := screen.NewView(s, nil)
	v.Refresh()
	const rounds = 2000
	raw, sent := 0, 0
	var all []time.Duration
	for i := range rounds {
		var frame strings.Builder
		frame.WriteString("\x1b[?2026h")
		for row := range 5 {
			fmt.Fprintf(&frame, "\x1b[%d;1H\x1b[2K\x1b[38;5;114m●\x1b[39m step %d of the work, on line %d, with words enough for a line that one would read", 20+row, i, row)
		}
		frame.WriteString("\x1b[?2026l")
		begin := time.Now()
		if _, err := s.Write([]byte(frame.String())); err != nil {
			return "", err
		}
		after := v.Generation()
		v.Refresh()
		data, err := json.Marshal(v.Page(after))
		all = append(all, time.Since(begin))
		if err != nil {
			return "", err
		}
		raw, sent = raw+frame.Len(), sent+len(data)
	}
	return fmt.Sprintf("p50 %.2f, p95 %.2f ms; %.2fx", ms(quantile(all, 0.5)), ms(quantile(all, 0.95)), float64(sent)/float64(raw)), nil
}

// echoKeys is how many keys are typed for one figure.
const echoKeys = 200

// terminalEcho is from a key to its echo on the screen, through daemon and shim, beside a terminal of its own.
func terminalEcho(ctx context.Context, exe string) (string, error) {
	direct, err := directEcho(ctx)
	if err != nil {
		return "", err
	}
	return inLab(ctx, exe, 0, func(l *lab) (string, error) {
		through, err := l.echo(ctx)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("p50 %.1f, p95 %.1f ms; direct %.1f, %.1f", ms(quantile(through, 0.5)), ms(quantile(through, 0.95)),
			ms(quantile(direct, 0.5)), ms(quantile(direct, 0.95))), nil
	})
}

// echoing puts back what is typed.
const echoing = "stty raw -echo; echo ready; exec cat"

func directEcho(ctx context.Context) (all []time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	t, err := glass.Start(exec.CommandContext(ctx, "sh", "-c", echoing), glass.How{Cols: 80, Rows: 24})
	if err != nil {
		cancel()
		return nil, err
	}
	defer func() {
		cancel()
		t.Wait()
	}()
	if _, err := t.Until(ctx, func(text string) bool { return strings.Contains(text, "ready") }); err != nil {
		return nil, err
	}
	for i := range echoKeys {
		key := string(rune('a' + i%26))
		begin := time.Now()
		if err := t.Type("\x1b[H\x1b[2J" + key); err != nil {
			return nil, err
		}
		if _, err := t.Until(ctx, func(text string) bool { return strings.TrimSpace(text) == key }); err != nil {
			return nil, err
		}
		all = append(all, time.Since(begin))
		time.Sleep(50 * time.Millisecond)
	}
	return all, nil
}

// terminal opens a shell where a job of the lab worked, has it run a line, and shows its screen until ctx ends.
func (l *lab) terminal(ctx context.Context, line string, show func(wire.AttachPage)) (c *client.Conn, id wire.HoldID, err error) {
	if c, err = l.dial(ctx); err != nil {
		return nil, "", err
	}
	_, err = l.job(ctx, c, "@@say")
	if err == nil {
		err = l.until(ctx, func(s *wire.Snapshot) bool {
			return len(s.Jobs) > 0 && s.Jobs[0].State == wire.StateCompleted && s.Jobs[0].Conversation != nil
		})
	}
	if err != nil {
		return nil, "", errors.Join(err, c.Close())
	}
	st, err := c.Call(ctx, wire.WorkbenchCommand{})
	if err != nil {
		return nil, "", errors.Join(err, c.Close())
	}
	j := st.Workbench.Jobs[0]
	holds := make(chan wire.HoldID, 1)
	what := client.Attachment{
		Session: j.Session, Conversation: *j.Conversation, Shell: true,
		Size: func() (uint16, uint16) { return 80, 24 },
		Show: func(page wire.AttachPage) error {
			select {
			case holds <- page.ID:
			default:
			}
			show(page)
			return nil
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- client.Attach(ctx, l.target(), what) }()
	select {
	case id = <-holds:
	case err = <-ended:
		return nil, "", errors.Join(fmt.Errorf("attach: %w", err), c.Close())
	}
	_, err = c.Call(ctx, wire.AttachIO{ID: id, Input: line + "\r"})
	return c, id, err
}

func (l *lab) echo(ctx context.Context) (all []time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pages := make(chan wire.AttachPage, 1000)
	c, id, err := l.terminal(ctx, echoing, func(page wire.AttachPage) { pages <- page })
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	until := func(want string) error {
		for {
			select {
			case page := <-pages:
				for _, row := range page.Lines {
					if len(row.Spans) > 0 && row.Spans[0].Text == want {
						return nil
					}
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if err := until("ready"); err != nil {
		return nil, err
	}
	for i := range echoKeys {
		key := string(rune('a' + i%26))
		begin := time.Now()
		if _, err := c.Call(ctx, wire.AttachIO{ID: id, Input: "\x1b[H\x1b[2J" + key}); err != nil {
			return nil, err
		}
		if err := until(key); err != nil {
			return nil, err
		}
		all = append(all, time.Since(begin))
		time.Sleep(50 * time.Millisecond)
	}
	return all, nil
}

// terminalIdle is what daemon and shim do while a terminal is held and nothing is drawn.
func terminalIdle(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 0, func(l *lab) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		drawn := 0
		c, _, err := l.terminal(ctx, "exec sleep 1000", func(wire.AttachPage) { drawn++ })
		if err != nil {
			return "", err
		}
		defer func() { _ = c.Close() }()
		shims, err := l.shims()
		if err != nil || len(shims) == 0 {
			return "", fmt.Errorf("no shim: %w", err)
		}
		time.Sleep(90 * time.Second) // a reader of the ledger is closed after 30 s, and what was used is given back
		before, shown := cpuTime(l.daemon.Process.Pid), drawn
		woken, err := switches(l.daemon.Process.Pid)
		if err != nil {
			return "", err
		}
		shim, err := switches(shims[len(shims)-1])
		if err != nil {
			return "", err
		}
		time.Sleep(20 * time.Second)
		wokenAfter, err := switches(l.daemon.Process.Pid)
		if err != nil {
			return "", err
		}
		shimAfter, err := switches(shims[len(shims)-1])
		return fmt.Sprintf("%d pages, %.0f ms of CPU, %d switches of the daemon, %d of the shim", drawn-shown,
			ms(cpuTime(l.daemon.Process.Pid)-before), wokenAfter-woken, shimAfter-shim), err
	})
}
