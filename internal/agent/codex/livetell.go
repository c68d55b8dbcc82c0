package codex

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

type object = map[string]any

// Handshake opens the connection, then the thread. It names no directory: given one, codex writes it as trusted into the
// owner's configuration, while its own is the run's already.
func (d *live) Handshake(w agent.Wishes, n uint64) (agent.Message, bool) {
	initialize, initialized, thread := agent.HelloKey("initialize"), agent.HelloKey("initialized"), agent.HelloKey("thread")
	switch {
	case !d.s.Sent(initialize):
		return agent.Message{Key: initialize, Bytes: agent.RequestLine(false, n, "initialize", object{
			"clientInfo": object{"name": "scv", "title": "SCV", "version": "1"},
			"capabilities": object{
				// The whole change of a turn so far, again at each change: nobody reads it.
				"optOutNotificationMethods": []string{"turn/diff/updated"},
				"experimentalApi":           true, // without it codex takes no word on what runs on behind a turn
			},
		})}, true
	case !d.s.Sent(initialized):
		return agent.Message{Key: initialized, Bytes: agent.NoticeLine(false, "initialized", nil)}, true
	case !d.s.Sent(thread) && w.Turn != nil:
		return agent.Message{Key: thread, Bytes: d.thread(*w.Turn, n)}, true
	}
	return agent.Message{}, false
}

// thread starts a thread or goes on with one. Approvals go to the owner, whoever the owner's own configuration names.
func (d *live) thread(t agent.Turn, n uint64) []byte {
	rules := policyOf(t.Mode)
	params := object{"approvalPolicy": rules.Approval, "sandbox": rules.Sandbox, "approvalsReviewer": "user"}
	if model := agent.Choose(t.Model, d.settings.Model); model != "" {
		params["model"] = model
	}
	if t.Session == "" {
		return agent.RequestLine(false, n, "thread/start", params)
	}
	params["threadId"], params["cwd"], params["excludeTurns"] = t.Session, t.Cwd, true
	return agent.RequestLine(false, n, "thread/resume", params)
}

// Prompt starts a turn. The mode is said again only when it is not the thread's, so that the owner's own settings of the
// workspace sandbox hold.
func (d *live) Prompt(t agent.Turn, n uint64) []byte {
	params := object{"threadId": d.s.Session, "clientUserMessageId": t.Key, "input": input(t.Prompt)}
	if model := agent.Choose(t.Model, d.settings.Model); model != "" && model != d.s.Model {
		params["model"] = model
	}
	if effort := agent.Choose(t.Effort, d.settings.Effort); effort != "" {
		params["effort"] = effort
	}
	if rules := policyOf(t.Mode); rules != d.s.Rules {
		params["approvalPolicy"], params["sandboxPolicy"] = rules.Approval, d.s.sandbox(rules.Sandbox)
	}
	return agent.RequestLine(false, n, "turn/start", params)
}

func input(text string) []object { return []object{{"type": "text", "text": text}} }

// sandboxTypes pairs the names of a sandbox at a thread's start with those at a turn's.
func sandboxTypes() [3][2]string {
	return [3][2]string{{"danger-full-access", "dangerFullAccess"}, {"read-only", "readOnly"}, {"workspace-write", "workspaceWrite"}}
}

func (s *liveState) sandbox(name string) any {
	if name == "workspace-write" && len(s.Workspace) > 0 {
		return s.Workspace
	}
	for _, pair := range sandboxTypes() {
		if pair[0] == name {
			return object{"type": pair[1]}
		}
	}
	return nil
}

// Answer answers a request for this once.
func (d *live) Answer(a agent.Answer, q agent.Asked) []byte {
	var data asked
	if json.Unmarshal(q.Data, &data) != nil {
		return nil
	}
	return agent.ResultLine(false, json.RawMessage(q.Request), data.verdict(a.Approved))
}

// Steer gives the running turn a text; codex refuses it once that turn is over.
func (d *live) Steer(s agent.Steer, n uint64) []byte { return d.s.steer(s.Key, s.Text, n) }

func (s *liveState) steer(key, text string, n uint64) []byte {
	if !s.Begun {
		return nil
	}
	return agent.RequestLine(false, n, "turn/steer", object{
		"threadId": s.Session, "expectedTurnId": s.TurnID, "clientUserMessageId": key, "input": input(text),
	})
}

// Cancel interrupts the turn, which codex has to have begun: one that it only accepted it does not know yet.
func (d *live) Cancel(n uint64) []byte {
	if !d.s.Begun {
		return nil
	}
	return agent.RequestLine(false, n, "turn/interrupt", object{"threadId": d.s.Session, "turnId": d.s.TurnID})
}

