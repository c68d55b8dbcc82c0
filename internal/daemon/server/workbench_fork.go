package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// Bounds of the summary that a fork begins with: bytes of a prompt, of a reply and of all, and jobs.
const (
	maxForkPrompt  = 4 << 10
	maxForkReply   = 6 << 10
	maxForkSummary = 48 << 10
	maxForkJobs    = 40
)

// goOn is what a fork is asked for when its owner names nothing.
const goOn = "Go on with this work from where it stands."

// workbenchFork goes on with what a conversation came to, in another one.
func (r follower) workbenchFork(cmd wire.WorkbenchFork) (answer, error) {
	job, err := r.ended(cmd.Session, cmd.Job)
	if err != nil {
		return answer{}, err
	}
	if job.Conversation == nil {
		return answer{}, wire.Refuse(wire.ReasonConflict, "scv jobs retry "+string(cmd.Job), "%s has no conversation that another could go on with", cmd.Job)
	}
	req := hub.FollowRequest{How: hub.Forking, Key: cmd.Key, Principal: r.principal(), Of: job}
	if cmd.Agent != nil {
		req.Agent = *cmd.Agent
		if err := intake(r).knownAgent(req.Agent); err != nil {
			return answer{}, err
		}
	}
	ask := cmd.Prompt
	if ask == "" {
		ask = goOn
	}
	next, task, err := intake(r).prompt(ask)
	if err != nil {
		return answer{}, err
	}
	summary, err := r.summary(job)
	if err != nil {
		return answer{}, err
	}
	req.Task = task
	req.Prompt = row.Prompt{Text: summary + next.Text}
	if next.Original != "" {
		req.Prompt.Original = summary + next.Original
	}
	if req.Tree, err = r.tree(job, req, cmd.Share); err != nil {
		return answer{}, err
	}
	return r.follow(req)
}

// tree plans the worktree of a fork; nil where the job had none of its own, or shares it.
func (r follower) tree(job row.Job, req hub.FollowRequest, share bool) (*row.Tree, error) {
	if job.Worktree == nil || share || r.Ground == nil {
		return nil, nil
	}
	thread, err := r.Hub.Jobs().Thread(job.Session, *job.Conversation)
	if err != nil || thread.Plan == "" {
		return nil, err
	}
	return r.Ground.ForkTree(r.ctx, thread.Plan, job, cmp.Or(req.Agent, job.Agent), req.Task)
}

// summary tells what was asked and answered in a conversation up to a job, oldest first. When it is too much the oldest
// are left out, which is said.
func (r follower) summary(job row.Job) (string, error) {
	thread, err := r.Records.Thread(r.ctx, *job.Conversation, job.Job.Job, maxForkJobs)
	if err != nil {
		return "", err
	}
	var parts []string
	size := 0
	for _, j := range thread {
		prompt, _, err := r.Records.Prompt(r.ctx, j.Job.Job)
		if err != nil {
			return "", err
		}
		result, err := archivist(r).result(j)
		if err != nil {
			return "", err
		}
		part := fmt.Sprintf("## Asked (%s)\n%s\n\n## Answered (%s)\n%s\n\n", j.Job.Job, middle(prompt, maxForkPrompt), j.State, middle(result.Reply, maxForkReply))
		if size += len(part); size > maxForkSummary {
			break
		}
		parts = append(parts, part)
	}
	left := ""
	if len(parts) < len(thread) || len(thread) == maxForkJobs {
		left = "What came before is left out. "
	}
	slices.Reverse(parts)
	return fmt.Sprintf("You take over work that was begun in another conversation (%s, with %s) in %s. Below is what was asked and answered there, oldest first. %s"+
		"Look at the files before you rely on it.\n\n%s## Asked of you\n", *job.Conversation, job.Agent, job.Cwd, left, strings.Join(parts, "")), nil
}

// middle leaves out the middle: it keeps the beginning and the end of a long text, and says that something is missing between.
func middle(s string, limit int) string {
	s = strings.TrimSpace(plain.Block(s))
	if s == "" {
		return "(nothing)"
	}
	if len(s) <= limit {
		return s
	}
	head, tail := s[:limit*2/3], s[len(s)-limit/3:]
	return strings.ToValidUTF8(head, "") + "\n[...]\n" + strings.ToValidUTF8(tail, "")
}
