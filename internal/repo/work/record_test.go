package work

import (
	"strings"
	"testing"

	"scv/internal/repo"
	"scv/internal/wire"
)

// The record of a review is one commit of all that a worktree has. It touches neither branch, index nor files, and goes with
// the worktree.
func TestRecordIsOneCommitOfAllThatAWorktreeHas(t *testing.T) {
	l := newLab(t)
	ref, s := l.tree("build it")
	rec := Recorder{l.Bench}
	l.write(s.At.Top+"/new", "new\n")
	l.write(s.At.Top+"/a", "1\n2\nthree\n")
	l.write(s.At.Top+"/trace.log", "ignored\n")
	l.owner(s.At.Top, "add", "a")
	before := l.owner(s.At.Top, "status", "--porcelain") + l.owner(s.At.Top, "rev-parse", "HEAD")
	one, err := rec.Record(t.Context(), s, 1)
	l.must(err)
	if after := l.owner(s.At.Top, "status", "--porcelain") + l.owner(s.At.Top, "rev-parse", "HEAD"); after != before {
		t.Errorf("the worktree was\n%s\nand is\n%s", before, after)
	}
	if one.Base != s.Base || one.Files != 2 || l.owner(l.top, "ls-tree", "-r", "--name-only", one.Head) != ".gitignore\na\nb\nnew" {
		t.Errorf("%+v", one)
	}
	if got := l.owner(l.top, "for-each-ref", "--format=%(refname) %(objectname)", "refs/scv"); got != recordName(s.Tree.Name, 1)+" "+one.Head {
		t.Errorf("the refs are %q", got)
	}
	l.commit(s.At.Top, "all of it")
	two, err := rec.Record(t.Context(), s, 2)
	l.must(err)
	if two.Head != l.owner(s.At.Top, "rev-parse", "HEAD") {
		t.Errorf("where all is committed it records %s", two.Head)
	}
	for how, want := range map[wire.DiffHow]string{wire.DiffPatch: "+three", wire.DiffStat: "2 files changed", wire.DiffWord: "{+three+}"} {
		if text, err := rec.Recorded(t.Context(), ref, one, how); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %q, %v", how, text, err)
		}
	}
	_, err = rec.Recorded(t.Context(), ref, Record{Base: one.Base, Head: strings.Repeat("1", 40)}, wire.DiffPatch)
	l.refused(err, wire.ReasonNotFound, "does not have commit")
	_, err = rec.Recorded(t.Context(), ref, one, "colour")
	l.refused(err, wire.ReasonInvalid, "of the kind")
	_, err = rec.Record(t.Context(), Spot{At: s.At, Base: s.Base}, 1)
	l.refused(err, wire.ReasonRefused, "your own checkout")
	_, err = l.trees.Remove(t.Context(), ref.Path, repo.Removal{Force: true})
	l.must(err)
	if got := l.owner(l.top, "for-each-ref", "refs/scv"); got != "" {
		t.Errorf("the worktree is gone, and %q is left", got)
	}
}

// A reviewer's worktree that nobody touched goes with its branch; one that was touched is kept, and it is told.
func TestReviewersTreeGoesWithItsBranchUnlessItWasTouched(t *testing.T) {
	l := newLab(t)
	rec := Recorder{l.Bench}
	clean, s := l.tree("review job-1")
	if n, err := rec.Touched(t.Context(), s); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	_, err := l.trees.Remove(t.Context(), clean.Path, repo.Removal{Branch: true})
	l.must(err)
	if got := l.owner(l.top, "branch", "--list", "scv/*"); got != "" {
		t.Errorf("its branch is left: %q", got)
	}
	touched, s := l.tree("review job-2")
	l.write(s.At.Top+"/a", "changed\n")
	l.owner(s.At.Top, "commit", "-qam", "by a reviewer")
	l.write(s.At.Top+"/c", "more\n")
	if n, err := rec.Touched(t.Context(), s); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	_, err = l.trees.Remove(t.Context(), touched.Path, repo.Removal{Branch: true})
	l.refused(err, wire.ReasonRefused, "is kept")
	l.owner(s.At.Top, "reset", "-q", "--hard")
	l.owner(s.At.Top, "clean", "-qfd")
	_, err = l.trees.Remove(t.Context(), touched.Path, repo.Removal{Branch: true, Force: true})
	l.must(err)
	if got := l.owner(l.top, "branch", "--list", "scv/*"); got == "" {
		t.Error("a branch with a commit on it went with the worktree")
	}
}

// What a builder says of a landing is measured by git: the commits, the ref, and that nothing approved is missing there.
func TestLandingIsCheckedByGitItself(t *testing.T) {
	l := newLab(t)
	_, s := l.tree("land it")
	rec := Recorder{l.Bench}
	l.write(s.At.Top+"/a", "1\n2\nthree\n")
	l.write(s.At.Top+"/new", "new\n")
	l.commit(s.At.Top, "work")
	approved, err := rec.Record(t.Context(), s, 1)
	l.must(err)
	ask := func(ref string, commits ...string) (bool, bool, string) {
		return rec.Landed(t.Context(), s, ref, commits, approved.Head)
	}
	if yes, known, words := ask("main", approved.Head); yes || !known {
		t.Errorf("nothing was landed, and git says %t %t %q", yes, known, words)
	}
	l.owner(l.top, "checkout", "-q", "-b", "half")
	l.write(l.top+"/new", "new\n")
	l.commit(l.top, "half of it")
	half := l.owner(l.top, "rev-parse", "HEAD")
	if yes, known, words := ask("half", half); yes || !known || !strings.Contains(words, "not all that was approved") {
		t.Errorf("half was landed, and git says %t %t %q", yes, known, words)
	}
	l.owner(l.top, "checkout", "-q", "main")
	l.write(l.top+"/b", "0\n1\n2\n3\n")
	l.commit(l.top, "somebody else's")
	l.owner(l.top, "merge", "-q", "--squash", approved.Head)
	l.commit(l.top, "all of it, squashed")
	landed := l.owner(l.top, "rev-parse", "--short", "HEAD")
	for _, ref := range []string{"main", "refs/heads/main"} {
		if yes, known, words := ask(ref, landed); !yes || !known || !strings.Contains(words, "refs/heads/main") {
			t.Errorf("%s: git says %t %t %q", ref, yes, known, words)
		}
	}
	for _, ref := range []string{"nowhere", "--help", "$(id)", "main~1", "refs/../x", ""} {
		if yes, known, words := ask(ref, landed); yes || known {
			t.Errorf("%q: git says %t %t %q", ref, yes, known, words)
		}
	}
	if yes, known, _ := ask("main", "abcdef1"); yes || !known {
		t.Error("a commit that does not exist was found")
	}
}
