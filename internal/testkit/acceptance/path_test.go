//go:build linux

package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/wire"
)

// TestP48_SocketPathThatIsTooLong is told in a sentence, by every command, with what to do.
func TestP48_SocketPathThatIsTooLong(t *testing.T) {
	l := newLab(t)
	long := filepath.Join(l.base, strings.Repeat("d", 107))
	for _, args := range [][]string{{"jobs"}, {"start"}, {"run"}, {"jobs", "start", "--agent", "demo", "x"}, {"status"}, {"stop"}} {
		code, out, errs := l.scv(append([]string{"--home", long}, args...)...)
		if code == 0 || out != "" || !strings.Contains(errs, "107") || !strings.Contains(errs, "Next: ") || strings.Count(errs, "\n") > 2 {
			t.Errorf("scv %v: code %d, %q, %q", args, code, out, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(long, "state", "ledger.db")); err == nil {
		t.Error("a home that cannot serve was made")
	}
	// The longest path that the system takes serves.
	room := 107 - len("/state/server.sock") - len(l.base) - 1
	fits := filepath.Join(l.base, strings.Repeat("e", room))
	if out := l.ok("--home", fits, "jobs", "start", "--agent", "demo", "--wait", "@@say:fits"); out != "fits\n" {
		t.Errorf("it answered %q", out)
	}
	l.ok("--home", fits, "stop", "--all")
}

// TestT23_NamesAreNeverCommands: a folder, a prompt and a model with a shell's characters stay one argument each.
func TestT23_NamesAreNeverCommands(t *testing.T) {
	nasty := []string{"a; touch PWNED", "$(touch PWNED)", "`touch PWNED`", "two\nlines; touch PWNED", "-C", "--help", "| touch PWNED", "'\"; touch PWNED #"}
	l := newLab(t)
	l.agent("codex", `n=0; for a in "$@"; do n=$((n+1)); printf '%s\0' "$a"; done >"$here/argv"
printf '%s\0' "$PWD" >"$here/cwd"
`+codexBegins+"\n"+codexSays("ok")+"\n"+codexEnds)
	l.config("[agents.codex]\ncommand = \"" + filepath.Join(l.bin, "codex") + "\"\n[limits]\nmemory_floor_mb = 0\n")
	for _, name := range nasty {
		dir := filepath.Join(l.work, name)
		l.must(os.Mkdir(dir, 0o700))
		code, out, errs := l.scv("jobs", "start", "--wait", "--agent", "codex", "-C", dir, "--", name)
		if code != 0 {
			t.Errorf("%q: code %d: %s%s", name, code, out, errs)
			continue
		}
		argv, err := os.ReadFile(filepath.Join(l.bin, "argv"))
		l.must(err)
		args := strings.Split(strings.TrimSuffix(string(argv), "\x00"), "\x00")
		if last := args[len(args)-1]; last != name {
			t.Errorf("%q: the prompt came as %q in %q", name, last, args)
		}
		cwd, err := os.ReadFile(filepath.Join(l.bin, "cwd"))
		l.must(err)
		if got := strings.TrimSuffix(string(cwd), "\x00"); got != dir {
			t.Errorf("%q: it ran in %q", name, got)
		}
		for _, row := range []string{l.ok("jobs"), l.ok("jobs", "log", "@last")} {
			if strings.Contains(row, "two\nlines") {
				t.Errorf("a name breaks a row: %q", row)
			}
		}
	}
	for _, model := range []string{"$(touch PWNED)", "a b", "-x", "m\n"} {
		if code, _, errs := l.scv("jobs", "start", "--agent", "codex", "--model", model, "x"); code == 0 {
			t.Errorf("the model %q was taken: %s", model, errs)
		}
	}
	l.until("all have ended", func(v *wire.Snapshot) bool {
		for _, j := range v.Jobs {
			if !j.State.Final() {
				return false
			}
		}
		return true
	})
	for _, path := range names(t, l.base) {
		if filepath.Base(path) == "PWNED" {
			t.Errorf("%s was made", path)
		}
	}
}
