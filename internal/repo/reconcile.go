package repo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"scv/internal/repo/git"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// Verdict is what Prune decides about one worktree. Kept is the sentence why it stays, empty when it may go or went.
type Verdict struct {
	Ref  wire.WorktreeRef
	Kept string
	Note string // what was done, empty in a dry run
}

// Prune names the worktrees that hold nobody's work: clean, merged, unused. It removes them only with apply. It never
// forces.
func (t *Trees) Prune(ctx context.Context, apply bool, busy func(path string) error) ([]Verdict, error) {
	found, err := t.inventory()
	if err != nil {
		return nil, err
	}
	var all []Verdict
	for _, e := range found {
		if e.record == nil || !e.record.Made {
			continue
		}
		v := Verdict{Ref: e.record.Ref()}
		if apply {
			v.Note, err = t.Remove(ctx, v.Ref.Path, Removal{Busy: busy})
		} else {
			err = t.judge(ctx, *e.record, e.record.dir(), Removal{Busy: busy})
		}
		if err != nil {
			v.Kept = plain.Line(err.Error())
		}
		all = append(all, v)
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
	}
	return all, nil
}

// Kind says what Reconcile found.
type Kind string

// What Reconcile can find.
const (
	// HalfMade: a crash cut its making off; Undo takes it back.
	HalfMade Kind = "half_made"
	// HalfRemoved: a crash cut its removal off; Remove ends it.
	HalfRemoved Kind = "half_removed"
	// NeverBegun: the ledger has an intent and the disk has nothing of it.
	NeverBegun Kind = "never_begun"
	// Unlisted: it is whole, but the ledger does not know it.
	Unlisted Kind = "unlisted"
	// Lost: its directory is gone or its repository is not as it was.
	Lost Kind = "lost"
	// Unrecorded: a directory among the worktrees, or an entry of git, without a record.
	Unrecorded Kind = "unrecorded"
	// Unreadable: its record or repository cannot be read.
	Unreadable Kind = "unreadable"
	// HeldBefore: it is whole, and locked by a run of an earlier start of the machine; Release unlocks it.
	HeldBefore Kind = "held_before"
)

// Finding is something that does not fit. Intent is nil when none is known.
type Finding struct {
	Kind   Kind
	Path   string
	Text   string // sentence
	Intent *Intent
}

// Reconcile compares the ledger's intents, the records and directories on disk and the entries of git, and says what
// does not fit, sorted by path. It changes nothing. When the directory of worktrees cannot be read, it is an error, and
// nothing may be concluded.
func (t *Trees) Reconcile(ctx context.Context, intents []Intent) ([]Finding, error) {
	found, err := t.inventory()
	if err != nil {
		return nil, err
	}
	var all []Finding
	seen, commons := map[string]bool{}, map[string]bool{}
	for _, e := range found {
		at := t.abs(treesDir + "/" + e.group + "/" + e.name)
		seen[at] = true
		if e.record != nil {
			commons[e.record.Common] = true
		}
		all = append(all, t.compare(e, at, intents)...)
	}
	for _, in := range intents {
		commons[in.Common] = true
		if !seen[in.Path] {
			seen[in.Path] = true
			all = append(all, Finding{Kind: NeverBegun, Path: in.Path, Text: "it was planned and never begun", Intent: new(in)})
		}
	}
	for common := range commons {
		more, err := t.entries(ctx, common, seen)
		if err != nil {
			more = []Finding{{Kind: Unreadable, Path: common, Text: plain.Line(err.Error())}}
		}
		all = append(all, more...)
	}
	slices.SortFunc(all, func(a, b Finding) int { return strings.Compare(a.Path, b.Path) })
	return all, ctx.Err()
}

func (t *Trees) compare(e *entry, at string, intents []Intent) []Finding {
	one := func(kind Kind, text string) []Finding {
		f := Finding{Kind: kind, Path: at, Text: text}
		if e.record != nil {
			f.Intent = new(e.record.Intent)
		}
		return []Finding{f}
	}
	switch {
	case e.filed && e.record == nil:
		return one(Unreadable, plain.Line(e.err.Error()))
	case e.record == nil:
		return one(Unrecorded, "a directory among the worktrees has no record")
	case e.aside:
		return one(HalfRemoved, "its removal was cut off")
	case !e.record.Made:
		return one(HalfMade, "its making was cut off")
	case !e.dir:
		return one(Lost, "its directory is gone")
	}
	if err := t.verify(*e.record, e.record.dir()); err != nil {
		return one(Lost, plain.Line(err.Error()))
	}
	var all []Finding
	if !slices.ContainsFunc(intents, func(in Intent) bool { return in.Path == at }) {
		all = one(Unlisted, "the ledger does not know it")
	}
	reason, locked, err := lockReason(*e.record)
	if err != nil {
		return append(all, one(Unreadable, plain.Line(err.Error()))...)
	}
	if locked && strings.HasPrefix(reason, lockLead) && !strings.HasSuffix(reason, " boot "+t.boot) {
		all = append(all, one(HeldBefore, "it is locked by a run from before the machine was started")...)
	}
	return all
}

// entries lists git's worktrees of one repository that stand among ours and were not seen.
func (t *Trees) entries(ctx context.Context, common string, seen map[string]bool) ([]Finding, error) {
	if _, err := os.Lstat(common); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the records that name it were found lost
	}
	out, err := t.git.Run(ctx, git.Call{At: git.Place{GitDir: common, Common: common}, Output: listBytes, Args: []string{"worktree", "list", "--porcelain", "-z"}})
	if err != nil {
		return nil, err
	}
	var all []Finding
	for field := range strings.SplitSeq(string(out), "\x00") {
		at, ok := strings.CutPrefix(field, "worktree ")
		if !ok || seen[at] || !strings.HasPrefix(at, t.abs(treesDir)+string(filepath.Separator)) {
			continue
		}
		all = append(all, Finding{Kind: Unrecorded, Path: at, Text: "git has an entry for it, and there is no record"})
	}
	return all, nil
}

// ReviewRefs begins the names of the commits that reviewers of a worktree were shown: then its name and the round. They go
// with the worktree.
const ReviewRefs = "refs/scv/review/"

// Remove removes the worktree that path lies in, with the records of its reviews, and returns a sentence about what stays.
func (t *Trees) Remove(ctx context.Context, path string, how Removal) (string, error) {
	r, err := t.find(path)
	if err != nil {
		return "", err
	}
	note, err := t.remove(ctx, path, how)
	if err == nil {
		err = refused("worktree "+r.Name+" is removed, but not the names of its reviewed commits", t.git.unname(ctx, r, how.Branch))
	}
	return note, err
}

// unname removes the names that only a worktree needed. One that is gone already, or was moved, is left.
func (g *helper) unname(ctx context.Context, r record, branch bool) error {
	at := r.admin(r.Common)
	out, err := g.Run(ctx, git.Call{At: at, Output: 1 << 20, Args: []string{"for-each-ref", "--format=%(refname)", "--", ReviewRefs + r.Name + "/"}})
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(string(out)) {
		if _, err := g.Run(ctx, git.Call{At: at, Args: []string{"update-ref", "-d", name}}); err != nil {
			return err
		}
	}
	if branch {
		_, err = g.Run(ctx, git.Call{At: at, Args: []string{"update-ref", "-d", "refs/heads/" + r.Branch, r.Commit}})
		if git.Exited(err, 128) || git.Exited(err, 1) { // somebody works on it
			err = nil
		}
	}
	return err
}
