package hub

import (
	"cmp"
	"fmt"
	"slices"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A Tree is what the agent of a run may touch: the jobs that its run served, and those that were started from inside
// them, at any depth. What is not in memory is in no tree.
type Tree struct {
	h   *Hub
	run wire.RunHandle
}

// TreeOf returns the tree of a run.
func TreeOf(h *Hub, run wire.RunHandle) Tree { return Tree{h, run} }

// HasJob reports whether a job belongs to the tree.
func (t Tree) HasJob(session wire.SessionID, id wire.JobID) (has bool) {
	t.h.do(func() {
		n := nest{t.h.m}
		j := n.job(session, id)
		has = j != nil && n.below(j, t.run)
	})
	return has
}

// HasConversation reports whether a conversation was opened in the tree.
func (t Tree) HasConversation(session wire.SessionID, id wire.ConversationID) (has bool) {
	t.h.do(func() {
		n := nest{t.h.m}
		for _, j := range n.jobs {
			if j.row.Session == session && j.conv.row.ID == id && n.below(j, t.run) {
				has = true
			}
		}
	})
	return has
}

// HasRun reports whether a run serves the tree; a run is in its own.
func (t Tree) HasRun(other wire.RunHandle) (has bool) {
	t.h.do(func() {
		n := nest{t.h.m}
		r := n.runs[other]
		if has = other == t.run; has || r == nil {
			return
		}
		for _, id := range r.row.Jobs {
			if j := n.jobs[id]; j != nil && n.below(j, t.run) {
				has = true
			}
		}
	})
	return has
}

// nest is the model as far as jobs start jobs.
type nest struct{ *model }

// maxLevels bounds every walk up a tree.
const maxLevels = 32

// parent is the job from inside which another was started; nil for the owner's own, and when it is not in memory.
func (n nest) parent(j *job) *job {
	if j.row.Parent == nil {
		return nil
	}
	session, id, _ := j.row.Parent.Split()
	if p := n.jobs[id]; p != nil && p.row.Session == session {
		return p
	}
	return nil
}

// below reports whether a job was served by a run, or started from inside one that was.
func (n nest) below(j *job, run wire.RunHandle) bool {
	r := n.runs[run]
	for range maxLevels {
		switch {
		case j == nil:
			return false
		case j.row.Run != nil && *j.row.Run == run, r != nil && slices.Contains(r.row.Jobs, j.row.Job.Job):
			return true
		}
		j = n.parent(j)
	}
	return false
}

// A place is where a job is asked for. The owner's is the zero value.
type place struct {
	by     *job // from inside which it is asked for
	parent *wire.JobRef
	depth  uint32
}

// bounded is a mode as far as it may be asked for at a place: an agent gives no more leave than it has.
func (p place) bounded(mode string) string {
	if p.by == nil || p.by.row.Mode == nil {
		return mode
	}
	return stricter(mode, string(*p.by.row.Mode))
}

// within is allow for a further prompt to a conversation. One to the conversation that the agent itself serves lies no
// deeper than the job that it follows.
func (n nest) within(from wire.RunHandle, c *conversation) (place, error) {
	if r := n.runs[from]; r != nil && r.current != nil && r.current.conv == c {
		by := r.current
		return place{by, by.row.Parent, by.row.Depth}, nil
	}
	return n.allow(from)
}

// allow finds the place of a job that a run's agent asks for, and refuses one that would lie too deep.
func (n nest) allow(from wire.RunHandle) (place, error) {
	if from == "" {
		return place{}, nil
	}
	r := n.runs[from]
	if r == nil || r.current == nil {
		return place{}, wire.Refuse(wire.ReasonRefused, "leave it to the owner",
			"%s serves no turn, so nothing can be started from inside it.", from)
	}
	if most := n.h.o.Limits.Depth; int(r.current.row.Depth)+1 >= most {
		return place{}, wire.Refuse(wire.ReasonRefused, "do it yourself, or ask the owner to raise agent.max_delegation_depth",
			"%s runs at level %d of the %d that jobs may have, so it can start none.", r.current.row.Job.Job, r.current.row.Depth+1, most)
	}
	return place{r.current, new(r.current.row.Ref()), r.current.row.Depth + 1}, nil
}

// stricter is the mode of the two that lets an agent do less.
func stricter(a, b string) string {
	order := []string{string(wire.ModeAuto), string(wire.ModeOnRisk), string(wire.ModeAlways), string(wire.ModeReadOnly)}
	return order[max(slices.Index(order, a), slices.Index(order, b), 0)]
}

// above names the runs that a job was started from inside of, outermost first, as session/run.
func (n nest) above(j *job) (all []string) {
	for range maxLevels {
		if j = n.parent(j); j == nil || j.row.Run == nil {
			break
		}
		all = append(all, string(j.row.Session)+"/"+string(*j.row.Run))
	}
	slices.Reverse(all)
	return all
}

// cancelBelow cancels what was started from inside a job that is being cancelled, and returns how many that were.
func (n nest) cancelBelow(parent *job, p row.Principal) (count int) {
	var below []*job
	for _, j := range n.jobs {
		if !j.row.State.Final() && n.parent(j) == parent {
			below = append(below, j)
		}
	}
	slices.SortFunc(below, func(a, b *job) int { return cmp.Compare(a.row.Num, b.row.Num) })
	for _, j := range below {
		j.note(n.now(), "owner", fmt.Sprintf("%s, from inside which it was started, was cancelled", parent.row.Job.Job))
		if _, err := j.cancel(p); err == nil {
			count++
		}
	}
	return count
}

// alsoBelow says how many jobs were cancelled with theirs.
func alsoBelow(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " The job that it started is cancelled too."
	}
	return fmt.Sprintf(" The %d jobs that it started are cancelled too.", n)
}
