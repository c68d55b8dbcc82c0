package run

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// fakeAgent plays the prompt, which is a script of lines; lines that are no command are said.
func fakeAgent(args []string, in io.Reader, out, errw *os.File) int {
	if len(args) > 0 && args[0] == "live" {
		return fakeLive(in, out, errw)
	}
	prompt, err := io.ReadAll(in)
	if err != nil {
		return 9
	}
	fmt.Fprintf(out, "say got %d %x\n", len(prompt), sha256.Sum256(prompt))
	return play(string(prompt), out, errw, nil)
}

func play(script string, out, errw *os.File, cancelled <-chan struct{}) int {
	for line := range strings.Lines(script) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, _ := strconv.Atoi(rest)
		switch word {
		case "lines":
			numbered(out, n, 0)
		case "slow":
			numbered(out, n, time.Millisecond)
		case "count":
			count(out, rest)
		case "big": // lines of 10 KB, not logged
			for range n {
				fmt.Fprintln(out, "noise "+strings.Repeat("x", 10<<10))
			}
		case "long":
			piece := strings.Repeat("x", 1<<20)
			for range n {
				_, _ = out.WriteString(piece)
			}
			_, _ = out.WriteString("\n")
		case "err":
			fmt.Fprintln(errw, rest)
		case "env":
			env := os.Environ()
			sort.Strings(env)
			for _, entry := range env {
				fmt.Fprintln(out, "say "+entry)
			}
		case "exit":
			return n
		case "kill":
			_ = syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -" + rest + " $$"}, nil)
		case "stubborn":
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		case "hang":
			if cancelled != nil {
				<-cancelled
				fmt.Fprintln(out, "interrupted")
				continue
			}
			<-time.After(time.Hour)
		case "until": // a file is there
			for {
				if _, err := os.Stat(rest); err == nil {
					break
				}
				<-time.After(time.Millisecond)
			}
		case "listen":
			if err := listen(rest); err != nil {
				return 7
			}
		case "tool", "done", "fail", "say", "id":
			fmt.Fprint(out, line)
		}
	}
	return 0
}

func numbered(out *os.File, n int, pause time.Duration) {
	for i := range n {
		fmt.Fprintf(out, "say line %d\n", i+1)
		<-time.After(pause)
	}
}

// listen waits for connections as long as the process lives.
func listen(at string) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return err
	}
	outer := raw.Control(func(fd uintptr) { _, err = syscall.Dup(int(fd)) }) // which nobody closes
	return errors.Join(outer, err)
}

// count says numbered lines until a file is there.
func count(out *os.File, path string) {
	for i := 1; ; i++ {
		fmt.Fprintf(out, "say number %d\n", i)
		if _, err := os.Stat(path); err == nil {
			return
		}
		<-time.After(3 * time.Millisecond)
	}
}

func fakeLive(in io.Reader, out, errw *os.File) int {
	fmt.Fprintln(out, "ready")
	cancels := make(chan struct{}, 1)
	turns := make(chan string)
	go func() {
		defer close(turns)
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			word, rest, _ := strings.Cut(lines.Text(), " ")
			if word == "cancel" {
				cancels <- struct{}{}
				continue
			}
			var prompt string
			_, text, _ := strings.Cut(rest, " ")
			if json.Unmarshal([]byte(text), &prompt) != nil {
				os.Exit(8)
			}
			turns <- prompt
		}
	}()
	for prompt := range turns {
		if code := play(prompt, out, errw, cancels); code != 0 {
			return code
		}
		fmt.Fprintln(out, "done")
		switch {
		case strings.Contains(prompt, "leave\n"): // once a file says so, between two turns
			play("until go\n", out, errw, nil)
			return 0
		case strings.Contains(prompt, "deaf\n"): // to the end of its input
			<-time.After(time.Hour)
		}
	}
	return 0
}
