package fakeagent

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// play does the steps behind the prompt's last "@@", divided by "|"; a prompt without a script is answered "ok".
func (p *player) play(history []string) int {
	script := "say:ok"
	if at := strings.LastIndex(p.prompt, "@@"); at >= 0 {
		script, _, _ = strings.Cut(p.prompt[at+2:], "\n")
	}
	for part := range strings.SplitSeq(script, "|") {
		verb, arg, _ := strings.Cut(strings.TrimSpace(part), ":")
		if code, left := p.step(verb, arg, history); left {
			return code
		}
	}
	p.voice.end(p)
	return 0
}

// step plays one step; left is true when the process leaves with the code. Of a good agent:
//
//	say:TEXT  tool:CMD  toolfail:N:CMD  deny:CMD  retry:TEXT  sleep:MS  lines:N  bytes:N
//	count:N:MS:PAD numbered messages "n 1." and so on, MS apart, each with PAD bytes more
//	diary:TAG adds a line with TAG to the file diary of its home, durably
//	shell:CMD runs a command for real    hist answers the prompts so far   echo the prompt's length and digest
//	env, argv answer the environment and the command line
//	fail:TEXT auth quota model network refuse end the turn
//
// Of a bad one:
//
//	exit:N leaves without a final event    stderr:TEXT    hang    crash kills itself    segv: SIGSEGV
//	noline:N writes N bytes and no line feed    junk writes NUL, broken UTF-8 and no JSON
//	stubborn ignores SIGINT and SIGTERM    closeout closes its output and lives on
//	witness does too, and notes each in the diary
//	eat takes memory until there is no more, or 8 GiB
//	fork:S leaves a process of its own session behind that holds its output for S seconds
func (p *player) step(verb, arg string, history []string) (code int, left bool) {
	n, _ := strconv.Atoi(arg)
	switch verb {
	case "fail":
		p.voice.fail("", arg)
		return 1, true
	case "auth", "quota", "model", "network", "refuse":
		p.voice.fail(verb, "the fake agent's reason is "+verb)
		return 1, true
	case "exit":
		return n, true
	}
	if !p.good(verb, arg, n, history) && !p.bad(verb, arg, n) {
		fmt.Fprintf(p.stderr, "fakeagent: unknown step %q\n", verb)
		return 2, true
	}
	return 0, false
}

func (p *player) good(verb, arg string, n int, history []string) bool {
	switch verb {
	case "say":
		p.voice.say(arg)
	case "tool":
		p.voice.tool(arg, 0)
	case "toolfail":
		exit, command, _ := strings.Cut(arg, ":")
		code, _ := strconv.Atoi(exit)
		p.voice.tool(command, code)
	case "deny":
		p.voice.deny(arg)
	case "retry":
		p.voice.retry(arg)
	case "sleep":
		wait(time.Duration(n) * time.Millisecond)
	case "lines":
		for i := range n {
			p.voice.say("line " + strconv.Itoa(i+1))
		}
	case "count":
		p.count(arg)
	case "diary":
		if err := note(arg); err != nil {
			fmt.Fprintln(p.stderr, "fakeagent:", err)
		}
	case "bytes":
		p.voice.say(strings.Repeat("0123456789", n/10+1)[:n])
	case "shell":
		out, err := exec.Command("sh", "-c", arg).CombinedOutput()
		p.voice.tool(arg, exitCode(err))
		p.voice.say(string(out))
	case "hist":
		p.voice.say(fmt.Sprintf("%d: %s", len(history), strings.Join(history, " ; ")))
	case "echo":
		p.voice.say(fmt.Sprintf("%d bytes, sha256 %x", len(p.prompt), sha256.Sum256([]byte(p.prompt))))
	case "env":
		p.voice.say(strings.Join(os.Environ(), "\n"))
	case "argv":
		p.voice.say(strings.Join(p.args, "\n"))
	default:
		return false
	}
	return true
}

func (p *player) count(arg string) {
	var n, pause, pad int
	_, _ = fmt.Sscanf(arg, "%d:%d:%d", &n, &pause, &pad) // what is missing is 0
	for i := range n {
		p.voice.say(fmt.Sprintf("n %d. %s", i+1, strings.Repeat("x", pad)))
		if pause > 0 {
			wait(time.Duration(pause) * time.Millisecond)
		}
	}
}

// note is what the fake keeps for itself of its life, so that a test need not believe anybody's log.
func note(tag string) error {
	f, err := os.OpenFile(filepath.Join(os.Getenv("HOME"), "diary"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(tag + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}

func (p *player) bad(verb, arg string, n int) bool {
	switch verb {
	case "stderr":
		fmt.Fprintln(p.stderr, arg)
	case "hang":
		wait(24 * time.Hour)
	case "crash":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		wait(24 * time.Hour)
	case "segv":
		// A Go program handles the signal itself, so another one takes this process's place.
		fmt.Fprintln(p.stderr, "fakeagent:", syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -SEGV $$"}, os.Environ()))
	case "noline":
		for left := n; left > 0; left -= 1 << 16 {
			fmt.Fprint(p.stdout, strings.Repeat("0123456789abcdef", 1<<12)[:min(left, 1<<16)])
		}
	case "junk":
		fmt.Fprint(p.stdout, "\x00\x01\xff\xfe no JSON \x1b[31m\n")
	case "stubborn":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	case "witness":
		signals := make(chan os.Signal, 8)
		signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
		go p.witness(signals)
	case "closeout":
		if out, ok := p.stdout.(io.Closer); ok {
			_ = out.Close()
		}
		wait(24 * time.Hour)
	case "eat":
		const bite, enough = 1 << 20, 8 << 10
		for eaten := make([][]byte, 0, enough); len(eaten) < enough; {
			eaten = append(eaten, bytes.Repeat([]byte{1}, bite))
		}
	case "fork":
		// The inner shell ends at once, so the sleeper's parent is gone; setsid takes it out of the group.
		command := exec.Command("sh", "-c", fmt.Sprintf("(setsid sleep %d &)", max(n, 1)))
		command.Stdout = p.stdout
		if err := command.Run(); err != nil {
			fmt.Fprintln(p.stderr, "fakeagent:", err)
		}
	default:
		return false
	}
	return true
}

// witness keeps in the diary which signals came.
func (p *player) witness(signals <-chan os.Signal) {
	for s := range signals {
		if err := note("signal " + s.String()); err != nil {
			fmt.Fprintln(p.stderr, "fakeagent:", err)
		}
	}
}

func wait(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	return 127
}
