package server

import (
	"scv/internal/wire"
	"scv/internal/workbench/hub"
)

// workbenchCancel asks for the end of a job and does not wait for it.
func (r *request) workbenchCancel(cmd wire.WorkbenchCancel) (answer, error) {
	ref, err := jobRef(cmd.Session, cmd.Job)
	if err != nil {
		return answer{}, err
	}
	if cmd.Waiting {
		return r.noted(r.Hub.Jobs().Drop(cmd.Session, cmd.Job, r.principal()))
	}
	return r.noted(r.Hub.Jobs().Cancel(ref, r.principal()))
}

// noted waits until a change is on disk and answers with its note and a snapshot.
func (r *request) noted(note string, ticket *hub.Ticket, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	if err := ticket.Wait(r.ctx); err != nil {
		return answer{}, err
	}
	st := r.light()
	st.WorkbenchNote = &note
	return answer{status: st, snapshot: r.Hub.Snapshot()}, nil
}

// jobRef checks a job's two names, which may come from anywhere.
func jobRef(session wire.SessionID, job wire.JobID) (wire.JobRef, error) {
	if _, err := wire.ParseJobID(string(job)); err != nil {
		return "", wire.Refuse(wire.ReasonInvalid, "jobs are listed by: scv jobs list", "%v", err)
	}
	if !validSession(session) {
		return "", wire.Refuse(wire.ReasonInvalid, "jobs are listed by: scv jobs list", "%.80q is not a session's name", string(session))
	}
	return session.Ref(job), nil
}

// validSession reports whether a session's name is one that may stand in a path: 1 to 64 letters, digits and dashes.
func validSession(s wire.SessionID) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
