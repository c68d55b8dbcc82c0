package acp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

// Keys of the handshake. The prompt that follows it ends it.
const (
	greetKey   = "hello:greet"
	sessionKey = "hello:session"
)

// keySet begins the keys of settings that a later turn changes.
const keySet = "set:"

// object is the content of a message.
type object = map[string]any

// tongue says things in the protocol's words.
type tongue struct{ *dialect }

// greeting is the dialect as it makes the agent ready, at first and before each turn.
type greeting struct{ *dialect }

// Handshake greets, makes or finds the session, and puts the settings of the first turn in force.
func (t tongue) Handshake(w agent.Wishes, n uint64) (agent.Message, bool) {
	s := &t.state
	switch {
	case !s.Sent(greetKey):
		return agent.Message{Key: greetKey, Bytes: agent.RequestLine(true, n, "initialize", object{
			"protocolVersion":    protocolVersion,
			"clientCapabilities": object{"fs": object{"readTextFile": false, "writeTextFile": false}, "terminal": false},
			"clientInfo":         object{"name": "scv", "title": "SCV", "version": "1"},
		})}, true
	case w.Turn == nil:
		return agent.Message{}, false
	case !s.Sent(sessionKey):
		params := object{"cwd": w.Turn.Cwd, "mcpServers": []any{}}
		method := "session/new"
		if w.Turn.Session != "" {
			params["sessionId"], method = w.Turn.Session, "session/load"
			if s.Can.Resume {
				method = "session/resume"
			}
		}
		return agent.Message{Key: sessionKey, Bytes: agent.RequestLine(true, n, method, params)}, true
	}
	if g, ok := t.due(*w.Turn); ok {
		return agent.Message{Key: agent.HelloKey(g.key(*w.Turn)), Bytes: t.setting(g, n)}, true
	}
	if w.Cancel == w.Turn.Number {
		return agent.Message{}, false
	}
	return agent.Message{Key: w.Turn.Key, Bytes: t.Prompt(*w.Turn, n)}, true
}

// adjust puts the settings of a later turn in force before its prompt; wait is set while an answer is awaited.
func (d greeting) adjust(w agent.Wishes, n uint64) (m agent.Message, ok, wait bool) {
	s := &d.state
	if !s.Ready || s.Active || s.Gone || s.Broken != "" || len(s.Owed) > 0 || w.Turn == nil ||
		s.Sent(w.Turn.Key) || w.Cancel == w.Turn.Number {
		return m, false, false
	}
	if s.Waits(keySet) {
		return m, false, true
	}
	g, ok := d.due(*w.Turn)
	if !ok {
		return m, false, false
	}
	key := fmt.Sprintf("%s%d:%s", keySet, w.Turn.Number, g.key(*w.Turn))
	return agent.Message{Key: key, Bytes: d.setting(g, n)}, true, false
}

