package view

import (
	"encoding/json"

	"scv/internal/ui/tui/model"
	"scv/internal/wire"
)

const talkID = wire.SessionID("7d15fc17-bfb6-4166-b177-f824e15b2e3b")

// talk opens a session of the model in which much goes on; text stands where the model and its tools say something.
func talk(s *stage, text string) {
	v := workbench()
	v.Sessions = append(v.Sessions, wire.Session{ID: talkID, Label: "TUI", Workspace: "/home/me/app", Live: true, State: wire.StateWorking, Kept: true, Name: new("docs")})
	s.send(model.Connected{Server: wire.PeerInfo{Name: "scv", Version: "1.2.3"}, Features: []string{wire.FeatureWatch, wire.FeatureKeep, wire.FeatureApprovals}}, model.Listed{View: v})
	var source uint64
	for _, e := range s.press("4", "j", "enter") {
		if j, ok := e.(model.Join); ok {
			source = j.Source
		}
	}
	f := wire.TurnFields{RequestID: "7", SessionID: talkID, TurnID: "turn-2"}
	mode := wire.ModeOnRisk
	s.send(
		model.Joined{
			Source: source, Started: wire.SessionStarted{SessionID: talkID, Name: new("docs"), Cwd: "/home/me/app", Model: "gpt-4.1-mini", Mode: &mode},
			History: []wire.SessionMessage{
				{Number: 3, Role: "assistant", Text: "It parses:\n1. tokens\n2. 语法树 " + text},
				{Number: 2, Role: "tool", Results: []wire.SessionResult{{ID: "c0", Name: "read", Text: "package parse\n\nimport \"io\"\n\n// A Parser\n" + text}}},
				{Number: 1, Role: "assistant", Calls: []wire.SessionCall{{ID: "c0", Name: "read", Arguments: json.RawMessage(`{"path":"parse.go"}`)}}},
				{Number: 0, Role: "user", Text: "What does this package do?\n\nAttached to this message:\n- file \"notes.md\" at /home/me/notes.md (12 bytes)\n"},
			},
		},
		model.Heard{Source: source, Events: []wire.ServerEvent{
			wire.QueueSnapshot{Entries: []wire.QueueEntry{
				{QueueID: "a", Revision: 1, Prompt: "Then the tests " + text}, {QueueID: "b", Revision: 1, Prompt: "Then 文档"}, {QueueID: "c", Revision: 1, Prompt: "x"}, {QueueID: "d", Revision: 1, Prompt: "y"},
			}},
			wire.TurnStarted{TurnFields: f, Prompt: new("Clean the build directory " + text)},
			wire.AssistantDelta{TurnFields: f, Content: "I look first. " + text},
			wire.AssistantCompleted{TurnFields: f, Content: "I look first. " + text},
			wire.ToolProposed{TurnFields: f, CallID: "c1", Name: "list", Arguments: json.RawMessage(`{"path":"build"}`)},
			wire.ToolStarted{TurnFields: f, CallID: "c1", Name: "list"},
			wire.ToolProposed{TurnFields: f, CallID: "c2", Name: "bash", Arguments: json.RawMessage(`{"command":"rm -rf build"}`)},
			wire.ToolCompleted{TurnFields: f, CallID: "c1", Name: "list", Success: true, Output: "a.o b.o " + text},
			wire.ApprovalRequested{TurnFields: f, ApprovalID: "ask-1", CallID: "c2", Name: "bash", Risk: "process", Cwd: "/home/me/app", Summary: "rm -rf build " + text},
		}},
	)
}

// chatScenes are those of a session.
func chatScenes() map[string]func(*stage) {
	typed := func(keys ...string) func(*stage) {
		return func(s *stage) {
			talk(s, "")
			s.press(keys...)
		}
	}
	return map[string]func(*stage){
		"session":         typed("type:and 也要 measure it", "ctrl-j", "type:twice"),
		"session_request": typed("ctrl-y"),
		"session_queue":   typed("ctrl-p"),
		"session_file":    typed("ctrl-t", "type:notes"),
		"session_read":    typed("tab", "/", "type:parse", "enter"),
		"session_new":     func(s *stage) { talk(s, ""); s.press("esc", "c", "type:hello") },
		"session_hostile": func(s *stage) { talk(s, "x\x1b]52;c;aGk=\x07\x1b[2J\u009b31m\u202e\x00\r\n\x7f\u200b你") },
	}
}