// ends has codex end the commands that a cancelled turn left running: interrupting it ends what the model would do next, and
// not what it began. It is said once, after the turn's end, before another turn can begin something.
func (d *live) ends(n uint64) (agent.Message, bool) {
	s := &d.s
	key := fmt.Sprintf("%s%d", keyEnds, s.Turn)
	if !s.Ready || s.Active || s.Gone || s.Broken != "" || s.Sent("close:") || !s.Sent(agent.CancelKey(s.Turn)) || s.Sent(key) {
		return agent.Message{}, false
	}
	return agent.Message{Key: key, Bytes: agent.RequestLine(false, n, "thread/backgroundTerminals/clean", object{"threadId": s.Session})}, true
}

// keyEnds begins the key of that message.
const keyEnds = "ends:"

// Withdraw says nothing: codex closes what is open when the turn is interrupted.
func (d *live) Withdraw(agent.Asked) []byte { return nil }

// keyWhy begins the key of a message that gives the reason of a denial.
const keyWhy = "why:"

// why gives the reason of a denial as a further text of the turn: codex's answers have no room for one. It goes first, so
// that it stands beside the refused call when the model reads on.
func (d *live) why(w agent.Wishes, n uint64) (agent.Message, bool) {
	s := &d.s
	if !s.Ready || !s.Active || s.Gone || s.Broken != "" || len(s.Owed) > 0 || w.Cancel == s.Turn {
		return agent.Message{}, false
	}
	for _, a := range w.Answers {
		open := slices.ContainsFunc(s.Open, func(q agent.Asked) bool { return q.Request == a.Request })
		if !open || s.Sent(a.Key) {
			continue
		}
		key := keyWhy + a.Key
		if a.Approved || a.Reason == "" || s.Sent(key) {
			return agent.Message{}, false
		}
		line := s.steer(key, "The request was not approved. The reason: "+a.Reason, n)
		return agent.Message{Key: key, Bytes: line}, line != nil
	}
	return agent.Message{}, false
}

// sent folds a message of ours that came back.
func (s *liveState) sent(in agent.Input) []agent.Fact {
	m, ok := agent.ReadRPC(in.Line)
	if !ok {
		return nil
	}
	if m.Method == "" {
		return s.verdictSent(m)
	}
	if m.ID == nil {
		return nil
	}
	s.Await(in)
	var p struct {
		Approval string `json:"approvalPolicy"`
		Sandbox  string `json:"sandbox"`
		Policy   struct {
			Type string `json:"type"`
		} `json:"sandboxPolicy"`
		Input []struct {
			Text string `json:"text"`
		} `json:"input"`
	}
	_ = json.Unmarshal(m.Params, &p) // it is our own
	for _, pair := range sandboxTypes() {
		if pair[1] == p.Policy.Type {
			p.Sandbox = pair[0]
		}
	}
	if p.Approval != "" {
		s.Rules = policy{p.Approval, p.Sandbox}
	}
	switch {
	case m.Method == "thread/resume":
		s.Resumes = true
	case m.Method == "turn/start":
		s.Past, s.TurnID, s.Begun = s.TurnID, "", false
		s.Steers, s.Changes, s.Declined, s.Saying, s.Streamed = nil, nil, nil, "", 0
		s.answer, s.Complaint = answer{}, ""
	case m.Method == "turn/steer" && strings.HasPrefix(in.Key, "steer:") && len(p.Input) > 0:
		s.Steers = append(s.Steers, steer{Key: in.Key, Text: p.Input[0].Text})
	}
	return nil
}

// verdictSent closes a request whose answer was written.
func (s *liveState) verdictSent(m agent.RPC) []agent.Fact {
	i := slices.IndexFunc(s.Open, func(q agent.Asked) bool { return q.Request == string(m.ID) })
	if i < 0 {
		return nil
	}
	var data asked
	var r struct {
		Decision string `json:"decision"`
	}
	if json.Unmarshal(s.Open[i].Data, &data) == nil && json.Unmarshal(m.Result, &r) == nil && r.Decision == "decline" {
		s.Declined = append(s.Declined, data.Item)
	}
	return s.Closed(string(m.ID), agent.ClosedAnswered)
}

// exit settles what the process leaves behind: texts that it never took, and a turn without a final event.
func (s *liveState) exit(in agent.Input) []agent.Fact {
	var facts []agent.Fact
	for _, x := range s.Steers {
		if !x.Taken {
			facts = append(facts, s.Stamp(agent.Fact{
				Kind: agent.FactSteerRefused, Key: x.Key, Text: "codex left before it took the text",
			})...)
		}
	}
	s.Steers = nil
	s.Remember([]byte(s.Complaint))
	ended, _ := s.Feed("codex", in)
	for _, f := range ended {
		if f.Kind == agent.FactTurnEnded {
			f.Outcome.Usage = s.Use
		}
	}
	return append(facts, ended...)
}

// broke ends a run whose handshake failed.
func (s *liveState) broke(what string, class agent.Class, message string) []agent.Fact {
	if found := agent.ClassifyText(message); found != agent.ClassNone {
		class = found
	}
	return s.Forsake(agent.Outcome{
		State: wire.StateFailed, Class: class, Error: message,
		Detail: agent.Explain(class, "codex", signIn, what+": "+message),
	})
}
