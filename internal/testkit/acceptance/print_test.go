//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// TestT35_EveryPrintingPath: whatever a prompt, a reply, a log, a file's name or a file's text holds, no command writes
// anything of it that a terminal would act on: not into a pipe, and not to a terminal.
func TestT35_EveryPrintingPath(t *testing.T) {
	const hostile = "evil \x1b]52;c;aGk=\x07\x1b[2J\u009b31m\u202etxt\u2066x\x7f\x08你"
	l := newLab(t)
	l.must(os.WriteFile(filepath.Join(l.work, "a.txt"), []byte("first\n"), 0o600))
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = l.work, l.env
		l.must(cmd.Run())
	}
	done := l.reaches(l.start("--agent", "demo", "@@say:"+hostile), wire.StateCompleted)
	l.must(os.WriteFile(filepath.Join(l.work, "a.txt"), []byte("second "+hostile+"\n"), 0o600))
	l.must(os.WriteFile(filepath.Join(l.work, "n\x1b[31m\u202e.txt"), []byte(hostile), 0o600))
	asks := l.start("--agent", "demo-live", "@@say:"+hostile+"|ask:rm "+hostile+"|say:after")
	l.until("it asks", func(v *wire.Snapshot) bool { return len(v.Approvals) > 0 })
	id, other := string(done.Job), string(asks)
	for _, mode := range [][]string{{"SCV_FORCE_TTY="}, {"SCV_FORCE_TTY=60", "TERM=xterm", "NO_COLOR=1"}} {
		here := *l
		here.env = append(slices.Clone(l.env), mode...)
		for _, args := range printing(id, other, hostile) {
			code, out, errs := here.scv(args...)
			if out == "" && errs == "" {
				t.Errorf("%q printed nothing (code %d)", args, code)
			}
			if bad := acts(out + errs); bad != "" {
				t.Errorf("%q under %v wrote %s:\n%q", args, mode, bad, out+errs)
			}
		}
	}
}

// printing are all commands that print what agents, files or the command line itself say.
func printing(id, other, hostile string) [][]string {
	return [][]string{
		{"jobs"},
		{"jobs", "list", "--all"},
		{"jobs", "list", "--json"},
		{"jobs", "list", "--json=task,detail,cwd"},
		{"jobs", "show", id},
		{"jobs", "show", other},
		{"jobs", "log", id},
		{"jobs", "log", "--json", id},
		{"jobs", "log", "-f", id},
		{"jobs", "log", other},
		{"jobs", "events", id},
		{"jobs", "result", id},
		{"jobs", "result", "--json", id},
		{"jobs", "wait", id},
		{"jobs", "queue"},
		{"jobs", "diff", id},
		{"jobs", "diff", "--stat", id},
		{"jobs", "diff", "--word", id},
		{"why", id},
		{"why", other},
		{"usage", "--by", "job"},
		{"status"},
		{"search", "evil"},
		{"search", "evil", "-C", "3"},
		{"search", "evil", "--json=job,places"},
		{"approvals"},
		{"approvals", "show", other},
		{"approvals", "list", "--json"},
		{"agents", "ps", "--all"},
		{"agents", "worktrees"},
		{"forecast"},
		{"logs"},
		{"doctor"},
		{"jobs", "show", "no-" + hostile},
		{"jobs", "start", "--agent", hostile, "x"},
		{"approvals", "approve", hostile},
		{"no-" + hostile},
		{"config", "get", hostile},
	}
}

// acts names the first thing in a text on which a terminal would act; empty when there is none.
func acts(text string) string {
	for i, r := range text {
		switch {
		case r == utf8.RuneError && text[i] >= 0x80 && !strings.HasPrefix(text[i:], "\ufffd"):
			return fmt.Sprintf("a byte %#x that is no character", text[i])
		case r == '\n' || r == '\t':
		case r < 0x20 || r >= 0x7f && r <= 0x9f, plain.Hidden(r) && r != 0x200d:
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}
