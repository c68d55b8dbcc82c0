package server

import (
	"scv/internal/wire"
	"scv/internal/workbench/hub"
)

// jobEdit gives a queued job another prompt.
func (r intake) jobEdit(cmd wire.JobEdit) (answer, error) {
	if _, err := jobRef(cmd.Session, cmd.Job); err != nil {
		return answer{}, err
	}
	req := hub.EditRequest{Key: cmd.Key, Principal: r.principal(), Session: cmd.Session, Job: cmd.Job, Revision: cmd.Revision}
	var err error
	if req.Prompt, req.Task, err = r.prompt(cmd.Prompt); err != nil {
		return answer{}, err
	}
	return r.noted(r.Hub.Jobs().Edit(req))
}
