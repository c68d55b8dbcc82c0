package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"scv/internal/run/proc"
	"scv/internal/wire"
)

// shimName begins the process name of every shim, which is an ancestor of all that a run starts, however it forks.
const shimName = "agent-shim"

// runMarker begins the entry in the environment of every process that a run starts.
const runMarker = "SCV_RUN="

// Bounds of the walk to the first process, and of what is remembered of such walks.
const (
	maxAncestry = 256
	maxKnown    = 1024
)

var errProc = errors.New("unreadable process record")

// A peer is the process at the other end of a connection, as the kernel told.
type peer struct {
	uid  uint32
	pid  int
	born birth // zero when the kernel cannot tell whether the number still names that process
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

// A birth tells a process from another one that has its number at another time: by what the kernel never uses twice, or
// by the time of its start.
type birth struct{ inode, start uint64 }

// A link is one process in a chain of parents.
type link struct {
	pid, ppid int
	born      birth
	name      string // empty when it was not looked at yet
}

// childOf reports whether a process that was looked at as the parent of another was that, and not a later one with the
// number of a parent that ended meanwhile: a parent is older than its children, or else the child names it still.
func (l link) childOf(parent link) (bool, error) {
	if l.born.start != 0 && parent.born.start != 0 {
		return parent.born.start <= l.born.start, nil
	}
	again, err := look(l.pid)
	if err != nil {
		return false, err
	}
	return again.born == l.born && again.ppid == parent.pid, nil
}

// A lineage tells which processes belong to runs. It remembers those above which there is no shim, so that a shell is
// looked at once and not with each command from it: for as long as a process lives that stays so, since an orphan's new
// parent is one that it descended from before. Any goroutine may use it.
//
// What the daemon itself started belongs to no owner either: the commands of its sessions' models and the programs of
// their servers, whatever their environment says.
type lineage struct {
	daemon int // the process whose children are such; 0 for none

	mu    sync.Mutex
	clear map[int]birth // neither these nor what they descend from are shims
}

// inside reports whether a process belongs to a run of an agent (security.md section 6): by the marker in its
// environment, by a shim among its ancestors, or by the daemon among them. What the daemon itself lives inside does not
// count, so that SCV can be worked on with SCV. An error means that it cannot be told, and the caller refuses.
//
// The run's name comes from the outermost shim, which an agent can neither rename nor put another one above. Whose marker a
// process carries, it chose itself: without a shim it is inside, of no run, and owns nothing.
func (l *lineage) inside(p peer) (inside bool, run wire.RunHandle, err error) {
	theirs, err := l.traces(p)
	if err != nil {
		return false, "", fmt.Errorf("look at process %d: %w", p.pid, err)
	}
	if len(theirs) == 0 {
		return false, "", nil
	}
	ours, err := l.traces(peer{pid: os.Getpid()})
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
	daemon bool   // else the daemon itself is above it, without a shim between
}

// names is the run of a shim; empty for a marker, and for what only looks like a shim.
func (t trace) names() wire.RunHandle {
	if t.shim == 0 {
		return ""
	}
	args, err := arguments(t.shim)
	if err != nil || len(args) != 2 {
		return ""
	}
	h, err := wire.ParseRunHandle(string(args[1]))
	if err != nil {
		return ""
	}
	return h
}

// traces lists what shows that a process lives inside runs. A client itself is never a shim, so what counts of it is
// its environment and what is above it.
func (l *lineage) traces(p peer) ([]trace, error) {
	env, err := environ(p.pid)
	if err != nil {
		return nil, err
	}
	// Whoever has the number now also had it when the environment was read, if it is the one that connected.
	child, err := look(p.pid)
	if err != nil {
		return nil, err
	}
	if p.born != (birth{}) && child.born != p.born {
		return nil, proc.ErrGone
	}
	var found []trace
	for _, entry := range env {
		if name, ok := strings.CutPrefix(string(entry), runMarker); ok && name != "" {
			found = append(found, trace{marker: name})
		}
	}
	shims, err := l.above(child)
	return append(found, shims...), err
}

// above walks from a process to the first one and lists the shims on the way.
func (l *lineage) above(child link) (shims []trace, err error) {
	var walked []link
	for range maxAncestry {
		if child.ppid == l.daemon && l.daemon != 0 && len(shims) == 0 {
			return []trace{{daemon: true}}, nil
		}
		if child.ppid <= 1 {
			l.remember(walked, shims)
			return shims, nil
		}
		parent, err := look(child.ppid)
		if err != nil {
			return nil, err
		}
		kin, err := child.childOf(parent)
		if err != nil {
			return nil, err
		}
		if !kin { // its parent ended while it was looked at, and it has another one
			if child, err = look(child.pid); err != nil {
				return nil, err
			}
			continue
		}
		if l.isClear(parent) {
			l.remember(walked, shims)
			return shims, nil
		}
		if err := parent.identify(); err != nil {
			return nil, err
		}
		if strings.HasPrefix(parent.name, shimName) {
			shims = append(shims, trace{shim: parent.pid})
		}
		walked = append(walked, parent)
		child = parent
	}
	return nil, errProc
}

func (l *lineage) isClear(p link) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	born, known := l.clear[p.pid]
	return known && born == p.born
}

// remember keeps what a walk passed, unless it found a shim.
func (l *lineage) remember(walked []link, shims []trace) {
	if len(shims) > 0 || len(walked) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clear == nil || len(l.clear) > maxKnown {
		l.clear = map[int]birth{}
	}
	for _, p := range walked {
		l.clear[p.pid] = p.born
	}
}
