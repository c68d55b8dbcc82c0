package wire

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
}
