package wire

import "slices"

// An AgentOffer is what an agent said of itself at its last start (ours). Empty fields were not said.
type AgentOffer struct {
	Version string        `json:"version,omitempty"`
	SignIn  string        `json:"sign_in,omitempty"` // a sentence on who is signed in, or that nobody is
	Steers  bool          `json:"steers,omitzero"`   // a running turn takes further prompts
	Models  []AgentChoice `json:"models,omitempty"`
	Whole   bool          `json:"whole,omitzero"`  // Models is all of them: no other is taken
	Modes   []AgentChoice `json:"modes,omitempty"` // the agent's own, not permission modes
	Efforts []AgentChoice `json:"efforts,omitempty"`
}

// An AgentChoice is one value of a setting that an agent offers (ours).
type AgentChoice struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Used bool   `json:"used,omitzero"` // it was in force
	// Efforts are those that a model takes; empty where the agent did not say.
	Efforts []string `json:"efforts,omitempty"`
}

// ChoiceIDs lists what the choices are called.
func ChoiceIDs(list []AgentChoice) (out []string) {
	for _, c := range list {
		out = append(out, c.ID)
	}
	return out
}

// EffortsOf lists the efforts that a model takes; of the empty one, which is the agent's own, those that any of its
// models takes. Empty when it is not known.
func (o *AgentOffer) EffortsOf(model string) []string {
	var all []string
	for _, m := range o.Models {
		if m.ID == model && len(m.Efforts) > 0 {
			return m.Efforts
		}
		for _, e := range m.Efforts {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	used := func(m AgentChoice) bool { return m.ID == model && m.Used }
	switch {
	case model != "" && !slices.ContainsFunc(o.Models, used):
		return nil
	case len(all) > 0:
		return all
	}
	return ChoiceIDs(o.Efforts)
}
