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
	prompt, err := r.original(job)
	if err != nil {
		return answer{}, err
	}
	return r.follow(hub.FollowRequest{
		How: hub.Retrying, Key: cmd.Key, Principal: r.principal(), Of: job, Same: cmd.Same && job.Conversation != nil,
		Prompt: intake(r).masked(prompt), Task: job.Task,
	})
}
