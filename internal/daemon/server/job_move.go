package server

import (
	"scv/internal/wire"
	"scv/internal/workbench/hub"
)

// jobMove changes the order in which queued jobs of a conversation run.
func (r queuer) jobMove(cmd wire.JobMove) (answer, error) {
	if _, err := jobRef(cmd.Session, cmd.Job); err != nil {
		return answer{}, err
	}
	if cmd.Before != nil && cmd.After != nil {
		return answer{}, wire.Refuse(wire.ReasonInvalid, "give one of them", "a job cannot be moved before one and after another at once")
	}
	for _, beside := range []*wire.JobID{cmd.Before, cmd.After} {
		if beside == nil {
			continue
		}
		if _, err := jobRef(cmd.Session, *beside); err != nil {
			return answer{}, err
		}
	}
	return r.noted(r.Hub.Jobs().Move(hub.MoveRequest{
		Key: cmd.Key, Principal: r.principal(), Session: cmd.Session, Job: cmd.Job, Revision: cmd.Revision, Before: cmd.Before, After: cmd.After,
	}))
}
