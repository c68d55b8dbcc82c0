package server

import "scv/internal/wire"

// jobPrompt gives the whole prompt of a job as it is kept: masked.
func (r queuer) jobPrompt(cmd wire.JobPrompt) (answer, error) {
	job, err := r.job(cmd.Session, cmd.Job)
	if err != nil {
		return answer{}, err
	}
	text, found, err := r.Records.Prompt(r.ctx, cmd.Job)
	if err != nil {
		return answer{}, err
	}
	if !found {
		return answer{}, wire.Refuse(wire.ReasonNotFound, "scv why "+string(cmd.Job), "the prompt of %s is not kept", cmd.Job)
	}
	st := r.light()
	st.Prompt = &wire.PromptText{Session: cmd.Session, Job: cmd.Job, Text: text, Masked: job.Private, Revision: job.Revision}
	return answer{status: st}, nil
}