// settingOf is the setting that a key of adjust or of the handshake names.
func settingOf(key string) string {
	parts := strings.Split(key, ":")
	if len(parts) > 1 && parts[0]+":" == keySet {
		parts = parts[1:]
	}
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

// turnOf is the turn that a key of adjust names; 0 for a key of the handshake.
func turnOf(key string) uint32 {
	rest, ok := strings.CutPrefix(key, keySet)
	if !ok {
		return 0
	}
	number, _, _ := strings.Cut(rest, ":")
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

// reply takes the answer to a request of ours.
func (d greeting) reply(m agent.RPC) []agent.Fact {
	n, ok := m.Number()
	key := ""
	if ok {
		key, ok = d.state.Answered(n)
	}
	if !ok {
		return d.once("answers", "it answered a request that was never made; the answer is left out")
	}
	d.state.Spoke = true
	kind, _, _ := strings.Cut(key, ":")
	switch {
	case key == greetKey:
		return d.greeted(m)
	case key == sessionKey:
		return d.opened(m)
	case kind == "hello" || kind+":" == keySet:
		return d.settled(key, m)
	case kind == "steer":
		return d.steered(key, m)
	case kind == "turn":
		return ending(d).prompted(key, m)
	}
	return nil
}

// greeted reads what the agent can do.
func (d greeting) greeted(m agent.RPC) []agent.Fact {
	if m.Error != nil {
		return d.forsake(ending(d).failure(*m.Error))
	}
	var r struct {
		Version json.RawMessage `json:"protocolVersion"`
		Info    struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"agentInfo"`
		Can struct {
			Load    bool `json:"loadSession"`
			Session struct {
				Resume json.RawMessage `json:"resume"`
			} `json:"sessionCapabilities"`
		} `json:"agentCapabilities"`
		Auth []struct {
			Name string `json:"name"`
		} `json:"authMethods"`
		Meta struct {
			Steering struct {
				Supported bool `json:"supported"`
			} `json:"steering"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil || string(r.Version) != strconv.Itoa(protocolVersion) {
		detail := fmt.Sprintf("%s speaks another version of the protocol (%s) than SCV does (%d); update one of the two",
			d.kind, agent.Shorten(string(r.Version), 20), protocolVersion)
		return d.forsake(agent.Outcome{State: wire.StateFailed, Class: agent.ClassStart, Detail: detail, Error: detail})
	}
	can := abilities{
		Name: agent.Shorten(r.Info.Name, 80), Version: agent.Shorten(r.Info.Version, 80),
		Load: r.Can.Load, Resume: offered(r.Can.Session.Resume), Steer: r.Meta.Steering.Supported,
	}
	for _, way := range r.Auth[:min(len(r.Auth), 8)] {
		can.Auth = append(can.Auth, agent.Shorten(way.Name, 60))
	}
	d.state.Can = can
	return []agent.Fact{{Kind: agent.FactActivity}}
}

// offered reports whether a capability is there: an object, or true.
func offered(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "false"
}

// opened reads the answer to the request for a session.
func (d greeting) opened(m agent.RPC) []agent.Fact {
	resuming := d.state.Resuming
	if m.Error != nil {
		o := ending(d).failure(*m.Error)
		if resuming != "" && (o.Class == agent.ClassAgent || o.Class == agent.ClassStart) {
			o.Class = agent.ClassSession
			o.Detail = agent.Explain(o.Class, d.kind, "", o.Error)
			if !d.state.Can.Load && !d.state.Can.Resume {
				o.Detail = d.kind + " cannot go on with an earlier conversation; start a new job"
			}
		}
		return d.forsake(o)
	}
	var r struct {
		SessionID string `json:"sessionId"`
		offers
	}
	err := json.Unmarshal(m.Result, &r)
	if resuming != "" {
		r.SessionID, err = resuming, nil // some answer with null
	}
	if err != nil || r.SessionID == "" {
		detail := d.kind + " made no session that can be used: " + agent.Shorten(string(m.Result), 120)
		return d.forsake(agent.Outcome{State: wire.StateFailed, Class: agent.ClassAgent, Detail: detail, Error: detail})
	}
	d.state.Menu.read(r.offers)
	facts := d.state.Named(r.SessionID)
	if missing := d.state.Menu.missing(); len(missing) > 0 && d.profile.Start == nil {
		facts = append(facts, d.once("modes", "it offers no mode of its own for "+strings.Join(missing, ", ")+d.state.Menu.Mode.known()+
			": what it asks for is decided by the job's mode, what it does unasked is not")...)
	}
	return facts
}

// settled reads the answer to a setting. A mode that holds the agent back must be in force, and so must a model that was
// asked for; more freedom or another effort than it takes is no reason to stop.
func (d greeting) settled(key string, m agent.RPC) []agent.Fact {
	setting, value := settingOf(key), d.state.Set[settingOf(key)]
	if m.Error == nil {
		d.state.Menu.use(setting, value)
		var r struct {
			offers
		}
		if json.Unmarshal(m.Result, &r) == nil && len(r.Options) > 0 {
			d.state.Menu.read(r.offers)
		}
		if !d.state.Ready {
			return []agent.Fact{{Kind: agent.FactActivity}} // told with the rest
		}
		return []agent.Fact{d.offer()}
	}
	said := agent.Shorten(m.Error.Message, agent.MaxDetail)
	if setting == setEffort || setting == setMode && strings.HasSuffix(key, ":"+string(agent.ModeAuto)) {
		return []agent.Fact{{Kind: agent.FactNote, Text: fmt.Sprintf("%s refused the %s %q: %s", d.kind, setting, value, said)}}
	}
	o := agent.Outcome{State: wire.StateFailed, Class: agent.ClassAgent, Error: m.Error.Message}
	o.Detail = fmt.Sprintf("%s refused the mode %q, and without it would not be held to what the job allows: %s", d.kind, value, said)
	if setting == setModel {
		o.Class = agent.ClassModel
		o.Detail = fmt.Sprintf("%s refused the model %q: %s%s", d.kind, value, said, d.state.Menu.Model.known())
	}
	delete(d.state.Set, setting)
	if turn := turnOf(key); turn != 0 {
		return d.state.Fail(turn, o)
	}
	return d.forsake(o)
}

// forsake gives the process up with an outcome for the turn that waits.
func (d greeting) forsake(o agent.Outcome) []agent.Fact { return d.state.Forsake(o) }

// signedIn reads who is signed in, which some agents tell by themselves.
func (d greeting) signedIn(params json.RawMessage) []agent.Fact {
	var p struct {
		Status struct {
			Kind   string `json:"kind"`
			Label  string `json:"label"`
			Detail string `json:"detail"`
		} `json:"authStatus"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	parts := slices.DeleteFunc([]string{p.Status.Label, p.Status.Detail}, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		parts = []string{p.Status.Kind}
	}
	d.state.SignIn = agent.Shorten(strings.Join(parts, ", "), agent.MaxSubject)
	if !d.state.Ready {
		return nil // told with the rest
	}
	return []agent.Fact{d.offer()}
}
