package codex_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/codex"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
)

// marker makes this test binary play a tool server that appends a line to the named file at each call.
const marker = "SCV_TEST_TOOLS"

func TestMain(m *testing.M) {
	if file := os.Getenv(marker); file != "" {
		serveTools(file)
		return
	}
	os.Exit(m.Run())
}

// serveTools serves one tool that says of itself that it destroys.
func serveTools(file string) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		m, ok := agent.ReadRPC(lines.Bytes())
		if !ok || m.ID == nil {
			continue
		}
		var result any = struct{}{}
		switch m.Method {
		case "initialize":
			var p struct {
				Version string `json:"protocolVersion"`
			}
			_ = json.Unmarshal(m.Params, &p)
			result = map[string]any{
				"protocolVersion": p.Version, "capabilities": map[string]any{"tools": struct{}{}},
				"serverInfo": map[string]any{"name": "tools", "version": "1"},
			}
		case "tools/list":
			result = map[string]any{"tools": []any{map[string]any{
				"name": "wipe", "description": "wipes", "annotations": map[string]any{"destructiveHint": true},
				"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"what": map[string]any{"type": "string"}}},
			}}}
		case "tools/call":
			if f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
				_, _ = f.WriteString("called\n")
				_ = f.Close()
			}
			result = map[string]any{"content": []any{map[string]any{"type": "text", "text": "wiped"}}}
		}
		_, _ = os.Stdout.Write(agent.ResultLine(true, m.ID, result))
	}
}

// TestApproval_OfAToolOfAServer lets the real codex call a tool of the owner's own server, once approved and once denied.
func TestApproval_OfAToolOfAServer(t *testing.T) {
	a := realagent.Codex(t, realagent.Options{})
	called := a.Dir + "/called"
	args := []string{
		"-c", "mcp_servers.t.command=" + strconv.Quote(os.Args[0]), "-c", `mcp_servers.t.env={` + marker + `=` + strconv.Quote(called) + `}`,
		"-c", "mcp_servers.t.required=true",
	}
	call := `tool:mcp__t/wipe:{"what":"everything"}`
	_, facts := a.Talk(t, realagent.Conversation{
		Kind: codex.LiveKind(), Settings: agent.Settings{Args: args}, Turns: prompts(agent.ModeAlways, "@@"+call+"|"+call+"|say:done"),
		Say: verdicts("yes", "no"),
	})
	if o := outcome(t, facts); o.State != wire.StateCompleted || o.Reply != "done" {
		t.Errorf("it ended %+v", o)
	}
	asked := kinds(facts, agent.FactApprovalAsked)
	if len(asked) != 2 || !strings.Contains(asked[0].Approval.Summary, "everything") || asked[0].Approval.Tool != "t.wipe" {
		t.Errorf("it asked %+v", asked)
	}
	data, err := os.ReadFile(called)
	if n := strings.Count(string(data), "called"); n != 1 {
		t.Errorf("the tool was called %d times (%v)", n, err)
	}
}
