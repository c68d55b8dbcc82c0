package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"scv/internal/wire"
)

// newest returns the job that was started last: by number, which rises in the whole home.
func newest(jobs []wire.Job) *wire.Job {
	if len(jobs) == 0 {
		return nil
	}
	last := slices.MaxFunc(jobs, func(a, b wire.Job) int {
		return cmp.Or(cmp.Compare(a.CreatedUnixSeconds, b.CreatedUnixSeconds), cmp.Compare(a.Job.Number(), b.Job.Number()))
	})
	return &last
}

// findJob resolves what a person calls a job: job-3, 3, <session>/job-3 or the beginning of that session, the beginning
// of a handle that only one has, and @last or - for the newest. A whole handle is no beginning of another: whoever says
// job-1 after it left the list never means job-12.
func findJob(view *wire.Snapshot, name string) (*wire.Job, error) {
	if name == "@last" || name == "-" {
		if job := newest(view.Jobs); job != nil {
			return job, nil
		}
		return nil, &fault{code: exitNotFound, message: "there are no jobs yet", next: "start one: scv jobs start --agent codex PROMPT   Or see it work: scv demo"}
	}
	session, handle, wide := strings.Cut(name, "/")
	if !wide {
		session, handle = "", name
	}
	if _, err := strconv.ParseUint(handle, 10, 32); err == nil {
		handle = "job-" + handle
	}
	exact, prefix := matchJobs(view.Jobs, session, handle)
	found := exact
	if len(found) == 0 {
		found = prefix
	}
	switch len(found) {
	case 1:
		return &found[0], nil
	case 0:
		return nil, noJob(name)
	}
	names := make([]string, 0, len(found))
	for i := range found {
		names = append(names, string(found[i].Ref()))
	}
	return nil, usage("name one of: "+strings.Join(names[:min(len(names), 5)], " "), "%q means %d jobs", name, len(found))
}

func noJob(name string) error {
	return &fault{code: exitNotFound, message: fmt.Sprintf("there is no job %q", name), next: "list them: scv jobs list --all"}
}

func matchJobs(jobs []wire.Job, session, handle string) (exact, prefix []wire.Job) {
	for _, job := range jobs {
		if !strings.HasPrefix(string(job.Session), session) {
			continue
		}
		if string(job.Job) == handle {
			exact = append(exact, job)
		} else if handle != "" && !wire.ValidJobID(handle) && strings.HasPrefix(string(job.Job), handle) {
			prefix = append(prefix, job)
		}
	}
	return exact, prefix
}

// findAnyJob resolves a job that may be older than what a snapshot lists.
func (r *reading) findAnyJob(ctx context.Context, view *wire.Snapshot, name string) (*wire.Job, error) {
	job, err := findJob(view, name)
	if err == nil || len(view.Jobs) < wire.MaxFinishedJobs {
		return job, err
	}
	var after *string
	for {
		page, pageErr := r.history(ctx, after)
		if pageErr != nil {
			return nil, pageErr
		}
		if old, oldErr := findJob(&wire.Snapshot{Jobs: page.Jobs}, name); oldErr == nil {
			return old, nil
		}
		if page.Next == nil {
			return nil, err
		}
		after = page.Next
	}
}

// findRun resolves a run handle, the name of a conversation that has one run that is alive, or else the beginning of a
// handle. What is the name of a conversation is no beginning: codex-1 never means codex-1f9a2c of another one.
func findRun(view *wire.Snapshot, name string) (wire.RunHandle, bool) {
	var found, own []wire.RunHandle
	talk := slices.ContainsFunc(view.Jobs, func(j wire.Job) bool { return j.Conversation != nil && string(*j.Conversation) == name })
	for _, run := range view.Runs {
		switch {
		case string(run.Handle) == name:
			return run.Handle, true
		case run.Conversation != nil && string(*run.Conversation) == name:
			talk = true
			if run.Live {
				own = append(own, run.Handle)
			}
		case strings.Contains(name, "-") && strings.HasPrefix(string(run.Handle), name):
			found = append(found, run.Handle)
		}
	}
	if talk {
		found = own
	}
	if len(found) == 1 {
		return found[0], true
	}
	return "", false
}
