package work

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/repo"
	"scv/internal/wire"
)

// arm plants a program at every place of the repository from which git would run one.
func (l *lab) arm(sh func(name string) string) {
	hooks := filepath.Join(l.base, "hooks")
	for _, hook := range []string{
		"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-merge-commit", "post-merge", "post-checkout", "post-index-change",
		"reference-transaction", "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman",
	} {
		for _, dir := range []string{hooks, l.top + "/.git/hooks"} {
			l.write(dir+"/"+hook, "#!/bin/sh\n"+sh("hook-"+hook)+"\n")
			l.must(os.Chmod(dir+"/"+hook, 0o755))
		}
	}
	for key, value := range map[string]string{
		"core.fsmonitor": sh("fsmonitor"), "core.hooksPath": hooks, "core.pager": sh("pager"), "pager.diff": sh("pager"), "diff.external": sh("external"),
		"filter.evil.clean": sh("clean"), "filter.evil.smudge": sh("smudge"), "filter.evil.process": sh("process"), "filter.evil.required": "true",
		"diff.evil.textconv": sh("textconv"), "diff.evil.command": sh("command"), "merge.evil.driver": sh("merge"), "commit.gpgSign": "true",
		"gpg.program": filepath.Join(hooks, "pre-commit"), "core.editor": sh("editor"), "sequence.editor": sh("editor"), "merge.tool": "evil",
		"core.sshCommand": sh("ssh"), "log.showSignature": "true", "credential.helper": sh("credential"), "core.askPass": sh("askpass"),
		"commit.template": filepath.Join(l.base, "canary"), "merge.verifySignatures": "true",
	} {
		l.owner(l.top, "config", key, value)
	}
}

// Everything that is done with work, in a repository that plants a program wherever git would run one: none runs.
func TestT20_NothingOfTheRepositoryRuns(t *testing.T) {
	l := newLab(t)
	sh := func(name string) string { return "touch " + filepath.Join(l.base, "canary", name) + "; cat" }
	l.write(l.top+"/.gitattributes", "* filter=evil diff=evil merge=evil\n")
	l.commit(l.top, "attributes")
	ref, s := l.tree("one")
	_, other := l.tree("two")
	l.arm(sh)
	ctx := t.Context()
	for _, spot := range []Spot{s, other} {
		l.write(spot.At.Top+"/a", "1\n"+spot.Tree.Name+"\n3\n")
		l.write(spot.At.Top+"/new-"+spot.Tree.Name, "x\n")
	}
	for _, how := range []wire.DiffHow{wire.DiffPatch, wire.DiffStat, wire.DiffWord} {
		text, err := l.Diff(ctx, s, how)
		l.must(err)
		if !strings.Contains(text, "new-") {
			t.Errorf("%s: %s", how, text)
		}
	}
	foot, err := l.Footing(ctx, &ref, s.At.Top)
	l.must(err)
	_, err = l.Facts(ctx, s, foot.Source)
	l.must(err)
	if _, err = l.Apply(ctx, s, Order{How: wire.ApplyFiles}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"a", "new-" + s.Tree.Name} {
		l.must(os.RemoveAll(filepath.Join(l.top, name)))
	}
	l.write(l.top+"/a", "1\n2\n3\n")
	_, _, err = l.Commit(ctx, s, "one")
	l.must(err)
	_, _, err = l.Commit(ctx, other, "two")
	l.must(err)
	_, err = l.Apply(ctx, s, Order{How: wire.ApplySquash, Message: "one"})
	l.must(err)
	_, err = l.Apply(ctx, other, Order{How: wire.ApplyMerge, Message: "two"})
	l.refused(err, wire.ReasonConflict, "in a.")
	_, err = l.Apply(ctx, other, Order{How: wire.ApplyRebase, Message: "two"})
	l.refused(err, wire.ReasonConflict, "in a.")
	one, err := l.Branch(ctx, ref)
	l.must(err)
	two, err := l.Branch(ctx, other.Tree.Ref())
	l.must(err)
	if files, err := l.Trial().Meet(ctx, one, two); err != nil || len(files) != 1 || files[0] != "a" {
		t.Errorf("a merge driver of the repository decides: %v, %v", files, err)
	}
	left, err := os.ReadDir(filepath.Join(l.base, "canary"))
	l.must(err)
	for _, f := range left {
		t.Errorf("%s ran", f.Name())
	}
}

