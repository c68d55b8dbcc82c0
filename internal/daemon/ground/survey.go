package ground

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"scv/internal/home"
	"scv/internal/run/runlog"
	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// lookTime bounds what one turn's beginning and end may cost.
const lookTime = 20 * time.Second

// Begin keeps what a turn begins on. A directory outside any repository costs no process.
func (g *Ground) Begin(ctx context.Context, o row.Order, job wire.JobID, cwd string) {
	if !inRepository(cwd) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	f, err := g.Work.Footing(ctx, o.Conversation.Worktree, cwd)
	if err != nil {
		g.Log.Info("what a turn begins on is not known", "job", job, "error", err)
	}
	if f.Head != "" {
		g.Hub().Jobs().Begun(job, row.Ground{Head: f.Head, Loose: uint32(f.Loose), Source: f.Source})
	}
}

func inRepository(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// prove tells what git and the log say of a job that has ended, and keeps it.
func (g *Ground) prove(ctx context.Context, j row.Job) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var facts wire.JobFacts
	spot, err := g.Work.Spot(ctx, j.Worktree, j.Cwd, j.Base)
	if err == nil {
		facts, err = g.Work.Facts(ctx, spot, j.Ground.Source)
	}
	if err != nil {
		facts.Problem = new(plain.Line(err.Error()))
	}
	facts.Before = j.Ground.Loose
	facts.Tests = tests(g.Home, j)
	if ctx.Err() == nil || facts.Problem != nil {
		g.Hub().Jobs().Proved(j.Job.Job, facts)
	}
}

// maxTests bounds how many runs of tests are kept of a turn: the newest.
const maxTests = 20

// tests are the commands of a turn that look like runs of tests, as the log has them.
func tests(h *home.Home, j row.Job) []wire.TestRun {
	if j.Run == nil {
		return nil
	}
	root, err := h.RunRoot(*j.Run)
	if err != nil {
		return nil
	}
	defer root.Close()
	var t tally
	for after := uint64(0); ; {
		page, err := runlog.ReadPage(root, *j.Run, after, wire.MaxRunLogPageEvents, false)
		if err != nil {
			break
		}
		for _, e := range page.Events {
			t.take(e, j)
		}
		if !page.More || page.Next <= after {
			break
		}
		after = page.Next
	}
	if j.State != wire.StateCompleted && t.open >= 0 {
		t.runs = t.runs[:t.open] // it was cut off in it
	}
	return t.runs[max(0, len(t.runs)-maxTests):]
}

// A tally counts the runs of tests of one turn.
type tally struct {
	inside bool
	runs   []wire.TestRun
	open   int // index of a run of tests that nothing came after yet; -1 for none
}

func (t *tally) take(e wire.RunEvent, j row.Job) {
	switch e.Kind {
	case wire.EventTurnStarted:
		t.inside, t.open = e.Job != nil && *e.Job == j.Job.Job || e.Job == nil && e.Turn != nil && *e.Turn == j.Turn, -1
	case wire.EventTurnEnded:
		t.inside = false
	case wire.EventTool:
		if command, ok := strings.CutPrefix(e.Text, "$ "); ok && t.inside && runsTests(command) {
			t.open = len(t.runs)
			t.runs = append(t.runs, wire.TestRun{Command: command, Passed: true})
		} else if t.inside {
			t.open = -1
		}
	case wire.EventToolFailed:
		if t.inside {
			t.failed(e.Text)
			t.open = -1
		}
	default:
		if e.Kind == wire.EventText {
			t.open = -1
		}
	}
}

// failed finds the run of tests that a line of a failure speaks of.
func (t *tally) failed(line string) {
	command, exit := "", ""
	if rest, ok := strings.CutPrefix(line, "exit "); ok {
		exit, command, _ = strings.Cut(rest, ": ")
	} else {
		command = strings.TrimSuffix(strings.TrimPrefix(line, "refused: "), " failed")
	}
	for i := len(t.runs) - 1; i >= 0; i-- {
		if r := &t.runs[i]; r.Command == command && r.Passed {
			r.Passed = false
			if n, ok := number(exit); ok {
				r.Exit = &n
			}
			return
		}
	}
}

func number(text string) (n uint32, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' || n > 1<<20 {
			return 0, false
		}
		n = n*10 + uint32(c-'0')
	}
	return n, text != ""
}

// runsTests reports whether a command runs tests, as far as its words tell.
func runsTests(command string) bool {
	for _, word := range []string{
		"go test", "go vet", "pytest", "cargo test", "cargo nextest", "npm test", "npm run test", "npm t ", "pnpm test", "yarn test", "bun test",
		"npx jest", "npx vitest", "npx mocha", "tox", "nox", "make test", "make check", "ctest", "gradle test", "gradlew test", "mvn test",
		"mvn verify", "dotnet test", "swift test", "mix test", "rspec", "rake test", "phpunit", "python -m unittest", "python3 -m unittest", "deno test", "bazel test",
	} {
		if at := strings.Index(command, word); at >= 0 && (at == 0 || !letter(command[at-1])) && (at+len(word) == len(command) || !letter(command[at+len(word)])) {
			return true
		}
	}
	return false
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
