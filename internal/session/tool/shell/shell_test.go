package shell_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"scv/internal/session/tool"
	"scv/internal/session/tool/shell"
	"scv/internal/wire"
)

func run(t *testing.T, ctx context.Context, s shell.Settings, command string, more string, env tool.Env) tool.Result {
	t.Helper()
	if s.Environ == nil {
		s.Environ = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	}
	quoted, err := json.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	args := json.RawMessage(`{"command":` + string(quoted) + more + `}`)
	b := shell.Bash(s)
	assessed, err := b.Risk(args)
	if err != nil {
		return tool.Failed(err)
	}
	if assessed.Risk != tool.Process || assessed.Command != command {
		t.Errorf("%+v", assessed)
	}
	return b.Run(ctx, args, env)
}

func TestBash_SaysWhatItDidAndHowItEnded(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := tool.Env{Dir: dir, Limit: 1 << 16}
	for _, c := range []struct {
		command, more, text string
		kind                wire.ToolErrorKind
	}{
		{"echo out; echo err >&2", "", "out\nerr\n", ""},
		{"pwd", `,"dir":"sub"`, filepath.Join(dir, "sub") + "\n", ""},
		{"true", "", "[exit status 0, no output]", ""},
		{"echo x; exit 3", "", "x\n[exit status 3]", wire.ToolErrorFailed},
		{"kill -9 $$", "", "[ended by the signal killed]", wire.ToolErrorFailed},
		{"cat", "", "[exit status 0, no output]", ""}, // nothing to read, nothing to wait for
		{"echo $SECRET", "", "\n", ""},
		{"sleep 1000", `,"timeout_seconds":1`, "[ended after its time limit of 1s]", wire.ToolLimit},
		{"trap '' TERM; sleep 1000 & wait", `,"timeout_seconds":1`, "[ended after its time limit of 1s]", wire.ToolLimit},
		{" ", "", "command is empty or holds a zero byte.", wire.ToolInvalidArguments},
		{"x", `,"timeout_seconds":99999`, "timeout_seconds is at most 14400.", wire.ToolInvalidArguments},
		{"x", `,"dir":"../.."`, "dir leads out of the workspace. Use one relative to it.", wire.ToolInvalidArguments},
	} {
		t.Setenv("SECRET", "of the daemon")
		if r := run(t, t.Context(), shell.Settings{}, c.command, c.more, env); r.Text != c.text || r.Error != c.kind {
			t.Errorf("%s%s: %q (%s)", c.command, c.more, r.Text, r.Error)
		}
	}
}

func TestBash_KeepsBothEndsOfMuchOutput(t *testing.T) {
	r := run(t, t.Context(), shell.Settings{Output: 1000}, "echo begin; seq 1 200000; echo finish", "", tool.Env{Dir: t.TempDir(), Limit: 1 << 16})
	if !r.Truncated || !strings.HasPrefix(r.Text, "begin\n1\n") || !strings.HasSuffix(r.Text, "200000\nfinish\n") || !strings.Contains(r.Text, "bytes left out]") {
		t.Errorf("%d bytes: %.60q ... %q", len(r.Text), r.Text, r.Text[max(0, len(r.Text)-60):])
	}
	if len(r.Text) > 1100 {
		t.Errorf("%d bytes", len(r.Text))
	}
}

// TestBash_LeavesNothingBehind cancels a command whose child ignores the polite signal, and ends one that left a child.
func TestBash_LeavesNothingBehind(t *testing.T) {
	for _, cancelled := range []bool{true, false} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		command := "(trap '' TERM; sleep 1000) & echo $! > child; echo ready"
		var once sync.Once
		env := tool.Env{Dir: dir, Limit: 1 << 16}
		if cancelled {
			command += "; wait"
			env.Progress = func(string) { once.Do(cancel) }
		}
		r := run(t, ctx, shell.Settings{}, command, "", env)
		if want := map[bool]wire.ToolErrorKind{true: wire.ToolCancelled, false: ""}[cancelled]; r.Error != want {
			t.Errorf("%q (%s)", r.Text, r.Error)
		}
		data, err := os.ReadFile(filepath.Join(dir, "child"))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		// The system takes a moment to bury what was killed.
		for alive(pid) && t.Context().Err() == nil {
			<-time.After(5 * time.Millisecond)
		}
	}
}

// alive reports a process that is there and no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
