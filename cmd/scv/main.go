// Command scv runs coding agents as durable jobs. One file is the command line, the daemon, the shim that owns an
// agent's process, and the demo agent; main decides which by the arguments, the shim before anything heavy. The question
// for the version is answered before main (quick).
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"scv/internal/agent/demo/player"
	"scv/internal/failpoint"
	"scv/internal/quick"
	"scv/internal/run/shim"
	"scv/internal/ui/cli"
)

func main() {
	if shim.IsShim(os.Args) {
		os.Exit(shim.Main(os.Args))
	}
	if len(os.Args) > 1 && os.Args[1] == player.Argument {
		os.Exit(playDemo(os.Args[2:]))
	}
	os.Exit(commandLine())
}

// commandLine runs until its command ends. The first interrupt ends the command in order, a second one at once.
func commandLine() int {
	exe, err := os.Executable()
	if err != nil {
		fmt.Fprintf(os.Stderr, "scv: this program cannot find itself: %v. Next: start it by its full path\n", err)
		return 1
	}
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop)
	return cli.Main(ctx, os.Args[1:], cli.System{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Exe: exe, Version: quick.Version, Now: failpoint.Now,
	})
}

// playDemo is the demo agent.
func playDemo(args []string) int {
	return player.Player{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, After: time.After,
		Spawn: func(seconds int) error {
			cmd := exec.Command("sleep", strconv.Itoa(seconds))
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			return cmd.Start()
		},
		Self: func(args []string) (string, int) {
			exe, err := os.Executable()
			if err != nil {
				return err.Error(), -1
			}
			cmd := exec.Command(exe, args...)
			output, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil {
				return err.Error(), -1
			}
			return string(output), cmd.ProcessState.ExitCode()
		},
		Write: func(name, text string) error {
			root, err := os.OpenRoot(".")
			if err != nil {
				return err
			}
			defer root.Close()
			return root.WriteFile(name, []byte(text), 0o644)
		},
	}.Run(args)
}
