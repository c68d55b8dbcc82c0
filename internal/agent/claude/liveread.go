package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

// own is a line of ours that came back.
type own struct {
	UUID    string `json:"uuid"`
	Request struct {
		Settings json.RawMessage `json:"settings"`
		Mode     string          `json:"mode"`
	} `json:"request"`
	Response struct {
		ID       string   `json:"request_id"`
		Response decision `json:"response"`
	} `json:"response"`
	Message struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"message"`
}

// sent folds what a message of ours said.
func (d *live) sent(in agent.Input) []agent.Fact {
	s := &d.state
	var m own
	if json.Unmarshal(in.Line, &m) != nil {
		return nil
	}
	kind, rest, _ := strings.Cut(in.Key, ":")
	switch kind {
	case "turn":
		s.talk, s.Steers, s.Use, s.Message, s.Behind = talk{}, nil, agent.Usage{}, "", ""
		s.Prompt, s.Taken, s.Idle, s.Old = m.UUID, false, false, s.Running
		s.Said = slices.DeleteFunc(s.Said, func(what string) bool { return what == "tasks" })
	case "steer":
		text := ""
		if len(m.Message.Content) > 0 {
			text = m.Message.Content[0].Text
		}
		s.Steers = append(s.Steers, steer{in.Key, m.UUID, text})
	case "answer":
		return d.state.answered(m)
	case "hello", "cancel", "stop":
		s.Await(in)
	case "tune":
		s.Await(in)
		if strings.HasSuffix(rest, ":mode") {
			s.Tuned.Mode = m.Request.Mode
		} else {
			s.Tuned.Flags = m.Request.Settings
		}
	}
	return nil
}

// answered closes the request that the owner answered. A call that he refused is none that the mode refused.
func (s *liveState) answered(m own) []agent.Fact {
	if m.Response.Response.Behavior == "deny" {
		s.spare(s.calling(m.Response.ID))
	}
	return s.Closed(m.Response.ID, agent.ClosedAnswered)
}

// withdrawn closes a request that claude takes back, as it does with those of a turn that is interrupted.
func (s *liveState) withdrawn(request string) []agent.Fact {
	s.spare(s.calling(request))
	if s.Sent(agent.CancelKey(s.Turn)) {
		return s.Closed(request, agent.ClosedCancelled)
	}
	return s.Closed(request, agent.ClosedVoid)
}

// calling returns the id of the call that an open request is about; empty for none.
func (s *liveState) calling(request string) string {
	i := slices.IndexFunc(s.Open, func(q agent.Asked) bool { return q.Request == request })
	var q asked
	if i < 0 || json.Unmarshal(s.Open[i].Data, &q) != nil {
		return ""
	}
	return q.Tool
}

// line reads one line of standard output.
func (d *live) line(line []byte) []agent.Fact {
	s := &d.state
	e, ok := parse(line)
	if !ok {
		s.Remember(line)
		return d.state.once("garbage", "claude wrote a line that is no message of its protocol; such lines are left out of the log")
	}
	s.Spoke = true
	if e.Type == "keep_alive" {
		return nil
	}
	facts := d.event(e)
	if !s.Active {
		return facts
	}
	if len(facts) == 0 && e.Type != "stream_event" {
		facts = []agent.Fact{{Kind: agent.FactActivity, Turn: s.Turn}}
	}
	return facts
}

func (d *live) event(e event) []agent.Fact {
	s := &d.state
	switch e.Type {
	case "control_response":
		return d.response(e.Response)
	case "control_request":
		return d.request(e)
	case "control_cancel_request":
		return d.state.withdrawn(e.RequestID)
	case "command_lifecycle":
		return d.state.lifecycle(e.Command, e.State)
	case "system":
		return s.tagged(d.state.system(e))
	case "assistant", "user", "stream_event":
		if !s.Active {
			return d.state.aside(e)
		}
		return s.tagged(d.state.words(e))
	case "rate_limit_event":
		s.limited(e)
	case "result":
		return d.result(e)
	}
	return nil
}

// tagged puts the turn's number on what was said in a turn.
func (s *liveState) tagged(facts []agent.Fact) []agent.Fact {
	if s.Active {
		return s.Stamp(facts...)
	}
	return facts
}

// aside notes what claude says between turns, woken by something that it had waiting.
func (s *liveState) aside(e event) []agent.Fact {
	var facts []agent.Fact
	for _, b := range blocks(e.Message) {
		if e.Type == "assistant" && b.Type == "text" && e.Parent == nil && strings.TrimSpace(string(b.Text)) != "" {
			facts = append(facts, agent.Fact{Kind: agent.FactNote, Text: "claude, between turns: " + string(b.Text)})
		}
	}
	return facts
}

func (s *liveState) words(e event) []agent.Fact {
	switch e.Type {
	case "assistant":
		s.Behind = ""
		facts := append(s.use(e), s.assistant(e, s.say)...)
		if e.Parent == nil {
			s.Stream, s.Whole = "", nil // what came in parts and is no answer
		}
		return facts
	case "user":
		return append(s.Flush(), s.user(&s.Account, e)...)
	}
	return s.stream(e)
}

// stream takes a part of a message as it comes. Its whole follows in a line of its own; tools are read only there.
func (s *liveState) stream(e event) []agent.Fact {
	if e.Parent != nil || e.Event.Delta.Type == "" {
		return nil
	}
	s.Deltas++
	if e.Event.Delta.Type == "text_delta" {
		if facts := s.Chunk(e.Event.Delta.Text); len(facts) > 0 {
			return facts
		}
	}
	if s.Deltas%64 == 1 { // a sign of life, but not for every word
		return []agent.Fact{{Kind: agent.FactActivity}}
	}
	return nil
}

// say takes a whole text, of which some or all may have come in parts.
func (s *liveState) say(text string) []agent.Fact {
	heard := string(s.Whole)
	var facts []agent.Fact
	switch {
	case heard == "" || !strings.HasPrefix(text, heard):
		return append(s.Flush(), s.Say(text))
	case !s.Cut: // else all of it was heard, but not kept
		facts = s.Chunk(text[len(heard):])
	}
	facts = append(facts, s.Flush()...)
	s.SetReply(text)
	return facts
}

// use counts the tokens of a call to the model once, and how full its context is.
func (s *liveState) use(e event) []agent.Fact {
	var m struct {
		ID    string `json:"id"`
		Usage tokens `json:"usage"`
	}
	if e.APIError || json.Unmarshal(e.Message, &m) != nil || m.ID == "" || m.ID == s.Message {
		return nil
	}
	s.Message = m.ID
	s.Use.InputTokens += m.Usage.input()
	s.Use.OutputTokens += m.Usage.Output
	if e.Parent == nil {
		s.Use.ContextTokens = m.Usage.input() + m.Usage.Output
	}
	return []agent.Fact{{Kind: agent.FactUsage, Usage: new(s.Use)}}
}

func (s *liveState) system(e event) []agent.Fact {
	switch e.Subtype {
	case "init":
		s.Cwd = e.Cwd
		facts := s.Named(e.Session)
		if e.Version != "" && !slices.Contains(e.Capabilities, "msg_lifecycle_v1") && !s.Acks {
			facts = append(facts, s.once("steer", "this claude does not tell what becomes of a line, so a running turn cannot be steered; a newer one can")...)
		}
		return facts
	case "session_state_changed":
		s.States, s.Idle = true, e.State == "idle"
		if s.Idle {
			return s.settle()
		}
	case "permission_denied":
		return s.refused(&s.Account, e)
	case "api_retry":
		return retry(e)
	case "background_tasks_changed":
		s.Running, s.Doing = nil, nil
		for _, task := range e.Tasks {
			s.Running = append(s.Running, task.ID)
			s.Doing = append(s.Doing, agent.Shorten(agent.OneLine(task.What), agent.MaxSubject))
		}
	}
	return nil
}

// lifecycle reads what became of a line of ours.
func (s *liveState) lifecycle(uuid, state string) []agent.Fact {
	s.Acks = true
	if uuid == s.Prompt && s.Active {
		switch state {
		case "started":
			s.Taken = true
		case "completed":
			if s.Held == nil { // such as a command of claude's own, which has no result
				s.Held = &agent.Outcome{State: wire.StateCompleted}
			}
		case "cancelled":
			if s.Held == nil {
				s.Held = &agent.Outcome{State: wire.StateInterrupted, Detail: "the agent was interrupted before it began"}
			}
		}
		return nil
	}
	i := slices.IndexFunc(s.Steers, func(t steer) bool { return t.UUID == uuid })
	if i < 0 {
		return nil
	}
	if state == "queued" { // it waits for the end of the tool that runs
		return s.Stamp(agent.Fact{Kind: agent.FactSteerHeld, Key: s.Steers[i].Key})
	}
	t := s.Steers[i]
	s.Steers = slices.Delete(s.Steers, i, i+1)
	if state == "cancelled" {
		facts := []agent.Fact{{Kind: agent.FactSteerRefused, Key: t.Key, Text: "the turn was cancelled before the agent took this"}}
		return append(s.Stamp(facts...), s.settle()...)
	}
	return s.Stamp(append(s.Flush(), agent.Fact{Kind: agent.FactSteered, Key: t.Key, Text: t.Text})...)
}

// result keeps the outcome of what claude has done so far. One that names another prompt, or comes before ours was
// taken, is of something that woke claude and no turn's.
func (d *live) result(e event) []agent.Fact {
	s := &d.state
	if !s.Ready || !s.Active || s.Acks && !s.Taken {
		return nil
	}
	facts := append(s.Named(e.Session), s.Flush()...)
	s.hold(&s.Account, e)
	for _, model := range e.Models {
		s.Use.ContextWindow = max(s.Use.ContextWindow, model.Window)
	}
	s.Held.Usage.ContextTokens, s.Held.Usage.ContextWindow = s.Use.ContextTokens, s.Use.ContextWindow
	if s.States && !s.Idle || e.Queued > 0 {
		return s.Stamp(facts...)
	}
	return append(s.Stamp(facts...), d.state.settle()...)
}

// response reads the answer to a request of ours.
func (d *live) response(r answer) []agent.Fact {
	n, err := strconv.ParseUint(r.ID, 10, 64)
	if err != nil {
		return nil
	}
	key, ok := d.state.Answered(n)
	if !ok {
		return nil
	}
	kind, rest, _ := strings.Cut(key, ":")
	failed := r.Subtype != "success"
	switch {
	case kind == "hello" && failed:
		return d.state.refuse(d.state.Turn, "the handshake", r.Error)
	case kind == "hello":
		return append(offerOf(r.Response), d.state.Hello()...)
	case kind == "tune" && failed:
		var turn uint32
		_, _ = fmt.Sscanf(rest, "%d:", &turn) // our own key
		return d.state.refuse(turn, "the mode of this turn", r.Error)
	}
	return nil
}

// offerOf reads what claude says of itself.
func offerOf(raw agent.Raw) []agent.Fact {
	var r struct {
		Version string `json:"claude_code_version"`
		Mode    string `json:"current_permission_mode"`
		Models  []struct {
			Value   string   `json:"value"`
			Name    string   `json:"displayName"`
			Efforts []string `json:"supportedEffortLevels"`
		} `json:"models"`
		Account struct {
			Email  string `json:"email"`
			Plan   string `json:"subscriptionType"`
			Token  string `json:"tokenSource"`
			APIKey string `json:"apiKeySource"`
		} `json:"account"`
	}
	if json.Unmarshal(raw, &r) != nil {
		return nil
	}
	o := agent.Offer{Version: r.Version, Steer: true}
	for _, m := range r.Models {
		o.Models = append(o.Models, agent.Choice{ID: m.Value, Name: m.Name, Efforts: m.Efforts})
		for _, effort := range m.Efforts {
			if !slices.ContainsFunc(o.Efforts, func(c agent.Choice) bool { return c.ID == effort }) {
				o.Efforts = append(o.Efforts, agent.Choice{ID: effort})
			}
		}
	}
	if r.Mode != "" {
		o.Modes = []agent.Choice{{ID: r.Mode, Used: true}}
	}
	none := func(s string) bool { return s == "" || s == "none" }
	switch {
	case r.Account.Email != "":
		o.SignIn = strings.TrimSpace("signed in as " + r.Account.Email + " " + r.Account.Plan)
	case !none(r.Account.APIKey):
		o.SignIn = "signed in by a key from " + r.Account.APIKey
	case !none(r.Account.Token):
		o.SignIn = "signed in by a token from " + r.Account.Token
	default:
		o.SignIn = "not signed in; sign in with: " + signIn
	}
	return []agent.Fact{{Kind: agent.FactOffer, Offer: &o}}
}
