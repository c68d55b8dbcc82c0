package codex

import (
	"encoding/json"
	"fmt"
	"strings"

	"scv/internal/agent"
)

// asked is what an answer to a request of codex needs.
type asked struct {
	Method      string          `json:"method"`
	Item        string          `json:"item,omitempty"`
	Permissions json.RawMessage `json:"permissions,omitempty"` // that an approval grants
}

// Requests that wait for the owner.
const (
	askCommand     = "item/commandExecution/requestApproval"
	askFileChange  = "item/fileChange/requestApproval"
	askPermissions = "item/permissions/requestApproval"
	askServer      = "mcpServer/elicitation/request"
	askInput       = "item/tool/requestUserInput"
)

// verdict is the answer to a request, for this once.
func (q asked) verdict(approved bool) any {
	word := "decline"
	if approved {
		word = "accept"
	}
	switch {
	case q.Method == askPermissions && approved:
		return object{"permissions": q.Permissions, "scope": "turn"}
	case q.Method == askPermissions:
		return object{"permissions": object{}, "scope": "turn"}
	case q.Method == askServer && approved:
		return object{"action": word, "content": object{}}
	case q.Method == askServer:
		return object{"action": word}
	}
	return object{"decision": word}
}

// question is a request of codex; fields that are not read are left out.
type question struct {
	Thread    string            `json:"threadId"`
	TurnID    string            `json:"turnId"`
	Item      string            `json:"itemId"`
	Kind      string            `json:"kind"`
	Reason    string            `json:"reason"`
	Command   string            `json:"command"`
	Cwd       string            `json:"cwd"`
	Decisions []json.RawMessage `json:"availableDecisions"`
	Actions   []struct {
		Path string `json:"path"`
	} `json:"commandActions"`
	Network *struct {
		Host     string `json:"host"`
		Protocol string `json:"protocol"`
	} `json:"networkApprovalContext"`
	Further     json.RawMessage `json:"additionalPermissions"`
	Root        string          `json:"grantRoot"`
	Permissions json.RawMessage `json:"permissions"`

	Server  string `json:"serverName"`
	Message string `json:"message"`
	Meta    struct {
		Kind   string          `json:"codex_approval_kind"`
		Tool   string          `json:"tool_name"`
		Params json.RawMessage `json:"tool_params"`
	} `json:"_meta"`
	Questions []struct {
		Question string `json:"question"`
	} `json:"questions"`
}

// requests reads what codex asks of us.
type requests struct{ *liveState }

// request reads a message that codex waits for an answer to. What does not concern the owner is answered at once.
func (s requests) request(m agent.RPC) []agent.Fact {
	id := string(m.ID)
	var q question
	if err := json.Unmarshal(m.Params, &q); err != nil {
		return s.refuse(m, agent.ErrorLine(false, m.ID, agent.RPCNoMethod, "scv does not understand these parameters"),
			"codex asked for something that is not understood: "+agent.Shorten(m.Method, 60))
	}
	data := asked{Method: m.Method, Item: q.Item}
	a, waits := s.ask(m.Method, q)
	switch {
	case m.Method == askInput:
		text := "codex has a question, which scv cannot pass on; it goes on without an answer"
		if len(q.Questions) > 0 {
			text += ": " + agent.Shorten(q.Questions[0].Question, agent.MaxSubject)
		}
		return s.refuse(m, agent.ResultLine(false, m.ID, object{"answers": object{}}), text)
	case m.Method == askServer && !waits:
		return s.refuse(m, agent.ResultLine(false, m.ID, data.verdict(false)),
			"a tool server of codex has a question, which scv cannot pass on: "+agent.Shorten(q.Message, agent.MaxSubject))
	case a.Name == "":
		return s.refuse(m, agent.ErrorLine(false, m.ID, agent.RPCNoMethod, "scv does not offer "+m.Method),
			"codex asked for something that scv does not offer: "+agent.Shorten(m.Method, 60))
	case !waits:
		return s.refuse(m, agent.ResultLine(false, m.ID, data.verdict(false)),
			"codex asked for an approval without saying of what; it was denied")
	case !s.current(q):
		return s.refuse(m, agent.ResultLine(false, m.ID, data.verdict(false)),
			"codex asked for an approval outside the turn; it was denied: "+agent.Shorten(a.Summary, agent.MaxSubject))
	}
	if m.Method == askPermissions {
		data.Permissions = q.Permissions
	}
	line, err := json.Marshal(data)
	if err != nil {
		return s.refuse(m, agent.ErrorLine(false, m.ID, agent.RPCFailed, "scv cannot keep the request"), "a request of codex cannot be kept")
	}
	return s.Ask(agent.Asked{Request: id, Data: line}, a)
}

