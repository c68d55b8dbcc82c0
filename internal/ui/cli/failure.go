package cli

import "scv/internal/wire"

// afterFailure is the one command that helps with a job that did not complete: by what it failed of, else the one that
// lists its evidence. Name is what the owner calls the job.
func afterFailure(job *wire.Job, name string) string {
	var class wire.Class
	if job.Class != nil {
		class = *job.Class
	}
	switch class {
	case wire.ClassMissing, wire.ClassAuth:
		return "see what it needs: scv agents check " + job.Agent
	case wire.ClassSession:
		return "begin a new conversation: scv jobs start --agent " + job.Agent + " PROMPT"
	default:
		return "scv why " + name
	}
}
