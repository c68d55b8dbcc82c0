package server

import "scv/internal/wire"

// agentResume lets what is held for an agent try again, which only the owner may: he knows that he signed in.
func (r queuer) agentResume(cmd wire.AgentResume) (answer, error) {
	if err := intake(r).knownAgent(cmd.Agent); err != nil {
		return answer{}, err
	}
	if err := r.ownerOnly("let what is held go on"); err != nil {
		return answer{}, err
	}
	return r.noted(r.Hub.Holds().Try(cmd.Agent, r.principal()))
}
