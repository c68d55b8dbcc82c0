package codex_test

import (
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/codex"
)

// TestRetries_WithoutANetworkSayThatTheyNeverEnd: codex waits for one as long as it takes, which its owner has to know.
// The same word once more is no second line.
func TestRetries_WithoutANetworkSayThatTheyNeverEnd(t *testing.T) {
	const waits = "Reconnecting... waiting for network"
	k := sit(t, "")
	notice := event("error", "t-1", `"willRetry":true,"error":{"message":"`+waits+`"}`)
	live := kinds(k.out(notice, notice), agent.FactRetry)
	d := codex.Kind().New(agent.Settings{})
	var cli []agent.Fact
	for _, in := range []agent.Input{
		{Kind: agent.InputStarted},
		{Kind: agent.InputSent, Key: "turn:1", N: 1},
		{Kind: agent.InputOut, Line: []byte(`{"type":"error","message":"` + waits + `"}`)},
		{Kind: agent.InputOut, Line: []byte(`{"type":"error","message":"` + waits + `"}`)},
	} {
		cli = append(cli, kinds(d.Feed(in), agent.FactRetry)...)
	}
	for name, facts := range map[string][]agent.Fact{"live": live, "one turn": cli} {
		if len(facts) != 1 || facts[0].Class != agent.ClassNetwork || !strings.Contains(facts[0].Text, "never gives up: cancel the job") {
			t.Errorf("%s: told %+v", name, facts)
		}
	}
}
