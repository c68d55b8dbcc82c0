package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"scv/internal/repo/git"
)

// hooks plants every hook that git knows, in the repository's folder and in another, which is returned.
func (l *lab) hooks() string {
	hooks := filepath.Join(l.base, "planted-hooks")
	for _, dir := range []string{filepath.Join(l.top, ".git", "hooks"), hooks} {
		l.must(os.MkdirAll(dir, 0o755))
		for _, hook := range []string{
			"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
			"commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update",
			"proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc",
			"post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change",
		} {
			l.must(os.WriteFile(filepath.Join(dir, hook), []byte("#!/bin/sh\n"+l.canary("hook-"+hook)+"\n"), 0o755))
		}
	}
	return hooks
}

// armed plants a program at every place of a repository from which git would run one.
func armed(t *testing.T) *lab {
	l := newLab(t)
	sh := func(name string) string { return l.canary(name) + "; cat" }
	hooks := l.hooks()
	l.write(l.top+"/.gitattributes", "* filter=evil diff=evil merge=evil\n*.go filter=a=b diff=a=b\nREADME filter=proc\n")
	l.commit(l.top, "attributes")
	for _, kv := range [][2]string{
		{"core.fsmonitor", sh("fsmonitor")},
		{"core.hooksPath", hooks},
		{"core.pager", sh("pager")},
		{"pager.status", sh("pager")},
		{"pager.log", sh("pager")},
		{"pager.diff", sh("pager")},
		{"core.editor", sh("editor")},
		{"sequence.editor", sh("editor")},
		{"core.askPass", sh("askpass")},
		{"core.sshCommand", sh("ssh")},
		{"credential.helper", "!" + sh("credential")},
		{"gpg.program", sh("gpg")},
		{"commit.gpgSign", "true"},
		{"log.showSignature", "true"},
		{"diff.external", sh("external")},
		{"filter.evil.clean", sh("clean")},
		{"filter.evil.smudge", sh("smudge")},
		{"filter.evil.required", "true"},
		{"filter.proc.process", sh("process")},
		{"filter.proc.required", "true"},
		{"filter.a=b.clean", sh("clean-equals")},
		{"filter.a=b.smudge", sh("smudge-equals")},
		{"diff.evil.textconv", sh("textconv") + " <"},
		{"diff.evil.command", sh("extdiff")},
		{"diff.a=b.command", sh("extdiff-equals")},
		{"merge.evil.driver", sh("merge")},
		{"remote.origin.url", "ext::sh -c " + l.canary("ext")},
		{"protocol.ext.allow", "always"},
		{"protocol.file.allow", "always"},
		{"remote.origin.vcs", "evil"},
		{"core.gitProxy", sh("proxy")},
		{"interactive.diffFilter", sh("difffilter")},
		{"alias.status", "!" + sh("alias")},
		{"alias.worktree", "!" + sh("alias")},
		{"status.submoduleSummary", "true"},
		{"submodule.recurse", "true"},
		{"diff.submodule", "log"},
		{"gc.auto", "1"},
		{"maintenance.auto", "true"},
		{"worktree.guessRemote", "true"},
		{"trace2.eventTarget", filepath.Join(l.base, "canary", "trace2")},
	} {
		l.owner(l.top, "config", "--local", kv[0], kv[1])
	}
	l.write(l.top+"/README", "changed\n")
	l.write(l.top+"/sub/code.go", "package changed\n")
	l.write(l.top+"/new.txt", "new\n")
	l.traces()
	return l
}

func TestT24_T25_T26_T27_NothingOfARepositoryRuns(t *testing.T) {
	l := armed(t)
	w := l.wish()
	w.WithChanges = true
	in, m := l.made(w)
	link := filepath.Join(in.Common, "worktrees", in.Name)
	at := git.Place{Top: in.Path, GitDir: link, Common: in.Common}
	// The worktree's own scope of settings is the repository's word too.
	l.owner(l.top, "config", "--local", "extensions.worktreeConfig", "true")
	l.traces()
	l.write(filepath.Join(link, "config.worktree"), "[filter \"wt\"]\n\tclean = "+l.canary("worktree-scope")+"\n[core]\n\tfsmonitor = "+l.canary("worktree-scope")+"\n")
	l.write(filepath.Join(in.Path, ".gitattributes"), "* filter=wt\n")
	step := func(name string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if ran := l.traces(); len(ran) > 0 {
			t.Errorf("%s ran %v", name, ran)
		}
	}
	step("create", nil)
	if m.Cwd != in.Path || l.read(in.Path+"/README") != "changed\n" {
		t.Errorf("the worktree is not as wished: %+v", m)
	}
	for _, args := range [][]string{
		{"diff", "--stat"},
		{"diff", "HEAD"},
		{"diff", "--raw"},
		{"log", "-p"},
		{"show", "HEAD"},
		{"ls-files", "-m"},
		{"status"},
		{"branch", "--show-current"},
		{"add", "-A"},
		{"commit", "--message", "work"},
	} {
		_, err := l.git.Run(t.Context(), git.Call{At: at, Args: args, Drivers: true, Output: 1 << 20})
		step(strings.Join(args, " "), err)
	}
	_, err := l.List(t.Context())
	step("list", err)
	_, err = l.Prune(t.Context(), false, nil)
	step("prune", err)
	step("release", l.Release(t.Context(), in.Path))
	step("hold", l.Hold(t.Context(), in.Path))
	_, err = l.Reconcile(t.Context(), []Intent{in})
	step("reconcile", err)
	_, err = l.git.Run(t.Context(), git.Call{At: at, Args: []string{"fetch", "origin"}})
	if err == nil {
		t.Error("a fetch went through")
	}
	step("fetch", nil)
	_, err = l.Remove(t.Context(), in.Path, Removal{Force: true})
	step("remove", err)
}

