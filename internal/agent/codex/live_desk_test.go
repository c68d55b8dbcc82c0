package codex_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/codex"
)

// desk plays the owner and codex to the live dialect, line by line.
type desk struct {
	t      testing.TB
	d      agent.Dialect
	n      uint64
	wishes agent.Wishes
	said   []string // what was written, as it was
	facts  []agent.Fact
}

// sit opens a desk whose handshake is through and whose first turn is running as t-1 in thread th.
func sit(t testing.TB, mode agent.Mode) *desk {
	t.Helper()
	k := &desk{t: t, d: codex.LiveKind().New(agent.Settings{})}
	k.wishes.Turn = &agent.Turn{Number: 1, Key: "turn:1", Prompt: "do it", Cwd: "/w", Mode: mode}
	k.feed(agent.Input{Kind: agent.InputStarted})
	k.greet()
	k.begin("t-1")
	k.said, k.facts = nil, nil
	return k
}

// greet answers the handshake.
func (k *desk) greet() {
	k.t.Helper()
	k.write()
	k.reply("initialize", `{"userAgent":"scv/0.171.0 (Debian)"}`)
	k.reply("thread/", `{"thread":{"id":"th"},"model":"m-2","sandbox":{"type":"workspaceWrite","writableRoots":["/opt"]}}`)
}

// begin lets codex take the prompt that was written last.
func (k *desk) begin(id string) {
	k.t.Helper()
	k.reply("turn/start", fmt.Sprintf(`{"turn":{"id":%q,"status":"inProgress"}}`, id))
	k.out(fmt.Sprintf(`{"method":"turn/started","params":{"threadId":"th","turn":{"id":%q}}}`, id))
}

func (k *desk) feed(in agent.Input) []agent.Fact {
	facts := k.d.Feed(in)
	k.facts = append(k.facts, facts...)
	return facts
}

// out lets codex say lines; what the dialect then wants to say is written.
func (k *desk) out(lines ...string) []agent.Fact {
	k.t.Helper()
	at := len(k.facts)
	for _, line := range lines {
		k.feed(agent.Input{Kind: agent.InputOut, Line: []byte(line)})
		k.write()
	}
	return k.facts[at:]
}

// event is a notice on a turn of thread th.
func event(method, turn, more string) string {
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"method":%q,"params":{"threadId":"th","turnId":%q%s}}`, method, turn, more)
}

func ended(turn, status string) string {
	return fmt.Sprintf(`{"method":"turn/completed","params":{"threadId":"th","turn":{"id":%q,"status":%q}}}`, turn, status)
}

// asks is a request of codex in a turn of thread th.
func asks(id, method, turn, more string) string {
	return fmt.Sprintf(`{"id":%s,"method":%q,"params":{"threadId":"th","turnId":%q,"itemId":"call-%s",%s}}`, id, method, turn, strings.Trim(id, `"`), more)
}

// write writes all that the dialect wants to say now, through a checkpoint at each step.
func (k *desk) write() {
	k.t.Helper()
	for range 100 {
		state, err := k.d.Checkpoint()
		if err != nil {
			k.t.Fatal(err)
		}
		k.d = codex.LiveKind().New(agent.Settings{})
		if err := k.d.Restore(state); err != nil {
			k.t.Fatal(err)
		}
		m, ok := k.d.Next(k.wishes, k.n+1)
		if !ok {
			return
		}
		k.n++
		k.said = append(k.said, strings.TrimSpace(m.Key+" "+string(m.Bytes)))
		k.feed(agent.Input{Kind: agent.InputSent, Key: m.Key, N: k.n, Line: m.Bytes})
	}
	k.t.Fatalf("it never stops talking: %q", k.said[len(k.said)-3:])
}

// last returns the number and parameters of the message of ours with this method that was written last.
func (k *desk) last(method string) (n uint64, params map[string]any) {
	k.t.Helper()
	for i := len(k.said) - 1; i >= 0; i-- {
		_, line, _ := strings.Cut(k.said[i], " ")
		var m struct {
			ID     uint64         `json:"id"`
			Method string         `json:"method"`
			Params map[string]any `json:"params"`
		}
		if json.Unmarshal([]byte(line), &m) == nil && strings.HasPrefix(m.Method, method) {
			return m.ID, m.Params
		}
	}
	k.t.Fatalf("no %s in %q", method, k.said)
	return 0, nil
}

// reply answers that message.
func (k *desk) reply(method, result string) []agent.Fact {
	k.t.Helper()
	n, _ := k.last(method)
	return k.out(fmt.Sprintf(`{"id":%d,"result":%s}`, n, result))
}

func (k *desk) fail(method, message string) []agent.Fact {
	k.t.Helper()
	n, _ := k.last(method)
	return k.out(fmt.Sprintf(`{"id":%d,"error":{"code":-32600,"message":%q}}`, n, message))
}

// told are the messages since the last call, without what is asked for the owner's information.
func (k *desk) told() string {
	var out []string
	for _, line := range k.said {
		if !strings.HasPrefix(line, "hello:") {
			out = append(out, line)
		}
	}
	k.said = nil
	return strings.Join(out, "\n")
}

// kinds are the facts of these kinds.
func kinds(facts []agent.Fact, want ...agent.FactKind) (out []agent.Fact) {
	for _, f := range facts {
		for _, kind := range want {
			if f.Kind == kind {
				out = append(out, f)
			}
		}
	}
	return out
}

// outcome is the one outcome among facts.
func outcome(t testing.TB, facts []agent.Fact) agent.Outcome {
	t.Helper()
	ends := kinds(facts, agent.FactTurnEnded)
	if len(ends) != 1 {
		t.Fatalf("the turn ended %d times in %+v", len(ends), facts)
	}
	return *ends[0].Outcome
}

func texts(facts []agent.Fact) string {
	var out []string
	for _, f := range facts {
		out = append(out, f.Text)
	}
	return strings.Join(out, "|")
}
