package acp_test

import (
	"testing"

	"scv/internal/agent"
	"scv/internal/testkit/realagent"
)

// A talk is several turns with one process, and what the owner does meanwhile, by turn.
type talk struct {
	turns  []agent.Turn
	decide func(turn uint32) decision // about every request; nil denies
	steer  map[uint32]string          // given once something was seen of the turn
	cancel map[uint32]bool            // likewise
}

// A decision is what the owner does about a request.
type decision uint8

const (
	deny decision = iota
	allow
	cancelTurn
)

// hold talks to a real agent and returns what passed.
func (k talk) hold(t *testing.T, a *realagent.Agent) realagent.Recording {
	t.Helper()
	recording, _ := a.Talk(t, realagent.Conversation{Kind: a.Kind, Turns: k.turns, Say: k.say})
	return recording
}

func (k talk) say(f agent.Fact, w *agent.Wishes) {
	switch f.Kind {
	case agent.FactText, agent.FactTool, agent.FactApprovalAsked:
	default:
		return
	}
	if text := k.steer[f.Turn]; text != "" && f.Kind == agent.FactTool {
		w.Steers = append(w.Steers, agent.Steer{Key: "steer:job-9", Turn: f.Turn, Text: text})
	}
	if k.cancel[f.Turn] {
		w.Cancel = f.Turn
	}
	if f.Kind != agent.FactApprovalAsked {
		return
	}
	what := deny
	if k.decide != nil {
		what = k.decide(f.Turn)
	}
	if what == cancelTurn {
		w.Cancel = f.Turn
		return
	}
	w.Answers = append(w.Answers, agent.Answer{
		Key: "answer:" + f.Approval.Request + "-" + w.Turn.Key, Request: f.Approval.Request, Approved: what == allow, Reason: "not today",
	})
}
