package run

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// TestIdleProcessLeaves: it is closed by the end of its input; one that takes no notice is ended.
func TestIdleProcessLeaves(t *testing.T) {
	for name, script := range map[string]string{"at once": "say one\n", "takes no notice": "say one\ndeaf\n"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *Config) { c.Timing.Leave = 50 * time.Millisecond })
			h := b.launch("live", script)
			b.hub.await(t, h, "the end of the turn", func(r *hubRun) bool { return r.end() != nil })
			b.wish(h, func(w *row.Wishes) { w.Close = true })
			r := b.hub.await(t, h, "the end", over)
			if l := r.lastLife(); l.Kind != row.LifeEnded || l.Given != 1 {
				t.Errorf("%+v", l)
			}
		})
	}
}

// TestPromptThatAProcessWasNeverGiven: it left between its turns, and says which prompt it saw last.
func TestPromptThatAProcessWasNeverGiven(t *testing.T) {
	b := newBench(t)
	h := b.launch("live", "say one\nleave\n")
	b.hub.await(t, h, "the end of the turn", func(r *hubRun) bool { return r.end() != nil })
	b.hub.change(h, func(r *hubRun) { // nobody wakes the run before the process is gone
		r.wishes.Turn = &row.TurnWish{Job: "job-9", Session: "s", Number: 2, Prompt: "say two\n", Cwd: b.cwd}
	})
	touch(t, b.cwd+"/go")
	r := b.hub.await(t, h, "the end", over)
	if l := r.lastLife(); l.Given != 1 && !strings.Contains(b.shown(h), "say two") {
		t.Errorf("%+v\n%s", l, b.shown(h))
	}
}

func TestS10_WhatComesBackByItself(t *testing.T) {
	for err, want := range map[error]bool{
		&os.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}: true, fmt.Errorf("make it: %w", syscall.ENFILE): true,
		os.NewSyscallError("fork/exec", syscall.EAGAIN): true, errors.New("too many open files"): false,
		wire.Refuse(wire.ReasonNotFound, "", "no agent"): false, syscall.ENOSPC: false,
	} {
		if got := lacking(err); (got != "") != want {
			t.Errorf("%v: %q", err, got)
		}
	}
}