// refuse owes an answer that needs nobody's wish, and remarks it.
func (s requests) refuse(m agent.RPC, line []byte, text string) []agent.Fact {
	s.Owe(string(m.ID), line)
	return s.Stamp(agent.Fact{Kind: agent.FactNote, Text: text})
}

// current reports whether a request belongs to the turn in hand, and that one is not being cancelled. A request of another
// thread is of an agent that codex started for this turn.
func (s requests) current(q question) bool {
	if !s.Active || s.Sent(agent.CancelKey(s.Turn)) {
		return false
	}
	return q.Thread != "" && q.Thread != s.Session || s.mine(q.TurnID)
}

// ask makes an approval of a request. It has no name when the method is none that asks for one, and waits is false when
// there is nothing that a person could judge.
func (s requests) ask(method string, q question) (a agent.Approval, waits bool) {
	a = agent.Approval{Cwd: q.Cwd, Options: q.options()}
	switch method {
	case askCommand:
		s.askCommand(&a, q)
	case askFileChange:
		a.Name, a.Tool, a.Risk = "file change", "fileChange", agent.RiskFilesystem
		for _, c := range s.Changes[q.Item] {
			a.Diff += c.unified()
			a.Paths = append(a.Paths, c.Path)
			if c.Kind.Move != "" {
				a.Paths = append(a.Paths, c.Kind.Move)
			}
		}
		a.Summary = a.Diff
		if q.Root != "" && a.Summary != "" {
			a.Summary += "and every further change below " + q.Root + " in this conversation\n"
			a.Paths = append(a.Paths, q.Root)
		}
	case askPermissions:
		a.Name, a.Tool, a.Risk, a.Summary = "permissions", "request_permissions", agent.RiskFilesystem, string(q.Permissions)
		if strings.Contains(a.Summary, `"enabled":true`) {
			a.Risk = agent.RiskNetwork
		}
	case askServer:
		if q.Meta.Kind != "mcp_tool_call" {
			return a, false
		}
		a.Tool, a.Risk = q.Server, agent.RiskDelegate
		if q.Meta.Tool != "" {
			a.Tool += "." + q.Meta.Tool
		}
		a.Name = "tool " + a.Tool
		a.Summary = strings.TrimSpace(q.Message + "\n" + string(q.Meta.Params))
	}
	if a.Summary == "" {
		return a, false
	}
	if q.Reason != "" {
		a.Summary += "\nreason: " + q.Reason
	}
	return a, true
}

// askCommand describes a command, input for one that runs, or access to a host.
func (s requests) askCommand(a *agent.Approval, q question) {
	a.Name, a.Tool, a.Risk = "command", "commandExecution", agent.RiskProcess
	if q.Kind == "writeStdin" {
		a.Name = "input for a command"
	}
	a.Summary, a.Command = q.Command, agent.Unwrap(q.Command)
	for _, action := range q.Actions {
		if action.Path != "" {
			a.Paths = append(a.Paths, action.Path)
		}
	}
	if q.Network != nil {
		a.Name, a.Risk = "network access", agent.RiskNetwork
		a.Summary = strings.TrimSpace(fmt.Sprintf("%s\nreaches %s over %s", q.Command, q.Network.Host, q.Network.Protocol))
	}
	if further := string(q.Further); further != "" && further != "null" && a.Summary != "" {
		a.Summary += "\nwith " + further
	}
}

// options are the answers that codex offers. It takes a plain denial whether it lists it or not.
func (q question) options() []agent.Option {
	options := []agent.Option{{ID: "accept", Kind: "allow_once"}, {ID: "decline", Kind: "reject_once"}}
	for _, raw := range q.Decisions {
		var word string
		if json.Unmarshal(raw, &word) == nil {
			if word == "acceptForSession" {
				options = append(options, agent.Option{ID: word, Kind: "allow_always"})
			}
			continue
		}
		var rule map[string]json.RawMessage
		if json.Unmarshal(raw, &rule) != nil {
			continue
		}
		if _, ok := rule["acceptWithExecpolicyAmendment"]; ok {
			options = append(options, agent.Option{ID: "acceptWithExecpolicyAmendment", Kind: "allow_always"})
		}
	}
	return options
}

// unified is a change as a unified diff.
func (c fileChange) unified() string {
	head := "--- " + c.Path + "\n+++ " + agent.Choose(c.Kind.Move, c.Path) + "\n"
	switch {
	case c.Diff == "":
		return head
	case c.Kind.Type == "add":
		return agent.Diff(c.Path, "", c.Diff)
	case c.Kind.Type == "delete":
		return agent.Diff(c.Path, c.Diff, "")
	}
	return head + strings.TrimSuffix(c.Diff, "\n") + "\n"
}
