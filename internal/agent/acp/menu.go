package acp

import (
	"encoding/json"
	"slices"
	"strings"

	"scv/internal/agent"
)

// Names of the settings.
const (
	setMode   = "mode"
	setModel  = "model"
	setEffort = "effort"
)

// maxChoices bounds the values kept of one setting.
const maxChoices = 64

// A menu is what a session lets us choose.
type menu struct {
	Mode   setting `json:"mode,omitzero"`
	Model  setting `json:"model,omitzero"`
	Effort setting `json:"effort,omitzero"`
}

// A setting is chosen by a method of its own, or as a configuration option of the session.
type setting struct {
	Method  string         `json:"method,omitempty"` // empty: there is nothing to choose
	Option  string         `json:"option,omitempty"` // the option's id, for session/set_config_option
	Choices []agent.Choice `json:"choices,omitempty"`
	Used    string         `json:"used,omitempty"` // the value in force, also one that is not among the choices
}

// offers are the parts of an answer that say what can be chosen.
type offers struct {
	Modes struct {
		Current   string `json:"currentModeId"`
		Available []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"availableModes"`
	} `json:"modes"`
	Models struct {
		Current   string `json:"currentModelId"`
		Available []struct {
			ID   string `json:"modelId"`
			Name string `json:"name"`
		} `json:"availableModels"`
	} `json:"models"`
	Options []option `json:"configOptions"`
}

// An option is a configuration option of a session. Its values may stand in groups.
type option struct {
	ID       string          `json:"id"`
	Category string          `json:"category"`
	Current  json.RawMessage `json:"currentValue"`
	Options  []optionValue   `json:"options"`
}

type optionValue struct {
	Value   string        `json:"value"`
	Name    string        `json:"name"`
	Options []optionValue `json:"options"`
}

// read takes in what an answer or update offers; what it does not speak of stays. A mode is best set by its own method,
// a model as an option: where an agent has both, the older list names models together with efforts.
func (m *menu) read(o offers) {
	for _, opt := range o.Options {
		s := opt.setting()
		switch {
		case len(s.Choices) == 0:
		case opt.Category == "mode" || opt.Category == "" && opt.ID == "mode":
			if m.Mode.Method != "session/set_mode" {
				m.Mode = s
			}
		case opt.Category == "model" || opt.Category == "" && opt.ID == "model":
			m.Model = s
		case opt.Category == "thought_level" || slices.Contains([]string{"effort", "reasoning_effort", "thought_level"}, opt.ID):
			m.Effort = s
		}
	}
	if len(o.Modes.Available) > 0 {
		m.Mode = setting{Method: "session/set_mode", Used: o.Modes.Current}
		for _, mode := range o.Modes.Available {
			m.Mode.add(mode.ID, mode.Name)
		}
	}
	if len(o.Models.Available) > 0 && m.Model.Option == "" {
		m.Model = setting{Method: "session/set_model", Used: o.Models.Current}
		for _, model := range o.Models.Available {
			m.Model.add(model.ID, model.Name)
		}
	}
}

func (o option) setting() setting {
	s := setting{Method: "session/set_config_option", Option: o.ID}
	_ = json.Unmarshal(o.Current, &s.Used) // a switch has no text, and no choices either
	for _, v := range o.Options {
		s.add(v.Value, v.Name)
		for _, inner := range v.Options {
			s.add(inner.Value, inner.Name)
		}
	}
	return s
}

func (s *setting) add(id, name string) {
	if id == "" || len(id) > 128 || len(s.Choices) == maxChoices {
		return
	}
	if name = agent.Shorten(name, 60); name == id {
		name = ""
	}
	s.Choices = append(s.Choices, agent.Choice{ID: id, Name: name})
}

// use notes that a value is in force.
func (m *menu) use(name, value string) {
	switch name {
	case setMode:
		m.Mode.Used = value
	case setModel:
		m.Model.Used = value
	case setEffort:
		m.Effort.Used = value
	}
}

func (s setting) has(id string) bool {
	return slices.ContainsFunc(s.Choices, func(c agent.Choice) bool { return c.ID == id })
}

// shown is the choices with the one in force marked.
func (s setting) shown() []agent.Choice {
	out := slices.Clone(s.Choices)
	for i := range out {
		out[i].Used = out[i].ID == s.Used
	}
	return out
}

// known is the end of a sentence on a value that is not among the choices.
func (s setting) known() string {
	var ids []string
	for _, c := range s.Choices {
		ids = append(ids, c.ID)
	}
	if len(ids) == 0 {
		return ""
	}
	return " (it offers " + agent.Shorten(strings.Join(ids, ", "), 160) + ")"
}

// A goal is a value that a setting should have.
type goal struct{ name, value string }

// key names a goal in the key of its message. The mode's holds the job's own word, which says how strictly it is meant.
func (g goal) key(t agent.Turn) string {
	if g.name == setMode {
		return setMode + ":" + string(t.Mode)
	}
	return g.name
}

// candidates are the modes of known agents that stand for a permission mode, the best first. A mode in which a model
// judges what is harmless is none of them.
func candidates(mode agent.Mode) []string {
	switch mode {
	case agent.ModeAuto:
		return []string{"agent-full-access", "bypassPermissions", "full-access", "yolo"}
	case agent.ModeAlways:
		return []string{"read-only", "default", "ask"}
	case agent.ModeReadOnly:
		return []string{"read-only", "plan", "default", "ask"}
	default:
		return []string{"workspace-write", "default", "ask"}
	}
}

// missing are the permission modes that hold the agent back and that none of its own stands for.
func (m *menu) missing() (out []string) {
	for _, mode := range []agent.Mode{agent.ModeOnRisk, agent.ModeAlways, agent.ModeReadOnly} {
		if !slices.ContainsFunc(candidates(mode), m.Mode.has) {
			out = append(out, string(mode))
		}
	}
	return out
}

// due is the next setting that the turn needs and that was not asked for. The mode is always asked for once: what an
// agent says of its mode at the beginning is not always so.
func (d *dialect) due(t agent.Turn) (goal, bool) {
	s := &d.state
	for _, mode := range candidates(t.Mode) {
		if s.Menu.Mode.has(mode) {
			if s.Set[setMode] != mode {
				return goal{setMode, mode}, true
			}
			break
		}
	}
	if model := agent.Choose(t.Model, d.settings.Model); model != "" && s.Menu.Model.Method != "" &&
		s.Set[setModel] != model && s.Menu.Model.Used != model {
		return goal{setModel, model}, true
	}
	if effort := agent.Choose(t.Effort, d.settings.Effort); effort != "" && s.Menu.Effort.Method != "" &&
		s.Set[setEffort] != effort && s.Menu.Effort.Used != effort {
		return goal{setEffort, effort}, true
	}
	return goal{}, false
}

// setting is the message that asks for a goal.
func (d *dialect) setting(g goal, n uint64) []byte {
	s := map[string]setting{setMode: d.state.Menu.Mode, setModel: d.state.Menu.Model, setEffort: d.state.Menu.Effort}[g.name]
	params := object{"sessionId": d.state.Session}
	switch s.Method {
	case "session/set_mode":
		params["modeId"] = g.value
	case "session/set_model":
		params["modelId"] = g.value
	default:
		params["configId"], params["value"] = s.Option, g.value
	}
	return agent.RequestLine(true, n, s.Method, params)
}

// offer is the fact on what the agent can do.
func (d *dialect) offer() agent.Fact {
	s := &d.state
	return agent.Fact{Kind: agent.FactOffer, Offer: &agent.Offer{
		Version: strings.TrimSpace(s.Can.Name + " " + s.Can.Version), SignIn: s.SignIn, Steer: s.Can.Steer,
		// Where the command line takes a model, it takes others too.
		Whole:  d.profile.Model == nil && len(s.Menu.Model.Choices) < maxChoices,
		Models: s.Menu.Model.shown(), Modes: s.Menu.Mode.shown(), Efforts: s.Menu.Effort.shown(),
	}}
}
