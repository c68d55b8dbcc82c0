package server

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// A follower makes jobs that follow others.
type follower struct{ *request }

// workbenchResume goes on with an interrupted job: in its conversation where its agent has one to go on with, else in a
// new one. A resume that came to nothing may be tried again.
func (r follower) workbenchResume(cmd wire.WorkbenchResume) (answer, error) {
	job, err := r.ended(cmd.Session, cmd.Job)
	if err != nil {
		return answer{}, err
	}
	req := hub.FollowRequest{How: hub.Resuming, Key: cmd.Key, Principal: r.principal(), Of: job, Task: job.Task}
	if req.Failed, err = r.failed(job.ResumedAs); err != nil {
		return answer{}, err
	}
	prompt, err := r.original(job)
	if err != nil {
		return answer{}, err
	}
	if job.Conversation != nil {
		thread, err := r.Hub.Jobs().Thread(job.Session, *job.Conversation)
		if err != nil {
			return answer{}, err
		}
		req.Same = job.Home == r.HomeID && (thread.Vendor != "" || job.Untouched)
	}
	req.Prompt = intake(r).masked(briefed(job, req.Same, prompt))
	return r.follow(req)
}

// briefed tells a resumed agent what happened, unless nothing did.
func briefed(job row.Job, same bool, prompt string) string {
	why := "its process went away"
	if job.Detail != nil {
		why = *job.Detail
	}
	at := time.Unix(int64(job.Finished), 0).Format("2006-01-02 15:04 MST")
	switch {
	case job.Untouched:
		return prompt
	case same:
		return fmt.Sprintf("Your last turn in this conversation was cut off (%s; %s). What you had begun may be done, half done or not done at all. "+
			"Before you go on, compare the files in the working directory with what you recorded of that turn. Then finish its task, which was:\n\n%s", at, why, prompt)
	}
	return fmt.Sprintf("An earlier try of the task below was cut off (%s; %s), and what was said in it cannot be gone on with. It may have left changes in %s. "+
		"Before you begin, compare the files there with the task, and keep what is right. The task is:\n\n%s", at, why, job.Cwd, prompt)
}

// failed names an earlier resume that ended without having done the work; one that goes on, or was interrupted in its
// turn, is what has to be looked at instead.
func (r follower) failed(as *wire.JobRef) (*wire.JobRef, error) {
	if as == nil {
		return nil, nil
	}
	session, id, _ := as.Split()
	next, err := r.job(session, id)
	if we, ok := errors.AsType[*wire.Error](err); ok && we.Reason == wire.ReasonNotFound {
		return as, nil // it was dismissed, which only an ended one can be
	}
	switch {
	case err != nil:
		return nil, err
	case next.State == wire.StateInterrupted:
		return nil, wire.Refuse(wire.ReasonConflict, "scv jobs resume "+string(id), "%s went on with it and was interrupted too, so it is the one to resume.", id)
	case next.State.Final() && next.State != wire.StateCompleted:
		return as, nil
	}
	return nil, nil
}

// ended finds a job that has ended and whose directory is still there.
func (r follower) ended(session wire.SessionID, id wire.JobID) (row.Job, error) {
	job, err := r.job(session, id)
	if err != nil {
		return job, err
	}
	if !job.State.Final() {
		return job, wire.Refuse(wire.ReasonBusy, "scv jobs wait "+string(id), "%s has not ended: it is %s.", id, job.State)
	}
	if job.Worktree == nil { // one that is gone is made again
		_, err = directory("working directory", job.Cwd)
	}
	return job, err
}

// original is the prompt of a job as its owner wrote it: of one that went on with another, that other's.
func (r follower) original(job row.Job) (string, error) {
	for job.Resumes != nil {
		session, id, _ := job.Resumes.Split()
		first, err := r.job(session, id)
		if err != nil || first.Num >= job.Num {
			break // it was dismissed: the prompt that it was gone on with says all of it
		}
		job = first
	}
	id := job.Job.Job
	if job.Private {
		text, err := r.Records.Original(id)
		if errors.Is(err, fs.ErrNotExist) {
			return "", wire.Refuse(wire.ReasonUnavailable, "send it again: scv jobs start PROMPT",
				"the prompt of %s held something that is masked, and its original is not kept any more", id)
		}
		return text, err
	}
	text, found, err := r.Records.Prompt(r.ctx, id)
	if err == nil && !found {
		err = wire.Refuse(wire.ReasonUnavailable, "send it again: scv jobs start PROMPT", "the prompt of %s is not kept", id)
	}
	return text, err
}

// follow asks for the job and answers once it is on disk.
func (r follower) follow(req hub.FollowRequest) (answer, error) {
	req.From = r.from
	return intake(r).accepted(r.Hub.Jobs().Follow(req))
}