func TestP29_FactsSayWhatGitSees(t *testing.T) {
	l := newLab(t)
	ref, s := l.tree("facts")
	ctx := t.Context()
	foot, err := l.Footing(ctx, &ref, s.At.Top)
	l.must(err)
	l.write(s.At.Top+"/a", "x\n")
	l.commit(s.At.Top, "by the agent")
	l.write(s.At.Top+"/b", "x\n")
	l.write(s.At.Top+"/c", "x\n")
	l.write(s.At.Top+"/d.log", "x\n")
	f, err := l.Facts(ctx, s, foot.Source)
	l.must(err)
	if f.Files != 3 || f.Uncommitted != 2 || f.Commits != 1 || f.Main == nil || *f.Main {
		t.Errorf("%+v", f)
	}
	// The agent edits the main checkout by its absolute path: a new file, then the same file again.
	for i, text := range []string{"1", "22"} {
		l.write(l.top+"/stray", text)
		f, err = l.Facts(ctx, s, foot.Source)
		l.must(err)
		if f.Main == nil || !*f.Main {
			t.Errorf("change %d of the main checkout was not seen", i)
		}
		foot, err = l.Footing(ctx, &ref, s.At.Top)
		l.must(err)
	}
	l.commit(l.top, "somebody commits there")
	if f, err = l.Facts(ctx, s, foot.Source); err != nil || !*f.Main {
		t.Errorf("a commit in the main checkout was not seen: %v", err)
	}
}

func TestApplyLeavesTheOwnersChanges(t *testing.T) {
	l := newLab(t)
	_, s := l.tree("home")
	ctx := t.Context()
	l.write(s.At.Top+"/a", "agent\n")
	l.write(l.top+"/a", "owner\n")
	for how, words := range map[wire.ApplyHow]string{
		wire.ApplyMerge: "cannot take it", wire.ApplySquash: "cannot take it", wire.ApplyRebase: "cannot take it", wire.ApplyFiles: "it conflicts with what is in " + l.top + " in a.",
	} {
		_, err := l.Apply(ctx, s, Order{How: how, Message: "m"})
		l.refused(err, wire.ReasonConflict, words)
		if got := l.read(l.top + "/a"); got != "owner\n" || l.owner(l.top, "log", "--format=%s") != "first" {
			t.Fatalf("%s changed something: %q", how, got)
		}
	}
	// An owner's change elsewhere is kept beside the work.
	l.write(l.top+"/a", "1\n2\n3\n")
	l.write(l.top+"/b", "owner\n")
	_, err := l.Apply(ctx, s, Order{How: wire.ApplyMerge, Message: "m"})
	l.must(err)
	if l.read(l.top+"/a") != "agent\n" || l.read(l.top+"/b") != "owner\n" {
		t.Error("work and the owner's change are not both there")
	}
}

// An edit that leaves size and time of a file as they were when it was checked out is seen: it is part of what a job did.
func TestEditInTheMomentOfTheCheckoutIsSeen(t *testing.T) {
	l := newLab(t)
	l.owner(l.top, "config", "core.trustctime", "false")
	_, s := l.tree("quick")
	index, file := filepath.Join(s.At.GitDir, "index"), s.At.Top+"/a"
	info, err := os.Stat(file)
	l.must(err)
	l.write(file, "1\n9\n3\n")
	for _, name := range []string{file, index} {
		l.must(os.Chtimes(name, info.ModTime(), info.ModTime()))
	}
	text, err := l.Diff(t.Context(), s, wire.DiffPatch)
	if err != nil || !strings.Contains(text, "+9") {
		t.Errorf("the difference is %q, %v", text, err)
	}
	head, err := Recorder{l.Bench}.Whole(t.Context(), s)
	if err != nil || l.owner(l.top, "show", head+":a") != "1\n9\n3" {
		t.Errorf("what is recorded does not have it: %v", err)
	}
}

// What a worktree took over from the checkout (--with-changes) is not in the way of what was added to it there; and neither
// it nor anything else comes home twice.
func TestApplyFilesKnowsWhatTheOwnerHas(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	l.write(l.top+"/a", "owner\n2\n3\n")
	l.write(l.top+"/new", "owner\n")
	in, err := l.trees.Plan(ctx, repo.Wish{Cwd: l.top, Agent: "codex", Task: "go on", WithChanges: true})
	l.must(err)
	made, err := l.trees.Create(ctx, in)
	l.must(err)
	s, err := l.Spot(ctx, &made.Ref, made.Cwd, &in.Commit)
	l.must(err)
	l.write(made.Cwd+"/a", "owner\n2\nagent\n")
	l.write(made.Cwd+"/new", "owner\nagent\n")
	l.write(l.top+"/b", "later\n2\n3\n")
	_, err = l.Apply(ctx, s, Order{How: wire.ApplyFiles})
	l.must(err)
	if got := l.read(l.top+"/a") + l.read(l.top+"/new") + l.read(l.top+"/b"); got != "owner\n2\nagent\nowner\nagent\nlater\n2\n3\n" {
		t.Errorf("the checkout has\n%s", got)
	}
	if l.owner(l.top, "log", "--format=%s") != "first" || l.owner(l.top, "diff", "--cached", "--name-only") != "" {
		t.Error("something was committed or staged")
	}
	_, err = l.Apply(ctx, s, Order{How: wire.ApplyFiles})
	l.refused(err, wire.ReasonConflict, "has all of it already")
}

