package server

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"scv/internal/repo"
	"scv/internal/repo/work"
	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A Ground is the repositories that jobs work in, as an action needs them.
type Ground interface {
	// Plan decides about the worktree of a job and makes nothing. Refusals are *wire.Error.
	Plan(ctx context.Context, w repo.Wish) (*row.Tree, error)
	// ForkTree plans a worktree that begins with all that the one of a job has, whose plan is given.
	ForkTree(ctx context.Context, plan string, j row.Job, agent, task string) (*row.Tree, error)
	// Forecast tells which works would conflict.
	Forecast(ctx context.Context) (wire.Forecast, error)
	// Facts waits for what is known of a job that has ended, for a moment.
	Facts(ctx context.Context, job row.Job) *wire.JobFacts
	// Setup reads the set-up script of a workspace, and Trust lets a content run. Refusals are *wire.Error.
	Setup(dir string) (wire.SetupScript, error)
	Trust(digest string) error
}

// A groundkeeper answers what is asked about worktrees and the work in them.
type groundkeeper struct{ *request }

// do runs the action of a command.
func (r groundkeeper) do(cmd wire.Command) (answer, error) {
	if r.Ground == nil {
		if _, ok := cmd.(wire.WorktreesCommand); ok { // which never fails
			return answer{status: r.light()}, nil
		}
		return answer{}, notOffered(cmd)
	}
	switch cmd := cmd.(type) {
	case wire.WorktreesCommand:
		return r.worktrees("")
	case wire.WorktreeRemove:
		return r.worktreeRemove(cmd)
	case wire.WorktreePrune:
		return r.worktreePrune(cmd)
	case wire.WorktreeClean:
		return r.worktreeClean(cmd)
	case wire.WorktreeTrust:
		return r.worktreeTrust(cmd)
	case wire.JobDiff:
		return r.jobDiff(cmd)
	case wire.JobCommit:
		return r.jobCommit(cmd)
	case wire.JobApply:
		return r.jobApply(cmd)
	case wire.ForecastCommand:
		return r.forecast()
	default:
		return answer{}, notOffered(cmd)
	}
}

// worktrees lists the worktrees that SCV made, with what is known of each.
func (r groundkeeper) worktrees(note string) (answer, error) {
	list, err := r.Trees.List(r.ctx)
	if err != nil {
		return answer{}, err
	}
	st := r.light()
	jobs := r.Hub.Snapshot().Jobs
	for i := range list {
		st.Worktrees = append(st.Worktrees, r.told(&list[i], jobs))
	}
	if note != "" {
		st.WorkbenchNote = &note
	}
	return answer{status: st}, nil
}

// told is a worktree as the protocol shows it.
func (r groundkeeper) told(t *repo.Tree, jobs []wire.Job) wire.WorktreeInfo {
	w := wire.WorktreeInfo{WorktreeRef: t.Ref(), Dirty: t.Dirty, Merged: t.Merged, Base: &t.Commit}
	if t.Merged != nil {
		w.Ahead, w.Behind = new(uint64(t.Ahead)), new(uint64(t.Behind))
	}
	if t.Whole {
		w.TrackedBytes, w.IgnoredBytes = new(uint64(t.Tracked)), new(uint64(t.Ignored))
	}
	if at := t.LastUse.Unix(); at > 0 {
		w.LastUseUnixSeconds = new(uint64(at))
	}
	if t.Now != "" && t.Now != t.Branch {
		w.Now = &t.Now
	}
	if t.Problem != "" {
		w.Problem = new(r.Mask().Text(t.Problem))
	}
	for i := range jobs {
		if within(jobs[i].Cwd, t.Path) {
			w.Jobs = append(w.Jobs, jobs[i].Ref())
		}
	}
	return w
}

func within(dir, top string) bool {
	return dir == top || strings.HasPrefix(dir, top+string(filepath.Separator))
}

// busy refuses the removal of a worktree that an unfinished job works in.
func (r groundkeeper) busy(path string) error {
	jobs := r.Hub.Snapshot().Jobs
	for i := range jobs {
		if j := &jobs[i]; !j.State.Final() && within(j.Cwd, path) {
			return wire.Refuse(wire.ReasonBusy, "scv jobs cancel "+string(j.Job), "%s works in it: it is %s.", j.Job, j.State)
		}
	}
	return nil
}