// TestCanariesSing proves that the traps of the test above work: the owner's plain git falls into them.
func TestCanariesSing(t *testing.T) {
	l := armed(t)
	for _, name := range []string{"evil", "proc"} { // else the first one that fails ends the command
		l.owner(l.top, "config", "--local", "filter."+name+".required", "false")
	}
	_, _ = l.raw(l.top, "worktree", "add", filepath.Join(l.base, "plain"), "HEAD")
	_, _ = l.raw(l.top, "status")
	_, _ = l.raw(l.top, "diff")
	_, _ = l.raw(l.top, "add", "-A")
	_, _ = l.raw(l.top, "commit", "-m", "x")
	_, _ = l.raw(l.top, "fetch", "origin")
	ran := l.traces()
	for _, want := range []string{
		"fsmonitor", "hook-post-index-change", "hook-post-checkout", "hook-reference-transaction", "clean", "smudge", "process",
		"clean-equals", "smudge-equals", "extdiff",
	} {
		if !slices.Contains(ran, want) {
			t.Errorf("the trap %s did not work; it proves nothing (ran: %v)", want, ran)
		}
	}
}

func TestT26_FiltersOfTheOwnerRun(t *testing.T) {
	l := newLab(t)
	l.write(l.top+"/.gitattributes", "*.up filter=up\n")
	l.write(l.top+"/a.up", "text\n")
	l.commit(l.top, "filtered")
	l.owner(l.top, "config", "--global", "filter.up.smudge", "tr a-z A-Z")
	l.owner(l.top, "config", "--global", "filter.up.clean", "tr A-Z a-z")
	in, _ := l.made(l.wish())
	if got := l.read(in.Path + "/a.up"); got != "TEXT\n" {
		t.Errorf("the owner's filter made %q", got)
	}
	// The repository cannot redefine it either.
	l.owner(l.top, "config", "--local", "filter.up.smudge", l.canary("redefined")+"; cat")
	second, _ := l.made(l.wish())
	if got := l.read(second.Path + "/a.up"); got != "TEXT\n" || len(l.traces()) > 0 {
		t.Errorf("a repository redefined the owner's filter: %q", got)
	}
	trees, err := l.List(t.Context())
	l.must(err)
	for _, tree := range trees {
		if tree.Dirty == nil || *tree.Dirty {
			t.Errorf("%s: %+v", tree.Name, tree)
		}
	}
}

func TestT26_LFSProgramsOfARepository(t *testing.T) {
	l := newLab(t)
	for _, key := range []string{"lfs.customtransfer.x.path", "lfs.extension.x.smudge", "lfs.standalonetransferagent", "lfs.https://h.standalonetransferagent"} {
		l.owner(l.top, "config", "--local", key, "evil")
	}
	l.owner(l.top, "config", "--local", "lfs.url", "https://example.org")
	from := git.Place{Top: l.top, GitDir: l.top + "/.git", Common: l.top + "/.git"}
	env, err := l.git.Neutral(t.Context(), git.Call{At: from})
	l.must(err)
	got := strings.Join(env, "\n")
	if strings.Contains(got, "lfs.url") || strings.Contains(got, "evil") || !strings.HasPrefix(got, "GIT_CONFIG_COUNT=4\n") {
		t.Errorf("neutral settings:\n%s", got)
	}
}

func TestT27_LazyFetchRunsNothing(t *testing.T) {
	l := newLab(t)
	blob := l.owner(l.top, "rev-parse", "HEAD:README")
	for _, kv := range [][2]string{
		{"remote.evil.url", l.top},
		{"remote.evil.promisor", "true"},
		{"remote.evil.partialclonefilter", "blob:none"},
		{"remote.evil.uploadpack", l.canary("uploadpack") + ";git-upload-pack"},
		{"extensions.partialClone", "evil"},
		{"protocol.allow", "always"},
		{"protocol.file.allow", "always"},
	} {
		l.owner(l.top, "config", "--local", kv[0], kv[1])
	}
	l.must(os.Remove(filepath.Join(l.top, ".git", "objects", blob[:2], blob[2:])))
	in, err := l.Plan(t.Context(), l.wish())
	l.must(err)
	if _, err := l.Create(t.Context(), in); err == nil {
		t.Error("a worktree without its files was made")
	}
	if ran := l.traces(); len(ran) > 0 {
		t.Errorf("the lazy fetch ran %v", ran)
	}
	l.nothing(in)
}

func TestT29_EmbeddedBareRepository(t *testing.T) {
	l := newLab(t)
	bare := l.top + "/sub/bare"
	l.owner(l.top, "init", "--quiet", "--bare", bare)
	l.owner(bare, "config", "core.fsmonitor", l.canary("bare"))
	l.owner(bare, "config", "core.worktree", l.top)
	w := l.wish()
	w.Cwd = bare
	_, err := l.Plan(t.Context(), w)
	l.refusal(err, "not_found", "is not inside a git checkout")
	if ran := l.traces(); len(ran) > 0 {
		t.Errorf("ran %v", ran)
	}
}
