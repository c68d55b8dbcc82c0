package trial

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"scv/internal/agent"
)

// live is the folded state that both live dialects need. Everything in it is learnt from the spool: what we wrote as
// well, which is how a fold from any point knows which requests are open and which id belongs to which.
type live struct {
	Started bool              `json:"started,omitzero"`
	Ready   bool              `json:"ready,omitzero"`
	Wrote   []string          `json:"wrote,omitempty"`   // keys that came back, the handshake's and those of the turn
	Pending map[uint64]string `json:"pending,omitempty"` // requests of ours without an answer: number -> key
	Open    map[string]bool   `json:"open,omitempty"`    // requests of the agent's without an answer, by id as JSON
	Session string            `json:"session,omitempty"`
	Turn    uint32            `json:"turn,omitzero"`
	Active  bool              `json:"active,omitzero"`
	TurnID  string            `json:"turn_id,omitempty"`
	Reply   string            `json:"reply,omitempty"`
	Text    string            `json:"text,omitempty"` // of chunks, not logged yet
	Tools   map[string]string `json:"tools,omitempty"`
}

// wire is a JSON-RPC message of either side.
type wireMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(data, '\n')
}

type object = map[string]any

// sent folds a message of ours that came back.
func (s *live) sent(in agent.Input) []agent.Fact {
	var m wireMessage
	if json.Unmarshal(in.Line, &m) != nil {
		return nil
	}
	s.Wrote = append(s.Wrote, in.Key)
	kind, rest, _ := strings.Cut(in.Key, ":")
	if m.Method != "" && len(m.ID) > 0 {
		if s.Pending == nil {
			s.Pending = make(map[uint64]string)
		}
		s.Pending[in.N] = in.Key
	}
	switch kind {
	case "turn":
		_, _ = fmt.Sscanf(rest, "%d", &s.Turn)
		s.Active, s.Reply, s.TurnID = true, "", ""
		return []agent.Fact{{Kind: agent.FactTurnStarted, Turn: s.Turn}}
	case "answer":
		return s.closed(string(m.ID), "answered")
	}
	return nil
}

// answered finds which request of ours a message answers.
func (s *live) answered(m wireMessage) (key string, ok bool) {
	var n uint64
	if m.Method != "" || json.Unmarshal(m.ID, &n) != nil {
		return "", false
	}
	key, ok = s.Pending[n]
	delete(s.Pending, n)
	return key, ok
}

func (s *live) asked(id json.RawMessage, name, summary string) []agent.Fact {
	if s.Open == nil {
		s.Open = make(map[string]bool)
	}
	s.Open[string(id)] = true
	return []agent.Fact{{Kind: agent.FactApprovalAsked, Turn: s.Turn, Approval: &agent.Approval{Request: string(id), Name: name, Summary: summary}}}
}

func (s *live) closed(id, status string) []agent.Fact {
	if !s.Open[id] {
		return nil
	}
	delete(s.Open, id)
	return []agent.Fact{{Kind: agent.FactApprovalClosed, Turn: s.Turn, Status: status, Approval: &agent.Approval{Request: id}}}
}

// ended settles the turn and voids what is open.
func (s *live) ended(o agent.Outcome) []agent.Fact {
	var facts []agent.Fact
	for _, id := range sortedKeys(s.Open) {
		facts = append(facts, s.closed(id, "void")...)
	}
	o.Reply = s.Reply
	s.Active = false
	s.Tools = nil
	return append(facts, agent.Fact{Kind: agent.FactTurnEnded, Turn: s.Turn, Outcome: &o})
}

// wrote reports whether a message with this key came back.
func (s *live) wrote(key string) bool { return slices.Contains(s.Wrote, key) }

// next decides everything that does not depend on the protocol's words.
func (s *live) next(w agent.Wishes, n uint64, p protocol) (agent.Message, bool) {
	if !s.Started {
		return agent.Message{}, false
	}
	if !s.Ready {
		if len(s.Pending) > 0 {
			return agent.Message{}, false
		}
		return p.handshake(w, n)
	}
	for _, a := range w.Answers {
		if s.Open[a.Request] && !s.wrote(a.Key) {
			return agent.Message{Key: a.Key, Bytes: p.answer(a)}, true
		}
	}
	if s.Active && w.Cancel == s.Turn && !s.wrote(fmt.Sprintf("cancel:%d", s.Turn)) {
		if bytes := p.cancel(n); bytes != nil {
			return agent.Message{Key: fmt.Sprintf("cancel:%d", s.Turn), Bytes: bytes}, true
		}
	}
	if !s.Active && w.Turn != nil && !s.wrote(w.Turn.Key) {
		return agent.Message{Key: w.Turn.Key, Bytes: p.prompt(*w.Turn, n)}, true
	}
	if !s.Active && w.Close && !s.wrote("close:") {
		return agent.Message{Key: "close:", EOF: true}, true
	}
	return agent.Message{}, false
}

// protocol is what the two differ in.
type protocol interface {
	handshake(w agent.Wishes, n uint64) (agent.Message, bool)
	prompt(t agent.Turn, n uint64) []byte
	answer(a agent.Answer) []byte
	cancel(n uint64) []byte
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
