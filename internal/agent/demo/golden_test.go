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

func TestC4_TheLiveDemoAgentFoldsFromAnyPoint(t *testing.T) {
	recording := realagent.Recording{
		{Kind: "start"},
		{Kind: "out", Text: `{"type":"hello","session":"s-1"}` + "\n"},
		{Kind: "in", Key: "turn:1", Text: `{"key":"turn:1","text":"x"}` + "\n"},
		{Kind: "out", Text: `{"type":"turn","key":"turn:1"}` + "\n" + `{"type":"ask","id":"ask-1","tool":"shell","risk":"process","text":"make"}` + "\n"},
		{Kind: "out", Text: `{"type":"ask","id":"ask-2","tool":"edit","risk":"filesystem","paths":["/w/x"],"text":"edit /w/x"}` + "\n"},
		{Kind: "in", Key: "steer:1", Text: `{"type":"steer","key":"steer:1","text":"on"}` + "\n"},
		{Kind: "in", Key: "answer:ap-1", Text: `{"type":"answer","id":"ask-2","verdict":"deny","text":"no"}` + "\n"},
		{Kind: "out", Text: `{"type":"steered","key":"steer:1","text":"on"}` + "\n" + `{"type":"text","text":"denied"}` + "\n"},
		{Kind: "in", Key: "answer:ap-0", Text: `{"type":"answer","id":"ask-1","verdict":"allow","text":""}` + "\n"},
		{Kind: "out", Text: `{"type":"tool","id":"1","text":"make"}` + "\n" + `{"type":"tool_end","id":"1","exit":2}` + "\n" + `{"type":"unsteered","key":"steer:2","text":"late"}` + "\n"},
		{Kind: "out", Text: `{"type":"end","status":"completed"}` + "\n" + `{"type":"text","text":"too late"}` + "\n"},
		{Kind: "exit"},
	}
	end := realagent.Ending(t, recording.Check(t, demo.LiveKind()))
	if end.State != wire.StateCompleted || end.Reply != "denied" {
		t.Errorf("the end is %+v", end)
	}
}
