package shim_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const fakeAgentWord = "__fake-agent"

// fakeAgent is an agent whose behaviour is its arguments, done one after the other.
func fakeAgent(script []string) int {
	for _, line := range script {
		word, arg, _ := strings.Cut(line, " ")
		if code, ends := fakeStep(word, arg); ends {
			return code
		}
	}
	return 0
}

func fakeStep(word, arg string) (code int, ends bool) {
	switch word {
	case "say":
		fmt.Println(arg)
	case "complain":
		fmt.Fprintln(os.Stderr, arg)
	case "exit":
		code, _ := strconv.Atoi(arg)
		return code, true
	case "segv":
		// Go's runtime would turn the signal into an exit code, a shell does not.
		err := unix.Exec("/bin/sh", []string{"sh", "-c", "ulimit -c 0; kill -SEGV $$"}, nil)
		fmt.Println(err)
		return 1, true
	case "echo": // every line of its input, until it ends
		in := bufio.NewReader(os.Stdin)
		for {
			line, err := in.ReadString('\n')
			fmt.Print(line)
			if err != nil {
				fmt.Println("end of input")
				return 0, false
			}
		}
	case "readall":
		n, err := io.Copy(io.Discard, os.Stdin)
		fmt.Println("read", n, err)
	case "flood": // so many bytes, in numbered lines
		total, _ := strconv.Atoi(arg)
		out := bufio.NewWriterSize(os.Stdout, 1<<16)
		for n, i := 0, 0; n < total; i++ {
			m, err := fmt.Fprintf(out, "%d\n", i)
			if err != nil {
				return 3, true
			}
			n += m
		}
		_ = out.Flush()
	case "forkloop": // forks and exits for ever, in a new session each time
		fakeSpawn([]string{"forkloop"}, nil)
		return 0, true
	default:
		fakeStance(word, arg)
	}
	return 0, false
}

// fakeStance does the steps that always go on to the next.
func fakeStance(word, arg string) {
	switch word {
	case "closeout":
		_ = os.Stdout.Close()
	case "closein":
		_ = os.Stdin.Close()
	case "hang":
		waitForEver()
	case "await": // one line of its input
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	case "ignoreint":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	case "deaf": // ignores what can be ignored
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	case "spawn": // a child in its own session that holds the outputs, and its script
		fakeSpawn(strings.Split(arg, ";"), nil)
	case "spawnbare": // the same without our environment
		fakeSpawn(strings.Split(arg, ";"), []string{quickRace})
	case "orphan": // a grandchild whose parent is gone
		fakeSpawn([]string{"spawn " + strings.ReplaceAll(arg, ",", ";"), "exit 0"}, nil)
	case "print":
		fakePrint(arg)
	}
}

func waitForEver() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	<-c
}

func fakeSpawn(script, env []string) {
	cmd := exec.Command(os.Args[0], append([]string{fakeAgentWord}, script...)...)
	cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdout, os.Stderr, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		fmt.Println("spawn:", err)
	}
}

func fakePrint(what string) {
	switch what {
	case "env":
		for _, e := range os.Environ() {
			fmt.Println(e)
		}
	case "pids":
		fmt.Println("pids", os.Getpid(), os.Getppid(), unix.Getpgrp())
	case "fds":
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, e := range entries {
			if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
				fmt.Println("fd", e.Name(), target)
			}
		}
	case "blocking":
		for fd := range 3 {
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
			fmt.Println("fd", fd, "nonblock", flags&unix.O_NONBLOCK != 0, err)
		}
	case "size": // of its terminal, and again at each change of it
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGWINCH)
		for {
			w, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
			fmt.Println("size", w.Col, w.Row, err)
			<-c
		}
	case "signals":
		b, _ := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "SigIgn") {
				fmt.Print(line)
			}
		}
	case "oom":
		b, _ := os.ReadFile("/proc/self/oom_score_adj")
		fmt.Print("oom ", string(b))
	}
}