// Work that came home as other commits than its own is home: it is not brought twice, and its worktree may go.
func TestWorkThatIsHomeInOtherCommits(t *testing.T) {
	for _, how := range []wire.ApplyHow{wire.ApplySquash, wire.ApplyRebase} {
		l := newLab(t)
		ctx := t.Context()
		_, s := l.tree("home")
		l.write(s.At.Top+"/a", "agent\n")
		l.write(l.top+"/b", "meanwhile\n")
		l.commit(l.top, "meanwhile")
		_, err := l.Apply(ctx, s, Order{How: how, Message: "m"})
		l.must(err)
		tip := l.owner(l.top, "rev-parse", "HEAD")
		for _, again := range []wire.ApplyHow{wire.ApplySquash, wire.ApplyRebase} {
			_, err = l.Apply(ctx, s, Order{How: again, Message: "m"})
			l.refused(err, wire.ReasonConflict, "main has all of it already")
		}
		if got := l.owner(l.top, "rev-parse", "HEAD"); got != tip {
			t.Errorf("after %s again main is at %s", how, got)
		}
		l.write(s.At.Top+"/c", "more\n")
		l.commit(s.At.Top, "more")
		_, err = l.trees.Remove(ctx, s.At.Top, repo.Removal{})
		l.refused(err, wire.ReasonRefused, "2 commits not merged")
		l.owner(s.At.Top, "reset", "-q", "--hard", "HEAD~1")
		_, err = l.trees.Remove(ctx, s.At.Top, repo.Removal{})
		l.must(err)
	}
}

func TestRebaseKeepsCommitsApart(t *testing.T) {
	l := newLab(t)
	_, s := l.tree("several")
	ctx := t.Context()
	l.write(s.At.Top+"/a", "0\n2\n3\n")
	l.commit(s.At.Top, "one")
	l.write(s.At.Top+"/c", "c\n")
	l.owner(s.At.Top, "add", "-A")
	l.owner(s.At.Top, "commit", "-q", "--author=Agent <agent@example.org>", "--date=2020-01-02T03:04:05+0200", "-m", "two\n\nwith a body")
	l.write(l.top+"/b", "main\n")
	l.commit(l.top, "meanwhile")
	_, err := l.Apply(ctx, s, Order{How: wire.ApplyRebase})
	l.must(err)
	got := l.owner(l.top, "log", "--reverse", "--format=%s|%b|%an|%ad", "--date=iso-strict")
	for _, want := range []string{"first||Owner", "meanwhile||Owner", "one||Owner", "|Agent|2020-01-02T03:04:05+02:00"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if l.owner(l.top, "status", "--porcelain") != "" || l.read(l.top+"/a") != "0\n2\n3\n" || l.read(l.top+"/b") != "main\n" {
		t.Error("the checkout does not have all of it")
	}
}

// Bad input: a repository in odd states, and an agent that plays with it.
func TestWorkInOddStates(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	_, s := l.tree("odd")
	l.write(s.At.Top+"/dir/x", "x\n")
	l.must(os.Mkdir(s.At.Top+"/nested", 0o755))
	l.owner(s.At.Top+"/nested", "init", "-q")
	l.must(os.Symlink("/etc/passwd", s.At.Top+"/link"))
	l.write(s.At.Top+"/-n\tame \"q\"", "x\n")
	text, err := l.Diff(ctx, s, wire.DiffPatch)
	l.must(err)
	if !strings.Contains(text, "dir/x") || strings.Contains(text, "root:") || !strings.Contains(text, "ame") {
		t.Errorf("the difference is\n%s", text)
	}
	if l.owner(s.At.Top, "diff", "--cached", "--name-only") != "" {
		t.Error("looking changed the index")
	}
	l.owner(s.At.Top, "switch", "-q", "-c", "elsewhere") // an agent that switches its branch
	_, n, err := l.Commit(ctx, s, "all")
	if err != nil || n != 3 {
		t.Errorf("%d files, %v", n, err)
	}
	l.owner(s.At.Top, "checkout", "-q", "--detach")
	_, err = l.Apply(ctx, s, Order{How: wire.ApplyMerge, Message: "m"})
	l.must(err)
	if l.read(l.top+"/dir/x") != "x\n" {
		t.Error("the work of a detached worktree did not come home")
	}
	l.must(os.Rename(s.At.Top+"/.git", s.At.Top+"/.git.old")) // an agent that rewrites .git
	l.owner(s.At.Top, "init", "-q")
	if _, err := l.Spot(ctx, new(s.Tree.Ref()), s.At.Top, &s.Base); err == nil {
		t.Error("git runs in a worktree whose .git is another")
	}
	_, err = l.Spot(ctx, nil, l.base, nil)
	l.refused(err, wire.ReasonUnavailable, "did not begin in a git repository")
	gone := strings.Repeat("1", 40)
	spot, err := l.Spot(ctx, nil, l.top, &gone)
	l.must(err)
	_, err = l.Diff(ctx, spot, wire.DiffStat)
	l.refused(err, wire.ReasonConflict, "is not in the repository any more")
}
