// Package shell holds the tool that runs a command of the model in bash, with what the agents' processes inherit of the
// environment, a time limit, bounded output, and an end of everything it started.
package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/wire"
)

// Settings bound a command.
type Settings struct {
	Environ []string      // of the commands, already picked from the daemon's
	Timeout time.Duration // when a call names none; 0 is 600 s
	Most    time.Duration // that a call may name; 0 is 14,400 s
	Output  int           // bytes of the combined output that are kept; 0 is 64 KiB
}

// What is waited for between the polite end of a command and its killing, and for output that a child holds open.
const (
	grace = 2 * time.Second
	drain = 200 * time.Millisecond
)

type bash struct{ Settings }

// Bash returns the tool.
func Bash(s Settings) tool.Tool {
	if s.Timeout <= 0 {
		s.Timeout = 600 * time.Second
	}
	if s.Most <= 0 {
		s.Most = 14400 * time.Second
	}
	if s.Output <= 0 {
		s.Output = 64 << 10
	}
	return bash{s}
}

type arguments struct {
	Command string `json:"command"`
	Dir     string `json:"dir"`
	Timeout int    `json:"timeout_seconds"`
}

// Spec implements tool.Tool.
func (bash) Spec() provider.Tool {
	return provider.Tool{
		Name: "bash", Description: "Run a command with /bin/bash -lc in the workspace. It has no input; whatever it leaves in the " +
			"background is ended with it. The result is its output, both streams together, and how it ended.",
		Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},` +
			`"dir":{"type":"string","description":"relative to the workspace"},"timeout_seconds":{"type":"integer","minimum":1}},` +
			`"required":["command"],"additionalProperties":false}`),
	}
}

// Parallel implements tool.Tool.
func (bash) Parallel() bool { return false }

// Risk implements tool.Tool.
func (b bash) Risk(args json.RawMessage) (tool.Assessment, error) {
	a, err := b.decode(args)
	return tool.Assessment{Risk: tool.Process, Summary: a.Command, Command: a.Command}, err
}

func (b bash) decode(args json.RawMessage) (arguments, error) {
	var a arguments
	if err := tool.Decode(args, &a); err != nil {
		return a, err
	}
	refuse := func(sentence string) (arguments, error) {
		return a, &tool.Failure{Kind: wire.ToolInvalidArguments, Sentence: sentence}
	}
	switch {
	case strings.TrimSpace(a.Command) == "" || strings.ContainsRune(a.Command, 0):
		return refuse("command is empty or holds a zero byte.")
	case a.Timeout < 0 || time.Duration(a.Timeout) > b.Most/time.Second:
		return refuse(fmt.Sprintf("timeout_seconds is at most %d.", int(b.Most.Seconds())))
	case a.Dir != "" && !filepath.IsLocal(a.Dir):
		return refuse("dir leads out of the workspace. Use one relative to it.")
	}
	return a, nil
}

// Run implements tool.Tool.
func (b bash) Run(ctx context.Context, args json.RawMessage, env tool.Env) tool.Result {
	a, err := b.decode(args)
	if err != nil {
		return tool.Failed(err)
	}
	limit := b.Timeout
	if a.Timeout > 0 {
		limit = time.Duration(a.Timeout) * time.Second
	}
	room := b.Output
	if env.Limit > 0 {
		room = min(room, env.Limit)
	}
	out := &output{room: room, progress: env.Progress}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(within, "/bin/bash", "-lc", a.Command)
	cmd.Dir, cmd.Env = filepath.Join(env.Dir, a.Dir), b.Environ
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = grace + drain
	var killer *time.Timer
	cmd.Cancel = func() error {
		killer = time.AfterFunc(grace, func() { kill(cmd.Process.Pid) })
		return end(cmd.Process.Pid)
	}
	err = cmd.Run()
	if killer != nil {
		killer.Stop() // the number may soon be another's
	}
	if cmd.Process != nil {
		kill(cmd.Process.Pid) // nothing of the command outlives the call
	}
	return b.result(ctx, within, out, limit, err)
}

// end asks the command's group to leave.
func end(group int) error {
	err := syscall.Kill(-group, syscall.SIGTERM)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// kill ends a group at once. One that is gone is what is wanted.
func kill(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

func (b bash) result(ctx, within context.Context, out *output, limit time.Duration, err error) tool.Result {
	text, cut := out.text()
	r := tool.Result{Text: text, Truncated: cut}
	add := func(kind wire.ToolErrorKind, sentence string) tool.Result {
		if r.Text != "" && !strings.HasSuffix(r.Text, "\n") {
			r.Text += "\n"
		}
		r.Text, r.Error = r.Text+sentence, kind
		return r
	}
	if ctx.Err() != nil {
		return add(wire.ToolCancelled, "[cancelled]")
	}
	if within.Err() != nil {
		return add(wire.ToolLimit, fmt.Sprintf("[ended after its time limit of %s]", limit))
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return add(wire.ToolErrorFailed, "[ended by the signal "+status.Signal().String()+"]")
		}
		return add(wire.ToolErrorFailed, fmt.Sprintf("[exit status %d]", exit.ExitCode()))
	}
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // a child held the output open; the command itself is done
	case err != nil:
		return add(wire.ToolUnavailable, "bash cannot be started: "+plain.Line(err.Error())+".")
	}
	if r.Text == "" {
		r.Text = "[exit status 0, no output]"
	}
	return r
}
