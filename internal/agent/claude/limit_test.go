package claude_test

import (
	"strings"
	"testing"
	"time"

	"scv/internal/agent"
	"scv/internal/agent/claude"
)

// What claude says of a reached usage limit: by an event of its own, or in the words of its result alone.
const (
	warned   = `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1796058000,"rateLimitType":"five_hour","utilization":0.9}}`
	rejected = `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1796061600,"rateLimitType":"five_hour"}}`
	limited  = `{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You've hit your session limit · resets 7pm (UTC)"}`
)

// TestLimits_SayWhenTheyAreRenewed reads it in both dialects, and says so where claude did not.
func TestLimits_SayWhenTheyAreRenewed(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"by its event", []string{rejected, limited}, "it resets at 2026-11-30 18:00 UTC"},
		{"by its words", []string{warned, limited}, "it resets at 2026-11-30 19:00 UTC"},
		{"a limit that went away", []string{rejected, warned, limited}, "it resets at 2026-11-30 19:00 UTC"},
		{"not at all", []string{`{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"slow down"}`}, "when the limit is renewed was not said"},
	} {
		for name, kind := range map[string]agent.Kind{"live": claude.LiveKind(), "one turn": claude.Kind()} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				k := begun(t)
				if name != "live" {
					k.d = kind.New(agent.Settings{})
					k.d.Feed(agent.Input{Kind: agent.InputStarted})
				}
				var end *agent.Outcome
				for _, line := range append(c.lines, state("idle")) {
					in := agent.Input{Kind: agent.InputOut, Line: []byte(line), At: time.Date(2026, 11, 30, 16, 24, 0, 0, time.UTC)}
					for _, f := range k.d.Feed(in) {
						if f.Kind == agent.FactTurnEnded {
							end = f.Outcome
						}
					}
				}
				if end == nil && name != "live" { // it leaves first
					for _, f := range k.d.Feed(agent.Input{Kind: agent.InputExit}) {
						end = f.Outcome
					}
				}
				if end == nil || end.Class != agent.ClassQuota || !strings.HasSuffix(end.Detail, c.want) || (end.Resets == 0) != (c.want == agent.Renewal(0)) {
					t.Errorf("ended %+v, want %q", end, c.want)
				}
			})
		}
	}
}
