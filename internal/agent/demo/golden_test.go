package demo_test

import (
	"testing"

	"scv/internal/agent/demo"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
)

func TestC4C5_TheDemoAgentFoldsFromAnyPoint(t *testing.T) {
	recording := realagent.Recording{
		{Kind: "start"},
		{Kind: "in", Key: "turn:1", Text: `{"key":"turn:1","text":"x"}` + "\n"},
		{Kind: "out", Text: `{"type":"hello","session":"s-1"}` + "\n" + `{"type":"turn","key":"turn:1"}` + "\n" + `{"type":"think"}` + "\n"},
		{Kind: "out", Text: `{"type":"tool","id":"1","text":"make"}` + "\n" + `{"type":"tool_end","id":"1","ex`},
		{Kind: "out", Text: `it":2}` + "\n" + `{"type":"text","text":"one\ntwo"}` + "\n"},
		{Kind: "err", Text: "a remark\n"},
		{Kind: "out", Text: `{"type":"end","status":"completed","input_tokens":3,"output_tokens":4}` + "\n"},
		{Kind: "exit"},
	}
	end := realagent.Ending(t, recording.Check(t, demo.Kind()))
	if end.State != wire.StateCompleted || end.Reply != "one\ntwo" || end.InputTokens != 3 || end.OutputTokens != 4 {
		t.Errorf("the end is %+v", end)
	}
}
