package run

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"scv/internal/agent"
	"scv/internal/run/proc"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// TestT9_WhereAnAgentListensIsTold: a process of a run that waits for connections is told in the log, once, with who can
// reach it; the agent's own server on a loopback port, which lets in nobody else, is not.
func TestT9_WhereAnAgentListensIsTold(t *testing.T) {
	self, err := proc.Lookup(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, at, serves, want string
	}{
		{"this machine", "127.0.0.1:0", "another", "listens on 127.0.0.1:"},
		{"other machines", "0.0.0.0:0", self.Name, "where other machines may reach it"},
		{"its own server", "127.0.0.1:0", self.Name, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, func(config *Config) {
				config.Timing.Look = time.Hour // at the end of a turn alone
				kinds := config.Kinds
				config.Kinds = func(name, transport string) (agent.Kind, agent.Settings, bool) {
					kind, settings, ok := kinds(name, transport)
					kind.Serves = c.serves
					return kind, settings, ok
				}
			})
			h := b.launch("live", "listen "+c.at+"\ntool $ serve\n")
			for n := range uint32(3) { // what is seen at the end of one turn is in the log before the next begins
				b.hub.await(t, h, fmt.Sprint("the end of turn ", n+1), func(r *hubRun) bool {
					last := len(r.steps) - 1
					return last >= 0 && r.steps[last].Kind == row.StepTurnEnded && r.steps[last].Turn == n+1
				})
				b.wish(h, func(w *row.Wishes) {
					w.Turn = &row.TurnWish{Job: wire.NewJobID(uint64(n) + 7), Number: n + 2, Prompt: "say on\n", Cwd: b.cwd}
				})
			}
			log := b.shown(h)
			if n := strings.Count(log, "listens on"); c.want == "" && n != 0 || c.want != "" && (n != 1 || !strings.Contains(log, c.want)) {
				t.Errorf("told %d times, want %q:\n%s", n, c.want, log)
			}
		})
	}
}

// TestT9_WhatAToolCallStartsIsSeenWhileItRuns: the turn need not end for that.
func TestT9_WhatAToolCallStartsIsSeenWhileItRuns(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Timing.Look = time.Millisecond })
	h := b.launch("fake", "listen 127.0.0.1:0\ntool $ serve\nuntil "+b.cwd+"/go\ndone\n")
	b.hub.await(t, h, "a sign of life", func(r *hubRun) bool { return len(r.steps) > 0 })
	for !strings.Contains(b.shown(h), "listens on 127.0.0.1:") {
		<-time.After(time.Millisecond)
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	touch(t, b.cwd+"/go")
	b.hub.await(t, h, "the end", over)
}
