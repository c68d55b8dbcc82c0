package claude_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/claude"
)

// desk sits between a live dialect and a claude that a test plays by hand. Before every step the dialect's state goes
// through JSON, as if each were another daemon's.
type desk struct {
	t     *testing.T
	d     agent.Dialect
	w     agent.Wishes
	n     uint64
	said  []agent.Message
	facts []agent.Fact
	first string // uuid of the first prompt
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	k := &desk{t: t, d: claude.LiveKind().New(agent.Settings{})}
	k.feed(agent.Input{Kind: agent.InputStarted})
	return k
}

// begun is a desk whose first turn claude has begun.
func begun(t *testing.T) *desk {
	t.Helper()
	k := newDesk(t)
	k.w.Turn = &agent.Turn{Number: 1, Key: "turn:1", Prompt: "do it", Run: "claude-0a1b2c"}
	k.talk()
	k.first = k.uuid("turn:1")
	k.hear(taken(k.first)...)
	k.facts, k.said = nil, nil
	return k
}

func (k *desk) feed(in agent.Input) {
	k.t.Helper()
	state, err := k.d.Checkpoint()
	if err != nil {
		k.t.Fatal(err)
	}
	k.d = claude.LiveKind().New(agent.Settings{})
	if err := k.d.Restore(state); err != nil {
		k.t.Fatal(err)
	}
	k.facts = append(k.facts, k.d.Feed(in)...)
}

// hear feeds lines of claude's.
func (k *desk) hear(lines ...string) {
	k.t.Helper()
	for _, line := range lines {
		k.feed(agent.Input{Kind: agent.InputOut, Line: []byte(line)})
	}
}

// say writes what the dialect wants written until it wants no more; claude does not answer.
func (k *desk) say() {
	k.t.Helper()
	for range 50 {
		m, ok := k.d.Next(k.w, k.n+1)
		if !ok {
			return
		}
		if len(m.Bytes) > 0 && !json.Valid(m.Bytes) {
			k.t.Fatalf("%s is no JSON, which would end claude: %s", m.Key, m.Bytes)
		}
		k.n++
		k.said = append(k.said, m)
		k.feed(agent.Input{Kind: agent.InputSent, Key: m.Key, N: k.n, Line: m.Bytes})
	}
	k.t.Fatalf("it never stops talking: %q", k.keys())
}

// talk is say with a claude that answers every request with success.
func (k *desk) talk() {
	k.t.Helper()
	for before := -1; before != len(k.said); {
		before = len(k.said)
		k.say()
		for _, m := range k.said[before:] {
			if strings.Contains(string(m.Bytes), `"control_request"`) {
				k.hear(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{}}}`, k.id(m)))
			}
		}
	}
}

func (k *desk) id(m agent.Message) string {
	k.t.Helper()
	var r struct {
		ID string `json:"request_id"`
	}
	if err := json.Unmarshal(m.Bytes, &r); err != nil {
		k.t.Fatal(err)
	}
	return r.ID
}

// line returns what was written under a key.
func (k *desk) line(key string) string {
	k.t.Helper()
	for _, m := range k.said {
		if m.Key == key {
			return string(m.Bytes)
		}
	}
	k.t.Fatalf("nothing was written under %s: %q", key, k.keys())
	return ""
}

func (k *desk) uuid(key string) string {
	k.t.Helper()
	var l struct {
		UUID string `json:"uuid"`
	}
	if err := json.Unmarshal([]byte(k.line(key)), &l); err != nil || l.UUID == "" {
		k.t.Fatalf("%s has no uuid: %v", key, err)
	}
	return l.UUID
}

func (k *desk) keys() string {
	var keys []string
	for _, m := range k.said {
		keys = append(keys, m.Key)
	}
	return strings.Join(keys, " ")
}

// told renders facts, one word or two each.
func (k *desk) told() string {
	var out []string
	for _, f := range k.facts {
		switch f.Kind {
		case agent.FactText:
			out = append(out, "text="+f.Text)
		case agent.FactNote:
			out = append(out, "note")
		case agent.FactTool:
			out = append(out, "tool="+f.Text)
		case agent.FactToolFailed:
			out = append(out, "failed="+f.Text)
		case agent.FactSteered:
			out = append(out, "steered="+f.Text)
		case agent.FactSteerHeld:
			out = append(out, "held="+f.Key)
		case agent.FactSteerRefused:
			out = append(out, "unsteered="+f.Key)
		case agent.FactApprovalAsked:
			out = append(out, "asked="+f.Approval.Request)
		case agent.FactApprovalClosed:
			out = append(out, f.Status+"="+f.Approval.Request)
		case agent.FactTurnEnded:
			out = append(out, fmt.Sprintf("ended%d=%s", f.Turn, f.Outcome.State))
		}
	}
	return strings.Join(out, " ")
}

// ended returns the last outcome.
func (k *desk) ended() agent.Outcome {
	k.t.Helper()
	for i := len(k.facts) - 1; i >= 0; i-- {
		if k.facts[i].Kind == agent.FactTurnEnded {
			return *k.facts[i].Outcome
		}
	}
	k.t.Fatalf("no turn ended: %s", k.told())
	return agent.Outcome{}
}

// What claude says.
func state(s string) string {
	return `{"type":"system","subtype":"session_state_changed","state":"` + s + `"}`
}

func life(uuid, s string) string {
	return `{"type":"command_lifecycle","command_uuid":"` + uuid + `","state":"` + s + `"}`
}

func taken(uuid string) []string {
	return []string{
		state("running"), life(uuid, "queued"), life(uuid, "started"),
		`{"type":"system","subtype":"init","session_id":"s-1","cwd":"/w","claude_code_version":"2.1.332","capabilities":["msg_lifecycle_v1"]}`,
	}
}

func said(text string) string {
	return `{"type":"assistant","message":{"id":"m-` + text + `","content":[{"type":"text","text":"` + text + `"}],"usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":5}}}`
}

func delta(text string) string {
	return `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"` + text + `"}}}`
}

const (
	success = `{"type":"result","subtype":"success","is_error":false,"result":"fine","usage":{"input_tokens":100,"output_tokens":5},"total_cost_usd":0.5,"modelUsage":{"m":{"contextWindow":200000}}}`
	aborted = `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming"}`
	tasks   = `{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1","description":"make serve"},{"task_id":"b2","description":"wait"}]}`
	oneTask = `{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1","description":"make serve"}]}`
	noTasks = `{"type":"system","subtype":"background_tasks_changed","tasks":[]}`
)

func ask(id, tool, input string) string {
	return `{"type":"control_request","request_id":"` + id + `","request":{"subtype":"can_use_tool","tool_name":"` + tool + `","tool_use_id":"t-` + id + `","input":` + input + `}}`
}
