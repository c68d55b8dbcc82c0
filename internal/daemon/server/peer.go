package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"scv/internal/wire"
)

// shimName begins the process name of every shim, which is an ancestor of all that a run starts, however it forks.
const shimName = "agent-shim"

// runMarker begins the entry in the environment of every process that a run starts.
const runMarker = "SCV_RUN="

// maxAncestry bounds the walk to the first process.
const maxAncestry = 256

var errProc = errors.New("unreadable process record")

// A peer is the process at the other end of a connection, as the kernel told.
type peer struct {
	uid uint32
	pid int
}

// peerOf asks for the process behind conn. A connection without credentials, such as a pipe in a test, has none.
func peerOf(conn net.Conn) (peer, bool, error) {
	uc, ok := conn.(*net.UnixConn)
	if !ok {
		return peer{}, false, nil
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return peer{}, false, err
	}
	var p peer
	var inner error
	if err := raw.Control(func(fd uintptr) { p, inner = credentials(int(fd)) }); err != nil {
		return peer{}, false, err
	}
	return p, inner == nil, inner
}

// insideRun reports whether a process belongs to a run of an agent (security.md section 6): by the marker in its
// environment, or by a shim among its ancestors. What the daemon itself lives inside does not count, so that SCV can be
// worked on with SCV. An error means that it cannot be told, and the caller refuses.
//
// The run's name comes from the outermost shim, which an agent can neither rename nor put another one above; from the
// marker only when there is no shim. It is empty when neither is a run's.
func insideRun(pid int) (inside bool, run wire.RunHandle, err error) {
	theirs, err := traces(pid)
	if err != nil {
		return false, "", fmt.Errorf("look at process %d: %w", pid, err)
	}
	if len(theirs) == 0 {
		return false, "", nil
	}
	ours, err := traces(os.Getpid())
	if err != nil {
		return false, "", fmt.Errorf("look at the daemon's own process: %w", err)
	}
	for _, t := range theirs { // the marker first, then the shims, the outermost last
		if !slices.Contains(ours, t) {
			inside, run = true, t.names()
		}
	}
	return inside, run, nil
}

// A trace shows that a process lives inside a run: its marker, or a shim above it.
type trace struct {
	marker string // the run that the environment names
	shim   int    // else the shim's process
}

// names is the run of a trace; empty when it is none.
func (t trace) names() wire.RunHandle {
	name := t.marker
	if t.shim != 0 {
		args, err := arguments(t.shim)
		if err != nil || len(args) != 2 {
			return ""
		}
		name = string(args[1])
	}
	h, err := wire.ParseRunHandle(name)
	if err != nil {
		return ""
	}
	return h
}

// traces lists what shows that a process lives inside runs.
func traces(pid int) ([]trace, error) {
	env, err := environ(pid)
	if err != nil {
		return nil, err
	}
	var found []trace
	for _, entry := range env {
		if name, ok := strings.CutPrefix(string(entry), runMarker); ok && name != "" {
			found = append(found, trace{marker: name})
		}
	}
	for range maxAncestry {
		name, ppid, err := parent(pid)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, shimName) {
			found = append(found, trace{shim: pid})
		}
		if ppid <= 1 {
			return found, nil
		}
		pid = ppid
	}
	return nil, errProc
}
