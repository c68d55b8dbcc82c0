package trial

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/testkit/census"
)

// marker makes this test binary play an ACP agent that writes a line into the named file for each approved command.
const marker = "SCV_TRIAL_ACP"

func TestMain(m *testing.M) {
	if file := os.Getenv(marker); file != "" {
		playACP(file)
		return
	}
	os.Exit(census.Main(m))
}

// playACP serves one session as gemini does: a cancel is answered only when every open request is.
func playACP(file string) {
	out := json.NewEncoder(os.Stdout)
	send := func(m object) {
		m["jsonrpc"] = "2.0"
		_ = out.Encode(m)
	}
	update := func(u object) {
		send(object{"method": "session/update", "params": object{"sessionId": "s-1", "update": u}})
	}
	say := func(text string) {
		for word := range strings.FieldsSeq(text) {
			update(object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": word + " "}})
		}
	}
	var prompt, answer json.RawMessage
	asks, cancelled := 0, false
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		m, ok := agent.ReadRPC(lines.Bytes())
		if !ok {
			continue
		}
		switch m.Method {
		case "initialize":
			send(object{"id": m.ID, "result": object{"protocolVersion": 1}})
		case "session/new":
			send(object{"id": m.ID, "result": object{"sessionId": "s-1"}})
		case "session/set_mode":
			send(object{"id": m.ID, "result": object{}})
		case "session/cancel":
			cancelled = true
		case "session/prompt":
			prompt, cancelled = m.ID, false
			say("I want to run something .")
			update(object{"sessionUpdate": "tool_call", "toolCallId": "t", "title": "echo", "status": "pending"})
			send(object{"id": asks, "method": "session/request_permission", "params": object{
				"sessionId": "s-1", "toolCall": object{"toolCallId": "t", "title": "echo"},
				"options": []any{object{"optionId": "yes", "kind": "allow_once"}, object{"optionId": "no", "kind": "reject_once"}},
			}})
			asks++
		case "":
			answer = m.Result
			stop := "end_turn"
			switch {
			case strings.Contains(string(answer), `"yes"`):
				f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				if err == nil {
					fmt.Fprintln(f, "ran")
					_ = f.Close()
				}
				say("It ran .")
			case strings.Contains(string(answer), "cancelled") && cancelled:
				stop = "cancelled"
			default:
				say("It did not run .")
			}
			send(object{"id": prompt, "result": object{"stopReason": stop}})
		}
	}
}
