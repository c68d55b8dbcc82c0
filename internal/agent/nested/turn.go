package nested

import (
	"encoding/json"
	"slices"
	"strconv"

	"scv/internal/agent"
	"scv/internal/wire"
)

// maxOpen bounds the tool calls that are remembered until they end.
const maxOpen = 64

// during reads an event of the turn in hand.
func (d *dialect) during(event wire.ServerEvent) []agent.Fact {
	s := &d.state
	activity := []agent.Fact{{Kind: agent.FactActivity}}
	switch e := event.(type) {
	case wire.AssistantDelta:
		return append(s.Chunk(e.Content), activity...)
	case wire.AssistantCompleted:
		return s.message(e.Content)
	case wire.ToolProposed:
		s.proposed(e)
	case wire.ApprovalRequested:
		return s.asked(e)
	case wire.ToolStarted:
		return s.Stamp(agent.Fact{Kind: agent.FactTool, Text: s.toolLine(string(e.CallID), e.Name)})
	case wire.ToolCompleted:
		return s.toolEnded(e)
	case wire.ContextCompacted:
		return s.Stamp(agent.Fact{Kind: agent.FactNote, Text: "it shortened what its model is shown, by " + strconv.FormatUint(e.RemovedMessages, 10) + " messages"})
	case wire.TurnCompleted:
		o := agent.Outcome{State: wire.StateCompleted}
		if e.Usage.InputTokens != nil {
			o.Usage.InputTokens = *e.Usage.InputTokens
		}
		if e.Usage.OutputTokens != nil {
			o.Usage.OutputTokens = *e.Usage.OutputTokens
		}
		return s.End(o)
	case wire.TurnCancelled:
		return s.End(s.cancelled())
	case wire.TurnFailed:
		return s.End(failure(e.Code, e.Class, e.Message))
	}
	return activity
}

// message ends a message: what came in parts is whole now, and one that came in none is taken at once.
func (s *state) message(content string) []agent.Fact {
	var facts []agent.Fact
	if len(s.Whole) == 0 && content != "" {
		facts = s.Chunk(content)
	}
	return append(facts, s.Flush()...)
}

// proposed remembers what a call is about, until it ends.
func (s *state) proposed(e wire.ToolProposed) {
	if len(s.Tools) >= maxOpen {
		return
	}
	if s.Tools == nil {
		s.Tools, s.Args = map[string]string{}, map[string]string{}
	}
	line := e.Name + " " + agent.Shorten(string(e.Arguments), agent.MaxSubject)
	if e.Name == "bash" {
		var a struct {
			Command string `json:"command"`
		}
		if json.Unmarshal(e.Arguments, &a) == nil && a.Command != "" {
			line = agent.CommandLine(a.Command)
			s.Args[string(e.CallID)] = a.Command
		}
	}
	s.Tools[string(e.CallID)] = line
}

func (s *state) toolLine(id, name string) string {
	if line := s.Tools[id]; line != "" {
		return line
	}
	return agent.Shorten(name, agent.MaxSubject)
}

func (s *state) toolEnded(e wire.ToolCompleted) []agent.Fact {
	id := string(e.CallID)
	line := s.toolLine(id, e.Name)
	delete(s.Tools, id)
	delete(s.Args, id)
	switch {
	case e.Success:
		return []agent.Fact{{Kind: agent.FactActivity}}
	case e.Error != nil && *e.Error == wire.ToolDenied && !slices.Contains(s.Put, id): // else the owner knows
		s.Deny(line)
	}
	return s.Stamp(agent.Fact{Kind: agent.FactToolFailed, Text: line + ": " + agent.Shorten(e.Output, agent.MaxSubject)})
}

// asked relays a question. The owner sees every byte that the nested scv shows of it.
func (s *state) asked(e wire.ApprovalRequested) []agent.Fact {
	a := agent.Approval{
		Name: e.Name, Risk: riskOf(string(e.Risk)), Cwd: e.Cwd, Summary: e.Summary, Tool: e.Name, Command: s.Args[string(e.CallID)],
		Options: []agent.Option{{ID: "allow", Kind: "allow_once"}, {ID: "deny", Kind: "reject_once"}},
	}
	if len(s.Put) < maxOpen {
		s.Put = append(s.Put, string(e.CallID))
	}
	return s.Ask(agent.Asked{Request: string(e.ApprovalID)}, a)
}

// riskOf is the risk as the nested scv says; a word that is not known is as much as handing the work to somebody.
func riskOf(word string) agent.Risk {
	switch r := agent.Risk(word); r {
	case agent.RiskReadOnly, agent.RiskFilesystem, agent.RiskProcess, agent.RiskDelegate, agent.RiskNetwork:
		return r
	}
	return agent.RiskDelegate
}

// cancelled says whose cancel ended the turn.
func (s *state) cancelled() agent.Outcome {
	if s.Sent(agent.CancelKey(s.Turn)) {
		return agent.Outcome{State: wire.StateCancelled, Detail: "stopped by the owner"}
	}
	return agent.Outcome{State: wire.StateInterrupted, Detail: "the nested scv cancelled its turn by itself"}
}

// tongue says things in the protocol's words. Ids of requests are their numbers.
type tongue struct{ *dialect }

// Handshake greets and opens the session for the first turn.
func (t tongue) Handshake(w agent.Wishes, n uint64) (agent.Message, bool) {
	s := &t.state
	switch {
	case !s.Sent(greetKey):
		return agent.Message{Key: greetKey, Bytes: encode(wire.Initialize{
			RequestID: number(n), ProtocolVersion: wire.ProtocolVersion, Client: wire.PeerInfo{Name: "scv-agent", Version: "1"},
		})}, true
	case w.Turn == nil || !s.Greeted || s.Sent(sessionKey):
		return agent.Message{}, false
	}
	m := wire.SessionStart{RequestID: number(n), Cwd: w.Turn.Cwd}
	if model := agent.Choose(w.Turn.Model, t.settings.Model); model != "" && len(t.settings.ModelArgs) == 0 {
		m.Model = &model
	}
	return agent.Message{Key: sessionKey, Bytes: encode(m)}, true
}

func (t tongue) Prompt(turn agent.Turn, n uint64) []byte {
	return encode(wire.TurnStart{RequestID: number(n), SessionID: t.state.Talk, Prompt: turn.Prompt})
}

func (t tongue) Answer(a agent.Answer, q agent.Asked) []byte {
	return encode(wire.ApprovalResolve{RequestID: "answer", SessionID: t.state.Talk, ApprovalID: wire.ApprovalID(q.Request), Approved: a.Approved})
}

// Steer has no words: a text for a running turn would wait in a queue that its owner does not see.
func (tongue) Steer(agent.Steer, uint64) []byte { return nil }

func (t tongue) Cancel(n uint64) []byte {
	if t.state.TurnID == "" {
		return nil // it has not said yet which turn that is
	}
	return encode(wire.TurnCancel{RequestID: number(n), SessionID: t.state.Talk, TurnID: t.state.TurnID})
}

// Withdraw needs no words: a cancelled turn takes its questions with it.
func (tongue) Withdraw(agent.Asked) []byte { return nil }

func number(n uint64) wire.RequestID { return wire.RequestID(strconv.FormatUint(n, 10)) }

func encode(m wire.ClientMessage) []byte {
	data, err := wire.Encode(m)
	if err != nil {
		return nil // a prompt is valid text: it cannot be
	}
	return append(data, '\n')
}
