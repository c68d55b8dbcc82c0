package server

import "scv/internal/wire"

// why lists what the state of a job rests on, oldest first.
func (r archivist) why(cmd wire.Why) (answer, error) {
	job, err := r.job(cmd.Session, cmd.Job)
	if err != nil {
		return answer{}, err
	}
	st := r.light()
	st.Why = &wire.WhyReport{
		Session: job.Session, Job: job.Job.Job, State: job.State,
		SinceUnixSeconds: job.UpdatedUnixSeconds, Evidence: job.Evidence,
	}
	return answer{status: st}, nil
}
