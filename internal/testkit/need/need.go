// Package need tells a test whether what it needs is on this machine: a real agent, root, the reference pages. Where it
// is missing the test is skipped with a printed reason; under CI=true it fails instead, so that nothing is skipped
// unseen there.
package need

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// missing skips the test, or fails it where nothing may be missing.
func missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("needed in CI: %s", reason)
	}
	t.Skip(reason)
}

// everyRun are the agents that each CI run installs. Others are tried where somebody names them: `make agents`, and a run
// for a change of their dialects.
func everyRun(name string) bool { return name == "codex" || name == "claude" || name == "gemini" }

// Agent returns the path of a real agent's program. It is named by SCV_REAL_<NAME> (such as SCV_REAL_CODEX) and never
// searched for, so that an ordinary test run starts nobody's own agent.
func Agent(t testing.TB, name string) string {
	t.Helper()
	key := "SCV_REAL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	path := os.Getenv(key)
	reason := "no real " + name + ": set " + key + " to its program to run this test"
	if path == "" && !everyRun(name) {
		t.Skip(reason)
	}
	if path == "" {
		missing(t, reason)
	}
	if _, err := os.Stat(path); err != nil {
		missing(t, key+" names no program: "+err.Error())
	}
	return path
}

// Root skips a test that only root can run.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "this test needs root")
	}
}

// Program returns the path of a program of the system, such as strace.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, "no "+name+" in PATH")
	}
	return path
}

// Shared returns a folder of the reference pages, such as protocol/vectors. They stand beside the repository, or where
// SCV_SHARED says.
func Shared(t testing.TB, elem ...string) string {
	t.Helper()
	base := os.Getenv("SCV_SHARED")
	if base == "" {
		base = filepath.Join(repository(t), "..", "shared")
	}
	dir := filepath.Join(append([]string{base}, elem...)...)
	if _, err := os.Stat(dir); err != nil {
		missing(t, "the reference pages are not beside the repository (SCV_SHARED can name them): "+filepath.Join(elem...))
	}
	return dir
}

func repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("this test does not run in the repository")
		}
		dir = up
	}
}

// Commit returns the full name of a commit that a file of the repository names, below its root, and makes sure that the
// history which holds it is there. A checkout without any history, or with only its newest part, cannot be mended by who
// runs the tests: there the test is skipped, in CI too, and says so.
func Commit(t testing.TB, file string) (root, commit string) {
	t.Helper()
	root = repository(t)
	data, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	commit = strings.TrimSpace(string(data))
	git := exec.CommandContext(t.Context(), Program(t, "git"), "-C", root, "cat-file", "-e", commit+"^{commit}")
	if out, err := git.CombinedOutput(); err != nil {
		reason := "the history does not hold " + commit + ": " + string(out)
		if shallow(t, root) {
			t.Skip(reason)
		}
		missing(t, reason)
	}
	return root, commit
}

// shallow reports whether a checkout has no history, or only a part of it.
func shallow(t testing.TB, root string) bool {
	t.Helper()
	git := exec.CommandContext(t.Context(), Program(t, "git"), "-C", root, "rev-parse", "--is-shallow-repository")
	out, err := git.Output()
	return err != nil || strings.TrimSpace(string(out)) != "false"
}
