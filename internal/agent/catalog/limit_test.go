package catalog_test

import (
	"strings"
	"testing"
	"time"

	"scv/internal/agent"
	"scv/internal/agent/codex"
	"scv/internal/agent/gemini"
	"scv/internal/agent/opencode"
)

// TestLimits_OneTurnAgentsSayWhenTheyAreRenewed: what each says of a reached limit in its own way is when the job may go
// on; where it says nothing, that is said.
func TestLimits_OneTurnAgentsSayWhenTheyAreRenewed(t *testing.T) {
	for _, c := range []struct {
		name string
		kind agent.Kind
		line string
		want string
	}{
		{"codex", codex.Kind(), `{"type":"turn.failed","error":{"message":"You've hit your usage limit. Upgrade to Pro, or try again at 7:05 PM."}}`, "it resets at 2026-11-30 19:05 UTC"},
		{"codex, another day", codex.Kind(), `{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again at Dec 2nd, 2026 3:24 PM."}}`, "it resets at 2026-12-02 15:24 UTC"},
		{"codex without a time", codex.Kind(), `{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again later."}}`, "when the limit is renewed was not said"},
		{
			"gemini", gemini.Kind(),
			`{"type":"result","status":"error","error":{"type":"Error","message":"got status: 429. {\"error\":{\"code\":429,\"message\":\"quota used up\",\"details\":[{\"retryDelay\":\"3600s\"}]}}"}}`,
			"it resets at 2026-11-30 17:24 UTC",
		},
		{"gemini by its words", gemini.Kind(), `{"type":"result","status":"error","error":{"message":"You have exhausted your quota. Your quota will reset after 2h10m0s."}}`, "it resets at 2026-11-30 18:34 UTC"},
		{
			"opencode", opencode.Kind(),
			`{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"Too Many Requests","statusCode":429,"responseHeaders":{"retry-after":"600"}}}}`,
			"it resets at 2026-11-30 16:34 UTC",
		},
		{"opencode without a time", opencode.Kind(), `{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"Too Many Requests","statusCode":429}}}`, "when the limit is renewed was not said"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := c.kind.New(agent.Settings{})
			var end *agent.Outcome
			for _, in := range []agent.Input{
				{Kind: agent.InputStarted},
				{Kind: agent.InputSent, Key: "turn:1", N: 1},
				{Kind: agent.InputOut, Line: []byte(c.line)},
				{Kind: agent.InputEOF},
				{Kind: agent.InputExit, Exit: agent.Exit{Code: 1}},
			} {
				in.At = time.Date(2026, 11, 30, 16, 24, 0, 0, time.UTC)
				for _, f := range d.Feed(in) {
					if f.Kind == agent.FactTurnEnded {
						end = f.Outcome
					}
				}
			}
			if end == nil || end.Class != agent.ClassQuota || !strings.HasSuffix(end.Detail, c.want) || (end.Resets == 0) != (c.want == agent.Renewal(0)) {
				t.Errorf("ended %+v, want %q", end, c.want)
			}
		})
	}
}
