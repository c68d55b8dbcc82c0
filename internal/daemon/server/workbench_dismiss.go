package server

import "scv/internal/wire"

// workbenchDismiss takes a finished job out of the lists. It touches no file of the owner's.
func (r *request) workbenchDismiss(cmd wire.WorkbenchDismiss) (answer, error) {
	ref, err := jobRef(cmd.Session, cmd.Job)
	if err != nil {
		return answer{}, err
	}
	return r.noted(r.Hub.Jobs().Dismiss(ref, r.principal()))
}