// worktreeRemove removes one worktree, if nothing would be lost or its owner gives that up.
func (r groundkeeper) worktreeRemove(cmd wire.WorktreeRemove) (answer, error) {
	if err := r.ownerOnly("remove a worktree"); err != nil {
		return answer{}, err
	}
	if held, err := r.Trees.Ways().Open(cmd.Path); err == nil {
		if err := r.busy(held.Path); err != nil {
			return answer{}, err
		}
		r.vacate(held.Path, true)
	}
	note, err := r.Trees.Remove(r.ctx, cmd.Path, repo.Removal{Force: cmd.Force, Busy: r.busy})
	if err != nil {
		return answer{}, err
	}
	return r.worktrees(note)
}

// worktreePrune names the worktrees that hold nobody's work, and removes them when it is told to.
func (r groundkeeper) worktreePrune(cmd wire.WorktreePrune) (answer, error) {
	if cmd.Apply {
		if err := r.ownerOnly("remove worktrees"); err != nil {
			return answer{}, err
		}
		r.vacate(r.Home.Path(), false)
	}
	verdicts, err := r.Trees.Prune(r.ctx, cmd.Apply, r.busy)
	if err != nil {
		return answer{}, err
	}
	all := wire.List[wire.PruneEntry]{}
	for _, v := range verdicts {
		all = append(all, wire.PruneEntry{WorktreeRef: v.Ref, Kept: text(v.Kept), Note: text(v.Note)})
	}
	st := r.light()
	st.Prune = &all
	return answer{status: st}, nil
}

// worktreeClean names the derived folders of worktrees, and removes them when it is told to.
func (r groundkeeper) worktreeClean(cmd wire.WorktreeClean) (answer, error) {
	if cmd.Apply {
		if err := r.ownerOnly("remove files of worktrees"); err != nil {
			return answer{}, err
		}
		r.vacate(cmp.Or(cmd.Path, r.Home.Path()), false)
	}
	list, err := repo.Cleaner{Trees: r.Trees}.Clean(r.ctx, cmd.Path, cmd.Apply, r.busy)
	if err != nil {
		return answer{}, err
	}
	all := wire.List[wire.CleanEntry]{}
	for _, c := range list {
		e := wire.CleanEntry{WorktreeRef: c.Ref, Kept: text(r.Mask().Text(c.Kept))}
		for _, f := range c.Folders {
			e.Folders = append(e.Folders, wire.DerivedFolder{Path: r.Mask().Text(f.Path), Bytes: uint64(f.Bytes)})
		}
		all = append(all, e)
	}
	st := r.light()
	st.Clean = &all
	return answer{status: st}, nil
}

