//go:build linux

package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"scv/internal/testkit/realagent"
	"scv/internal/wire"
)

// builtBy is a task for the real codex: each round adds a line, and once it is approved that is committed and brought to
// the branch main.
const builtBy = "@@shell:echo tried >> README.md|say:built it\n" +
	"%%shell:git add -A && git -c user.name=B -c user.email=b@example.org commit -qm tries && git update-ref refs/heads/main HEAD && git rev-parse HEAD" +
	"|landed:refs/heads/main"

// TestM3_P29_RealCodexBuildsAndRealClaudeReviews: two rounds, a landing and the look at it, with the daemon killed while
// the builder and while the reviewer is at work. Nothing is given twice, the reviewer's word is not needed for what git
// can tell, and the owner's checkout is left alone.
func TestM3_P29_RealCodexBuildsAndRealClaudeReviews(t *testing.T) {
	builder, reviewer := realagent.Codex(t, realagent.Options{}), realagent.Claude(t, realagent.Options{})
	l := newLab(t, append(slices.Clone(builder.Env), reviewer.Env...)...)
	l.env = append(l.env, "HOME="+filepath.Join(l.base, "u"), "PATH="+l.bin+":"+os.Getenv("PATH"))
	l.must(os.Symlink(builder.Path, filepath.Join(l.bin, "codex")))
	l.must(os.Symlink(reviewer.Path, filepath.Join(l.bin, "claude")))
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(l.ctx, "git", append([]string{"-C", l.work, "-c", "user.name=A", "-c", "user.email=a@example.org"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	l.must(os.WriteFile(filepath.Join(l.work, "README.md"), []byte("a tool\n"), 0o600))
	git("add", "-A")
	git("commit", "-qm", "first")
	git("switch", "-qc", "desk")
	first := git("rev-parse", "main")

	id := l.start("--agent", "codex", "--mode", "auto", "--base", "main", "--review=claude", "--rounds", "3", "--land", "after_approval",
		"--focus", "@@verdict:README.md names no bound\n%%confirm", builtBy)
	for _, phase := range []wire.ReviewPhase{wire.PhaseBuilder, wire.PhaseReviewer, wire.PhaseLanding} {
		l.until(string(phase)+" is at work", func(v *wire.Snapshot) bool {
			j := job(v, id)
			return j != nil && j.State.Final() || slices.ContainsFunc(v.Jobs, func(j wire.Job) bool { return j.Part != nil && j.Part.Phase == phase })
		})
		l.must(syscall.Kill(l.daemon(), syscall.SIGKILL))
		l.ok("start")
	}
	l.reaches(id, wire.StateCompleted)
	said := l.ok("jobs", "review", string(id))
	for _, want := range []string{
		"outcome\tapproved, round 2 of 3", "blocking: README.md names no bound", "landing\tlanded on refs/heads/main as ", "reviewer confirmed",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the record does not say %q", want)
		}
	}
	if t.Failed() {
		t.Logf("the record:\n%s", said)
	}
	if got := git("show", "main:README.md"); got != "a tool\ntried\ntried" {
		t.Errorf("main has %q: each round adds a line, and no round is played twice", got)
	}
	if got := git("rev-list", "--count", first+"..main"); got != "1" {
		t.Errorf("%s commits have landed", got)
	}
	if got := git("status", "--porcelain") + git("rev-parse", "HEAD"); got != first {
		t.Errorf("the owner's checkout is %q", got)
	}
	builder.NoDials(t)
	reviewer.NoDials(t)
}
