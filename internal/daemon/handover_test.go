package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/wire"
)

// heir makes a program of shell lines; the line to the old daemon is descriptor 3.
func heir(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scv")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	saysReady = `read -r hello <&3; echo '{"t":"ready","v":1,"version":"8"}' >&3` + "\n"
	waits     = "exec cat <&3 >/dev/null" // to the end of the line
)

// TestS5_BrokenProgramBeforeReadyChangesNothing: whatever is wrong with the new program, the restart is refused with a
// sentence and the old daemon never stops serving.
func TestS5_BrokenProgramBeforeReadyChangesNothing(t *testing.T) {
	opt := options(t)
	opt.HandoverWait = 300 * time.Millisecond
	r := start(t, opt)
	defer r.stop()
	watch, err := r.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	for name, c := range map[string]struct{ exe, says string }{
		"ends":           {heir(t, "exit 3"), "ended before it said ready (exit status 3)"},
		"hangs":          {heir(t, waits), "did not say ready within"},
		"nonsense":       {heir(t, "read -r hello <&3; echo nonsense >&3; "+waits), "something else"},
		"closes":         {heir(t, "exec 3>&-; exec sleep 60"), "something else"},
		"refuses":        {heir(t, `read -r hello <&3; echo '{"t":"refused","message":"it is Monday","reason":"refused"}' >&3; `+waits), "it is Monday"},
		"other word":     {heir(t, `read -r hello <&3; echo '{"t":"serving"}' >&3; `+waits), "something else"},
		"not there":      {"/nonexistent/scv", "no program at"},
		"a folder":       {t.TempDir(), "no program at"},
		"no full path":   {"scv", "no full path"},
		"not executable": {os.DevNull, "no program at"},
	} {
		t.Run(name, func(t *testing.T) {
			c2, err := r.dial()
			if err != nil {
				t.Fatal(err)
			}
			defer c2.Close()
			_, err = c2.Call(t.Context(), wire.DaemonRestart{Exe: c.exe})
			we, ok := errors.AsType[*wire.Error](err)
			if !ok || !strings.Contains(we.Message, c.says) || we.Hint == "" {
				t.Errorf("got %v, want %q", err, c.says)
			}
			if _, err := watch.Call(t.Context(), wire.WorkbenchCommand{}); err != nil {
				t.Errorf("a connection that was open broke: %v", err)
			}
		})
	}
	if st := r.call(wire.StatusCommand{}); st.Successor != nil || len(st.Problems) > 0 {
		t.Errorf("status: %+v", st)
	}
}

// TestS5_BrokenProgramAfterReadyIsNoticed: a program that was ready and does not serve is ended, and the old daemon
// opens the ledger again, answers, and says why.
func TestS5_BrokenProgramAfterReadyIsNoticed(t *testing.T) {
	opt := options(t)
	opt.HandoverWait = 300 * time.Millisecond
	record(t, opt, 3)
	r := start(t, opt)
	defer r.stop()
	for name, c := range map[string]struct{ script, says string }{
		"ends":    {saysReady + "read -r go <&3; exit 4", "ended before it said serving (exit status 4)"},
		"hangs":   {saysReady + waits, "did not say serving within"},
		"refuses": {saysReady + `read -r go <&3; echo '{"t":"refused","message":"wrong layout"}' >&3; ` + waits, "wrong layout"},
	} {
		t.Run(name, func(t *testing.T) {
			st := r.call(wire.DaemonRestart{Exe: heir(t, c.script)})
			if st.Successor == nil || *st.Successor == st.PID || st.WorkbenchNote == nil || !strings.Contains(*st.WorkbenchNote, "version 8 takes over") {
				t.Fatalf("the answer: %+v", st)
			}
			after := r.settled()
			if after.PID != st.PID || len(after.Problems) != 1 || !strings.HasPrefix(after.Problems[0], wire.RestartFailed) || !strings.Contains(after.Problems[0], c.says) {
				t.Errorf("after it: %+v", after)
			}
			if view := r.call(wire.WorkbenchCommand{}).Workbench; len(view.Jobs) != 3 {
				t.Errorf("%d jobs", len(view.Jobs))
			}
			if data, err := os.ReadFile(opt.Home.LockPath()); err != nil || string(data) != strconv.Itoa(os.Getpid()) {
				t.Errorf("the lock names %q, %v", data, err)
			}
		})
	}
	if err := Run(t.Context(), opt); err == nil {
		t.Error("the lock is not held any more")
	}
}

// settled asks, by new connections, until no handover is under way.
func (r *started) settled() *wire.DaemonStatus {
	r.t.Helper()
	for {
		c, err := r.dial()
		if err == nil {
			st, err := c.Call(r.t.Context(), wire.StatusCommand{})
			c.Close()
			if err == nil && st.Successor == nil {
				return st
			}
		} else if !errors.Is(err, client.ErrBroken) && !errors.Is(err, client.ErrSilent) {
			r.t.Fatal(err)
		}
	}
}

// TestS5_OneRestartAtATime and one that waits for idle turns refuse with what they wait for.
func TestS5_OneRestartAtATime(t *testing.T) {
	opt := options(t)
	opt.HandoverWait = time.Minute
	r := start(t, opt)
	gate := filepath.Join(t.TempDir(), "begun")
	slow := heir(t, "read -r hello <&3; : >"+gate+"; "+waits)
	first, err := r.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	done := make(chan error, 1)
	go func() {
		_, err := first.Call(t.Context(), wire.DaemonRestart{Exe: slow})
		done <- err
	}()
	for {
		if _, err := os.Stat(gate); err == nil {
			break
		}
	}
	second, err := r.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	_, err = second.Call(t.Context(), wire.DaemonRestart{Exe: slow})
	if we, ok := errors.AsType[*wire.Error](err); !ok || we.Reason != wire.ReasonConflict {
		t.Errorf("a second restart: %v", err)
	}
	r.stop() // which ends the program that was getting ready
	if err := <-done; err == nil {
		t.Error("the restart of a daemon that was stopped succeeded")
	}
}
