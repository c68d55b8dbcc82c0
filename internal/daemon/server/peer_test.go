package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"scv/internal/testkit/need"
)

// peerMain is what this test binary does as a peer of another test: it shakes hands, asks for the daemon's end and
// prints all that it got. Another command than that comes by the environment. Exit code 3 means that it could not connect.
func peerMain(socket string) int {
	nc, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Println(err)
		return 3
	}
	defer nc.Close()
	// A refused peer may be cut off before it wrote all; what it reads decides.
	command := os.Getenv("SCV_TEST_COMMAND")
	if command == "" {
		command = `{"action":"daemon_stop"}`
	}
	_, _ = io.WriteString(nc, hello+"\n"+`{"type":"daemon.control","request_id":"s","command":`+command+"}\n")
	_ = nc.(*net.UnixConn).CloseWrite()
	in := bufio.NewReader(nc)
	for {
		line, err := in.ReadString('\n')
		fmt.Print(line)
		if err != nil {
			return 0
		}
	}
}

// runPeer runs this test binary as a peer.
func runPeer(t *testing.T, b *bench, change func(*exec.Cmd)) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "SCV_TEST_PEER="+b.socket)
	cmd.Dir = "/"
	change(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("peer: %v\n%s", err, out)
	}
	return string(out)
}

// TestT15_OtherUsersAreClosedWithoutAByte: through a tree that anybody may enter.
func TestT15_OtherUsersAreClosedWithoutAByte(t *testing.T) {
	need.Root(t)
	b := newBench(t, setup{})
	for _, path := range []string{filepath.Dir(b.socket), b.socket} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(filepath.Dir(b.socket), "peer")
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, data, 0o755); err != nil {
		t.Fatal(err)
	}
	out := runPeer(t, b, func(cmd *exec.Cmd) {
		cmd.Path, cmd.Args = copied, []string{copied}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	})
	if out != "" {
		t.Errorf("another user got %q", out)
	}
	log := b.log.String()
	if !strings.Contains(log, "uid=65534") || strings.Contains(log, "pid=") {
		t.Errorf("the log does not say the uid only: %s", log)
	}
	select {
	case <-b.stopped:
		t.Error("another user ended the daemon")
	default:
	}
}

// TestT52_AgentsCannotEndTheDaemon: neither by the marker in the environment, nor below a shim with the marker unset.
func TestT52_AgentsCannotEndTheDaemon(t *testing.T) {
	b := newBench(t, setup{})
	out := runPeer(t, b, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "SCV_RUN=codex-abcdef") })
	if !strings.Contains(out, `"workbench_error"`) || !strings.Contains(out, `"reason":"refused"`) || len(b.stopped) > 0 {
		t.Errorf("with the marker: %s", out)
	}
	if runtime.GOOS == "linux" {
		out = belowShim(t, b)
		if !strings.Contains(out, `"reason":"refused"`) || len(b.stopped) > 0 {
			t.Errorf("below a shim: %s", out)
		}
	}
	out = runPeer(t, b, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "SCV_RUN=") })
	if !strings.Contains(out, `"daemon.status"`) {
		t.Errorf("the owner: %s", out)
	}
	<-b.stopped
}

// TestT52_ACommandOfTheDaemonsOwnCannotEndIt: nor one that has no marker in its environment.
func TestT52_ACommandOfTheDaemonsOwnCannotEndIt(t *testing.T) {
	b := newBench(t, setup{own: true})
	out := runPeer(t, b, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "SCV_RUN=") })
	if !strings.Contains(out, `"reason":"refused"`) || len(b.stopped) > 0 {
		t.Errorf("a child of the daemon: %s", out)
	}
}

// belowShim runs the peer as a grandchild of a process that is called as a shim is, in a session of its own.
func belowShim(t *testing.T, b *bench) string {
	t.Helper()
	shell := need.Program(t, "sh")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(b.dir, shimName)
	if err := os.Symlink(shell, link); err != nil {
		t.Fatal(err)
	}
	return runPeer(t, b, func(cmd *exec.Cmd) {
		cmd.Path, cmd.Args = link, []string{shimName, "-c", "(" + shell + ` -c '"$0"; true' ` + exe + "); true"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	})
}
