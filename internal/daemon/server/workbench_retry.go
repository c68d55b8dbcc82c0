package server

import (
	"scv/internal/wire"
	"scv/internal/workbench/hub"
)

// workbenchRetry gives the prompt of a job that has ended anew.
func (r follower) workbenchRetry(cmd wire.WorkbenchRetry) (answer, error) {
	job, err := r.ended(cmd.Session, cmd.Job)
	if err != nil {
		return answer{}, err
	}
	if job.Reviewed { // an ordinary job would drop its review without a word
		return answer{}, wire.Refuse(wire.ReasonRefused, "start it anew: scv jobs start --review PROMPT   or give it more rounds: scv jobs review extend "+string(cmd.Job),
			"%s was reviewed, and a retry would not be", cmd.Job)
	}
	prompt, err := r.original(job)
	if err != nil {
		return answer{}, err
	}
	return r.follow(hub.FollowRequest{
		How: hub.Retrying, Key: cmd.Key, Principal: r.principal(), Of: job, Same: cmd.Same && job.Conversation != nil,
		Prompt: intake(r).masked(prompt), Task: job.Task,
	})
}
