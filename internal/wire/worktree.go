package wire

// WorktreePrune names the worktrees that hold nobody's work, and removes them only with Apply (ours).
type WorktreePrune struct {
	Apply bool `json:"apply,omitzero" need:"K"`
}

// WorktreeClean names the folders in worktrees that tools make again, and removes them only with Apply; the worktrees
// stay (ours).
type WorktreeClean struct {
	Path  string `json:"path,omitempty" need:"K"` // in the one worktree; empty: all of them
	Apply bool   `json:"apply,omitzero" need:"K"`
}

// WorktreeTrust tells the set-up script of a workspace, and with its digest lets it run in new worktrees (ours).
type WorktreeTrust struct {
	Workspace string  `json:"workspace"`
	Digest    *string `json:"digest,omitzero" need:"O"` // SetupScript.Digest of what was shown; it must match
}

// SetupScript is what runs once in each new worktree of a repository, while its owner trusts it (ours).
type SetupScript struct {
	Path    string `json:"path"`
	Text    string `json:"text"`
	Digest  string `json:"digest"` // SHA-256 of its bytes
	Trusted bool   `json:"trusted"`
}

// DiffHow is how a difference is told; open.
type DiffHow string

// The ways to tell a difference.
const (
	DiffPatch DiffHow = "patch"
	DiffStat  DiffHow = "stat"
	DiffWord  DiffHow = "word" // a patch whose changed words stand in the line: [-old-] and {+new+}
)

func (DiffHow) words() words { return openWords("patch", "stat", "word") }

// JobDiff asks what a job's directory has changed since Job.Base, committed or not (ours).
type JobDiff struct {
	Session SessionID `json:"session"`
	Job     JobID     `json:"job"`
	How     DiffHow   `json:"how" need:"D=patch"`
	After   uint64    `json:"after,omitzero" need:"K"` // DiffPage.Next of the page before, on the same connection
	// Reviewed asks for what the reviewers of a reviewed job were shown, in its last round or in Round.
	Reviewed bool   `json:"reviewed,omitzero" need:"K"`
	Round    uint32 `json:"round,omitzero" need:"K"`
}

// DiffPage is a part of a difference (ours): masked text for display.
type DiffPage struct {
	Base string  `json:"base"` // commit
	Text string  `json:"text"`
	Size uint64  `json:"size"` // of the whole text, in bytes
	Next *uint64 `json:"next,omitzero" need:"O"`
}

// JobCommit commits what is not committed in a job's worktree (ours).
type JobCommit struct {
	Session SessionID `json:"session"`
	Job     JobID     `json:"job"`
	Message string    `json:"message,omitempty" need:"K"` // empty: the job's task
}

// ApplyHow is how work is brought home; open.
type ApplyHow string

// The ways to bring work home.
const (
	ApplyMerge  ApplyHow = "merge"
	ApplySquash ApplyHow = "squash"
	ApplyRebase ApplyHow = "rebase"
	ApplyFiles  ApplyHow = "files" // into the working tree only, without a commit
)

func (ApplyHow) words() words { return openWords("merge", "squash", "rebase", "files") }

// JobApply brings the work of a job's worktree home, onto a branch of the repository that it comes from (ours). Before
// any conflict it stops and changes nothing.
type JobApply struct {
	Session SessionID `json:"session"`
	Job     JobID     `json:"job"`
	How     ApplyHow  `json:"how" need:"D=merge"`
	Onto    *string   `json:"onto,omitzero" need:"O"` // a branch; absent: what the checkout has
	Message string    `json:"message,omitempty" need:"K"`
}

// ForecastCommand asks which jobs would conflict (ours).
type ForecastCommand struct{}

// Forecast tells what would happen if the work of jobs were brought home (ours).
type Forecast struct {
	// Branches are those of jobs that have changed something, in the order to land them with the fewest conflicts.
	Branches []ForecastBranch `json:"branches,omitempty" need:"K"`
	// Conflicts are the pairs that cannot both be merged as they are.
	Conflicts   []ForecastConflict `json:"conflicts,omitempty" need:"K"`
	UnixSeconds uint64             `json:"unix_seconds"` // when it was made
}

// ForecastBranch is one job's work.
type ForecastBranch struct {
	Job    JobRef   `json:"job"` // the newest one in that worktree
	Repo   string   `json:"repo"`
	Branch string   `json:"branch"`
	Files  uint32   `json:"files"`                   // changed since it began
	Base   []string `json:"base,omitempty" need:"K"` // files in conflict with the branch that it started from
	Onto   string   `json:"onto,omitempty" need:"K"` // what Base was measured against
	Note   *string  `json:"note,omitzero" need:"O"`  // a sentence on what could not be told
	Loose  uint32   `json:"loose,omitzero" need:"K"` // files that are not committed, which are left out
}

// ForecastConflict is a pair of jobs whose work meets, and where.
type ForecastConflict struct {
	One   JobRef       `json:"one"`
	Other JobRef       `json:"other"`
	Files List[string] `json:"files"`
}

// JobFacts is what git and exit codes say of a job's turn, beside what its agent says (ours). What is absent is not known.
type JobFacts struct {
	Files       uint32    `json:"files"`                          // changed since Job.Base, committed or not
	Uncommitted uint32    `json:"uncommitted"`                    // of them, not committed
	Commits     uint32    `json:"commits"`                        // made since Job.Base
	Head        *string   `json:"head,omitzero" need:"O"`         // commit at the end
	Tests       []TestRun `json:"tests,omitempty" need:"K"`       // as the log has them, oldest first
	Main        *bool     `json:"main_changed,omitzero" need:"O"` // the checkout that a worktree comes from was changed meanwhile
	Before      uint32    `json:"before,omitzero" need:"K"`       // files that were not committed when it began
	Problem     *string   `json:"problem,omitzero" need:"O"`      // a sentence on what could not be told
}

// TestRun is a command of an agent that looks like a run of tests, and its exit code as the log tells it.
type TestRun struct {
	Command string  `json:"command"`
	Passed  bool    `json:"passed"`
	Exit    *uint32 `json:"exit,omitzero" need:"O"` // of one that failed, where the agent told it
}

// PruneEntry is what was decided about a worktree (ours): it is kept and why, or it may go or went.
type PruneEntry struct {
	WorktreeRef
	Kept *string `json:"kept,omitzero" need:"O"`
	Note *string `json:"note,omitzero" need:"O"` // what was done
}

// CleanEntry is what can be freed, or was freed, in a worktree (ours).
type CleanEntry struct {
	WorktreeRef
	Folders []DerivedFolder `json:"folders,omitempty" need:"K"` // with Apply: those that were removed
	Kept    *string         `json:"kept,omitzero" need:"O"`     // why they, or others, stay
}

// DerivedFolder is a folder that a tool makes again from what is committed (ours).
type DerivedFolder struct {
	Path  string `json:"path"` // below the worktree
	Bytes uint64 `json:"bytes"`
}

// Action returns worktree_clean.
func (WorktreeClean) Action() string { return "worktree_clean" }

// Action returns worktree_prune.
func (WorktreePrune) Action() string { return "worktree_prune" }

// Action returns worktree_trust.
func (WorktreeTrust) Action() string { return "worktree_trust" }

// Action returns job_diff.
func (JobDiff) Action() string { return "job_diff" }

// Action returns job_commit.
func (JobCommit) Action() string { return "job_commit" }

// Action returns job_apply.
func (JobApply) Action() string { return "job_apply" }

// Action returns forecast.
func (ForecastCommand) Action() string { return "forecast" }
