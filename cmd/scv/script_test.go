//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"scv/internal/testkit/census"
	"scv/internal/testkit/fakemodel"
)

// The acceptance scripts of testdata/script drive the real program, built once. Each has a home of its own, short
// enough for a socket, and leaves no process behind: that is looked at after each.
//
// Beside testscript's own commands a script has:
//
//	code N PROGRAM ARGS...   run it and want exit code N
//	fake NAME                make an agent program NAME that reads its part from the file NAME.sh
//	size FILE N              make a file of N bytes
//	freeze, thaw, crash      SIGSTOP, SIGCONT, SIGKILL for the home's daemon
//	model                    a model service of the test, which the home's configuration is made to use
//	gone WORD                no process has the home's mark and WORD in its command line

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "scvbin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	args := []string{"build", "-o", filepath.Join(dir, "scv")}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build scv:", err)
		return 1
	}
	os.Setenv("SCV_TEST_BIN", dir)
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each command of a script waits a second before it leaves
	return census.Main(m)
}

func TestScript(t *testing.T) {
	testscript.Run(t, params(filepath.Join("..", "..", "testdata", "script")))
}

// params are those of every folder of scripts.
func params(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		Setup:               setup,
		RequireExplicitExec: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code": code, "fake": fake, "size": size, "gone": gone, "model": model,
			"freeze": signalDaemon(syscall.SIGSTOP), "thaw": signalDaemon(syscall.SIGCONT), "crash": signalDaemon(syscall.SIGKILL),
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Getuid() == 0, nil
			case "race":
				return raceEnabled, nil
			}
			return false, fmt.Errorf("unknown condition %s", cond)
		},
	}
}

// setup gives a script its home and sees to it that nothing of it is left.
func setup(env *testscript.Env) error {
	base, err := os.MkdirTemp("", "k")
	if err != nil {
		return err
	}
	home := filepath.Join(base, "h")
	bin := filepath.Join(base, "bin")
	for _, dir := range []string{bin, filepath.Join(base, "t"), filepath.Join(base, "u")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	scv := os.Getenv("SCV_TEST_BIN")
	env.Setenv("SCV_HOME", home)
	env.Setenv("HOME", filepath.Join(base, "u"))
	env.Setenv("TMPDIR", filepath.Join(base, "t"))
	env.Setenv("BIN", bin)
	env.Setenv("PATH", scv+":"+bin+":/usr/local/bin:/usr/bin:/bin")
	env.Setenv("TERM", "dumb")
	env.Setenv("TZ", "UTC")
	env.Setenv("GORACE", os.Getenv("GORACE"))
	t := env.T()
	env.Defer(func() {
		cmd := exec.Command(filepath.Join(scv, "scv"), "stop", "--all")
		cmd.Env = append(os.Environ(), "SCV_HOME="+home)
		thaw(home)
		if _, err := os.Stat(home); err == nil {
			if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(string(out), "SCV_HOME") {
				t.Log("scv stop --all: ", err, "\n", string(out))
			}
		}
		left := census.Left(base)
		for _, what := range left {
			t.Log("left behind: ", what)
		}
		if err := exec.Command("chmod", "-R", "u+rwX", base).Run(); err != nil {
			t.Log(err)
		}
		if err := os.RemoveAll(base); err != nil {
			t.Log(err)
		}
		if len(left) > 0 {
			t.Fatal("a script left something behind")
		}
	})
	return nil
}

// model serves a scripted model until the script ends, and writes a configuration that uses it.
func model(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: model")
	}
	server := httptest.NewServer(fakemodel.New(nil))
	ts.Defer(server.Close)
	home := ts.Getenv("SCV_HOME")
	ts.Check(os.MkdirAll(home, 0o700))
	text := fmt.Sprintf("[provider]\nkind = \"openai\"\nbase_url = %q\nmodel = \"fake\"\napi_key = \"sk-test-0123456789abcdef\"\n[agent]\nprefer = [\"demo\"]\n", server.URL+"/v1")
	ts.Check(os.WriteFile(filepath.Join(home, "config.toml"), []byte(text), 0o600))
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		if got = e.ExitCode(); got < 0 && e.Sys().(syscall.WaitStatus).Signaled() {
			got = 128 + int(e.Sys().(syscall.WaitStatus).Signal())
		}
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%v: exit code %d, want %d", args[1:], got, want)
	}
}

func fake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fake NAME")
	}
	body := ts.ReadFile(args[0] + ".sh")
	path := filepath.Join(ts.Getenv("BIN"), args[0])
	ts.Check(os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700))
}

func size(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: size FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat([]byte("x"), n), 0o600))
}

func gone(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: gone WORD")
	}
	found := ""
	for pid, line := range census.Processes(filepath.Dir(ts.Getenv("SCV_HOME"))) {
		if strings.Contains(line, args[0]) && (neg || !census.Leaves(pid)) {
			found = line
		}
	}
	if (found == "") == neg {
		ts.Fatalf("gone %s: found %q", args[0], found)
	}
}

func signalDaemon(sig syscall.Signal) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, _ []string) {
		pid, err := daemonPID(ts.Getenv("SCV_HOME"))
		ts.Check(err)
		ts.Check(syscall.Kill(pid, sig))
		for sig == syscall.SIGSTOP && !stopped(pid) { // the signal is sent, and takes effect in its own time
			runtime.Gosched()
		}
	}
}

// stopped reports whether every thread of a process is stopped.
func stopped(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(stats) == 0 {
		return true // it is gone
	}
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err == nil && !strings.HasPrefix(string(data[strings.LastIndexByte(string(data), ')')+1:]), " T") {
			return false
		}
	}
	return true
}

func daemonPID(home string) (int, error) {
	data, err := os.ReadFile(filepath.Join(home, "state", "server.lock"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

// thaw lets a daemon that a failed script left frozen go on, so that it can be stopped.
func thaw(home string) {
	for pid, line := range census.Processes(home) {
		if strings.Contains(line, "run --background") {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}
