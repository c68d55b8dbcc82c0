package codex

import (
	"encoding/json"
	"strconv"
	"strings"

	"scv/internal/agent"
)

// answers reads codex's answers to requests of ours.
type answers struct{ *liveState }

// answered takes codex's answer to a request of ours.
func (s answers) answered(m agent.RPC) []agent.Fact {
	n, _ := m.Number()
	key, ok := s.Answered(n)
	if !ok {
		return s.once("answer", "codex answered a request that was not open: "+agent.Shorten(string(m.ID), 40))
	}
	kind, rest, _ := strings.Cut(key, ":")
	switch kind {
	case "hello":
		return s.greeted(rest, m)
	case "turn":
		if rest == strconv.FormatUint(uint64(s.Turn), 10) {
			return s.turnTaken(m)
		}
	case "steer":
		return s.steerTaken(key, m)
	case "cancel":
		if m.Error != nil { // as when the turn ended by itself
			return s.once(key, "codex did not interrupt the turn: "+agent.Shorten(m.Error.Message, agent.MaxDetail))
		}
	case "ends":
		if m.Error != nil {
			return s.once(key, "codex did not end the commands of the cancelled turn, which may run on: "+agent.Shorten(m.Error.Message, agent.MaxDetail))
		}
		return nil
	case "why":
		if m.Error != nil {
			return s.once(key, "codex did not take the reason of the denial: "+agent.Shorten(m.Error.Message, agent.MaxDetail))
		}
	}
	return s.activity()
}

// greeted takes an answer of the handshake, or one on what codex offers.
func (s answers) greeted(step string, m agent.RPC) []agent.Fact {
	switch step {
	case "initialize":
		var r struct {
			Agent string `json:"userAgent"`
		}
		if m.Error != nil {
			return s.broke("codex refused the connection", agent.ClassStart, m.Error.Message)
		}
		_ = json.Unmarshal(m.Result, &r) // without a version it goes on
		_, version, _ := strings.Cut(r.Agent, "/")
		s.Offer.Version, _, _ = strings.Cut(version, " ")
	case "thread":
		return s.opened(m)
	case "account":
		return s.account(m)
	case "models":
		return s.models(m)
	}
	return nil
}

// opened ends the handshake: the thread is there.
func (s answers) opened(m agent.RPC) []agent.Fact {
	var r struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
		Model   string          `json:"model"`
		Effort  string          `json:"reasoningEffort"`
		Sandbox json.RawMessage `json:"sandbox"`
	}
	switch {
	case m.Error != nil && s.Resumes:
		return s.broke("codex did not open the conversation", agent.ClassSession, m.Error.Message)
	case m.Error != nil:
		return s.broke("codex did not open a conversation", agent.ClassStart, m.Error.Message)
	case json.Unmarshal(m.Result, &r) != nil || r.Thread.ID == "":
		return s.broke("codex did not open a conversation", agent.ClassStart, "its answer names none")
	}
	s.Model, s.Effort = r.Model, r.Effort
	if s.Rules.Sandbox == "workspace-write" {
		s.Workspace = r.Sandbox
	}
	s.Offer.Steer = true
	facts := append(s.Named(r.Thread.ID), s.Hello()...)
	return append(facts, s.offer())
}

// offer is all that is known so far of what codex can do.
func (s answers) offer() agent.Fact {
	return agent.Fact{Kind: agent.FactOffer, Offer: new(s.Offer)}
}

// account says who is signed in.
func (s answers) account(m agent.RPC) []agent.Fact {
	var r struct {
		Account *struct {
			Type  string `json:"type"`
			Email string `json:"email"`
			Plan  string `json:"planType"`
		} `json:"account"`
		Needed bool `json:"requiresOpenaiAuth"`
	}
	if m.Error != nil || json.Unmarshal(m.Result, &r) != nil {
		return nil
	}
	switch {
	case r.Account == nil && r.Needed:
		s.Offer.SignIn = "nobody is signed in; sign in with: " + signIn
	case r.Account == nil:
		s.Offer.SignIn = "the model's provider needs no sign-in"
	case r.Account.Type == "apiKey":
		s.Offer.SignIn = "signed in with an API key"
	case r.Account.Type == "chatgpt":
		s.Offer.SignIn = strings.TrimSpace("signed in with ChatGPT, plan "+r.Account.Plan) + as(r.Account.Email)
	default:
		s.Offer.SignIn = "signed in with " + r.Account.Type
	}
	return []agent.Fact{s.offer()}
}

func as(email string) string {
	if email == "" {
		return ""
	}
	return ", as " + email
}

// models lists the models, and the efforts of the one in force.
func (s answers) models(m agent.RPC) []agent.Fact {
	var r struct {
		Data []struct {
			Model   string `json:"model"`
			Name    string `json:"displayName"`
			Default bool   `json:"isDefault"`
			Effort  string `json:"defaultReasoningEffort"`
			Efforts []struct {
				Effort string `json:"reasoningEffort"`
			} `json:"supportedReasoningEfforts"`
		} `json:"data"`
	}
	if m.Error != nil || json.Unmarshal(m.Result, &r) != nil {
		return nil
	}
	s.Offer.Models, s.Offer.Efforts = nil, nil
	for _, model := range r.Data {
		used := model.Model == s.Model
		choice := agent.Choice{ID: model.Model, Name: model.Name, Used: used}
		for _, e := range model.Efforts {
			choice.Efforts = append(choice.Efforts, e.Effort)
			if used {
				s.Offer.Efforts = append(s.Offer.Efforts, agent.Choice{ID: e.Effort, Used: e.Effort == agent.Choose(s.Effort, model.Effort)})
			}
		}
		s.Offer.Models = append(s.Offer.Models, choice)
	}
	return []agent.Fact{s.offer()}
}

// turnTaken learns codex's name of the turn in hand.
func (s answers) turnTaken(m agent.RPC) []agent.Fact {
	if m.Error != nil {
		return s.failed(turnError{Message: m.Error.Message})
	}
	var r struct {
		Turn struct {
			ID string `json:"id"`
		} `json:"turn"`
	}
	if json.Unmarshal(m.Result, &r) == nil && r.Turn.ID != "" && r.Turn.ID != s.Past {
		s.TurnID = r.Turn.ID
	}
	return s.activity()
}

// steerTaken says what became of a text for the running turn. It stays known until the turn shows it.
func (s answers) steerTaken(key string, m agent.RPC) []agent.Fact {
	for i := range s.Steers {
		if s.Steers[i].Key != key || s.Steers[i].Taken {
			continue
		}
		if m.Error != nil {
			s.Steers = append(s.Steers[:i], s.Steers[i+1:]...)
			return s.Stamp(agent.Fact{Kind: agent.FactSteerRefused, Key: key, Text: agent.Shorten(m.Error.Message, agent.MaxDetail)})
		}
		s.Steers[i].Taken = true
		return s.Stamp(agent.Fact{Kind: agent.FactSteered, Key: key, Text: s.Steers[i].Text})
	}
	return nil
}