// worktreeTrust tells a set-up script, or takes its owner's word that what was shown may run.
func (r groundkeeper) worktreeTrust(cmd wire.WorktreeTrust) (answer, error) {
	dir, err := directory("workspace", cmd.Workspace)
	if err != nil {
		return answer{}, err
	}
	script, err := r.Ground.Setup(dir)
	if err != nil {
		return answer{}, err
	}
	if cmd.Digest != nil {
		if err := r.ownerOnly("trust a set-up script"); err != nil {
			return answer{}, err
		}
		if *cmd.Digest != script.Digest {
			return answer{}, wire.Refuse(wire.ReasonConflict, "look at it again: scv agents worktrees trust", "the set-up script is not what was shown. Nothing is trusted.")
		}
		if err := r.Ground.Trust(script.Digest); err != nil {
			return answer{}, err
		}
		script.Trusted = true
	}
	script.Text = r.Mask().Text(script.Text)
	st := r.light()
	st.Setup = &script
	return answer{status: st}, nil
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// spot finds where a job's work is.
func (r groundkeeper) spot(session wire.SessionID, id wire.JobID) (row.Job, work.Spot, error) {
	job, err := r.job(session, id)
	if err != nil {
		return job, work.Spot{}, err
	}
	s, err := r.Work.Spot(r.ctx, job.Worktree, job.Cwd, job.Base)
	if e, ok := err.(*wire.Error); ok && job.Base == nil { //nolint:errorlint // it is made as one
		err = wire.Refuse(e.Reason, e.Hint, "%s cannot be compared: %s", id, e.Message)
	}
	return job, s, err
}

// rested is spot for what changes something: the job must have ended, and so must all others in its worktree.
func (r groundkeeper) rested(session wire.SessionID, id wire.JobID, what string) (row.Job, work.Spot, error) {
	if err := r.ownerOnly(what); err != nil {
		return row.Job{}, work.Spot{}, err
	}
	job, s, err := r.spot(session, id)
	if err == nil && s.Tree != nil {
		err = r.busy(s.Tree.Path)
	}
	return job, s, err
}

// jobDiff tells what a job has changed, masked, in pages of one connection.
func (r groundkeeper) jobDiff(cmd wire.JobDiff) (answer, error) {
	key := fmt.Sprintf("%s/%s %s %t %d", cmd.Session, cmd.Job, cmd.How, cmd.Reviewed, cmd.Round)
	if held := r.conn.diff; cmd.After == 0 || held == nil || held.key != key {
		base, diff, err := r.difference(cmd)
		if err != nil {
			return answer{}, err
		}
		r.conn.diff = &heldDiff{key: key, base: base, text: strings.ToValidUTF8(r.Mask().Text(diff), "\uFFFD")}
	}
	held := r.conn.diff
	size := uint64(len(held.text))
	if cmd.After > size {
		return answer{}, wire.Refuse(wire.ReasonInvalid, "ask again from the start", "the difference has %d bytes, so no page begins at %d", size, cmd.After)
	}
	page := wire.DiffPage{Base: held.base, Size: size, Text: row.Cut(held.text[cmd.After:], diffPage)}
	if end := cmd.After + uint64(len(page.Text)); end < size {
		page.Next = &end
	} else {
		r.conn.diff = nil
	}
	st := r.light()
	st.Diff = &page
	return answer{status: st}, nil
}

// difference is what a job has changed, or what its reviewers were shown, with the commit that it is measured against.
func (r groundkeeper) difference(cmd wire.JobDiff) (base, text string, err error) {
	if cmd.Reviewed {
		return judge(r).recorded(cmd)
	}
	job, s, err := r.spot(cmd.Session, cmd.Job)
	if err != nil {
		return "", "", err
	}
	text, err = r.Work.Diff(r.ctx, s, cmd.How)
	return *job.Base, text, err
}

// diffPage bounds the text of one page of a difference, in bytes.
const diffPage = 1 << 20

// A heldDiff is a difference between two pages of it.
type heldDiff struct{ key, base, text string }

// jobCommit commits what a job left.
func (r groundkeeper) jobCommit(cmd wire.JobCommit) (answer, error) {
	job, s, err := r.rested(cmd.Session, cmd.Job, "commit")
	if err != nil {
		return answer{}, err
	}
	commit, files, err := r.Work.Commit(r.ctx, s, work.Message(cmd.Message, job.Task, cmd.Job))
	if err != nil {
		return answer{}, err
	}
	note := "Everything is committed already."
	if files > 0 {
		note = fmt.Sprintf("Committed %s on %s as %.12s.", plain.Count(files, "file"), s.Tree.Branch, commit)
	}
	return r.noted(note), nil
}

// jobApply brings a job's work home.
func (r groundkeeper) jobApply(cmd wire.JobApply) (answer, error) {
	job, s, err := r.rested(cmd.Session, cmd.Job, "bring work home")
	if err != nil {
		return answer{}, err
	}
	o := work.Order{How: cmd.How, Message: work.Message(cmd.Message, job.Task, cmd.Job)}
	if cmd.Onto != nil {
		o.Onto = *cmd.Onto
	}
	note, err := r.Work.Apply(r.ctx, s, o)
	if err != nil {
		return answer{}, err
	}
	return r.noted(note), nil
}

func (r groundkeeper) noted(note string) answer {
	st := r.light()
	st.WorkbenchNote = &note
	return answer{status: st}
}

// forecast tells which jobs would conflict.
func (r groundkeeper) forecast() (answer, error) {
	f, err := r.Ground.Forecast(r.ctx)
	if err != nil {
		return answer{}, err
	}
	st := r.light()
	st.Forecast = &f
	return answer{status: st}, nil
}
