// Package proc knows processes of this machine: who they are, whether they still run, how to signal exactly the
// one that was meant, and which belong to a run. Only what owns or cleans up a run uses it.
//
// A process number alone is never an identity: it may be given to a stranger. What an error hides is not known,
// and no caller may take it for "gone".
package proc

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"syscall"
)

var (
	// ErrGone says that the process does not run any more (a zombie does not run).
	ErrGone = errors.New("the process is gone")
	// ErrOtherBoot says that the identity is from before the machine was started.
	ErrOtherBoot = errors.New("the process belongs to an earlier start of the machine")
	// ErrStopped says that the caller ended a wait.
	ErrStopped = errors.New("the wait was ended")
)

// Identity names one process for ever: the machine's boot, the number, and the start time in the unit of the
// system (clock ticks since boot on Linux, microseconds since 1970 on macOS).
type Identity struct {
	Boot  string `json:"boot_id"`
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// Process is what the process table says of one process.
type Process struct {
	PID    int
	PPID   int
	PGID   int
	Start  uint64
	Name   string // as the process or its program chose it: not to be trusted, not to be shown unfiltered
	Zombie bool
}

// A Port is where a process waits for connections.
type Port struct {
	Process
	Addr netip.AddrPort
}

// Self is the identity of this process.
func Self() (Identity, error) { return Of(os.Getpid()) }

// Of is the identity of the running process pid; ErrGone when there is none.
func Of(pid int) (Identity, error) {
	boot, err := BootID()
	if err != nil {
		return Identity{}, err
	}
	p, err := Lookup(pid)
	if err != nil {
		return Identity{}, err
	}
	return Identity{Boot: boot, PID: pid, Start: p.Start}, nil
}

// Alive tells whether the process of id runs. An error means that it is not known.
func Alive(id Identity) (bool, error) {
	err := check(id)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, ErrGone), errors.Is(err, ErrOtherBoot):
		return false, nil
	default:
		return false, err
	}
}

// check says nil when the process of id runs now, ErrGone or ErrOtherBoot when it surely does not.
func check(id Identity) error {
	boot, err := BootID()
	if err != nil {
		return err
	}
	if boot != id.Boot {
		return ErrOtherBoot
	}
	p, err := Lookup(id.PID)
	if err != nil {
		return err
	}
	if p.Start != id.Start || p.Zombie {
		return ErrGone
	}
	return nil
}

// Group is a process group that may be signalled. It cannot hold 0 or 1, which would mean the caller's own group
// or everything; the zero Group is refused by Signal.
type Group struct{ pgid int }

// NewGroup is the group with the number pgid, which must be above 1.
func NewGroup(pgid int) (Group, error) {
	if pgid <= 1 {
		return Group{}, fmt.Errorf("no process group %d may be signalled", pgid)
	}
	return Group{pgid: pgid}, nil
}

// ID is the number of the group, 0 for the zero Group.
func (g Group) ID() int { return g.pgid }

// Signal sends sig to every process of the group. The caller must know that the number is not used again: its
// leader is a child not yet waited for, or a process of the run is still in it. An empty group is ErrGone.
func (g Group) Signal(sig syscall.Signal) error {
	if g.pgid <= 1 {
		return fmt.Errorf("no process group %d may be signalled", g.pgid)
	}
	if err := syscall.Kill(-g.pgid, sig); err != nil {
		if errors.Is(err, syscall.ESRCH) {
			return ErrGone
		}
		return fmt.Errorf("signal process group %d: %w", g.pgid, err)
	}
	return nil
}

// Descendants lists every process below pid, found by parent numbers in one scan of the process table, zombies
// left out.
func Descendants(pid int) ([]Process, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	below := map[int]bool{pid: true}
	for grew := true; grew; {
		grew = false
		for _, p := range all {
			if below[p.PPID] && !below[p.PID] {
				below[p.PID] = true
				grew = true
			}
		}
	}
	return slices.DeleteFunc(all, func(p Process) bool { return p.PID == pid || !below[p.PID] || p.Zombie }), nil
}

// Ancestors lists pid and the processes above it, nearest first, as they are now.
func Ancestors(pid int) ([]Process, error) {
	var list []Process
	for pid > 0 && len(list) < 256 {
		p, err := Lookup(pid)
		if err != nil {
			return list, err
		}
		list = append(list, p)
		pid = p.PPID
	}
	return list, nil
}

// Marked lists the running processes that were started with name=value in their environment, as far as the caller
// may look into them; this process is left out.
func Marked(name, value string) ([]Process, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	return slices.DeleteFunc(all, func(p Process) bool {
		if p.PID == self || p.Zombie {
			return true
		}
		got, found, err := Environment(p.PID, name)
		return err != nil || !found || got != value
	}), nil
}

// Await returns when the process of id has ended (nil also when it is gone already), or with the error of ctx.
func Await(ctx context.Context, id Identity) error {
	err := await(ctx.Done(), id)
	if errors.Is(err, ErrStopped) {
		return ctx.Err()
	}
	return err
}

// KillMarked ends with SIGKILL every process that carries name=value in its environment, but for those that keep
// says yes to, until two scans in a row find none. It returns what it killed, and an error when stop was closed first
// (ErrStopped) or a process may not be signalled.
func KillMarked(stop <-chan struct{}, name, value string, keep func(Process) bool) ([]Process, error) {
	boot, err := BootID()
	if err != nil {
		return nil, err
	}
	var killed []Process
	for empty := 0; empty < 2; {
		list, err := Marked(name, value)
		if err != nil {
			return killed, err
		}
		list = slices.DeleteFunc(list, func(p Process) bool { return keep != nil && keep(p) })
		if len(list) == 0 {
			empty++
			continue
		}
		empty = 0
		for _, p := range list {
			id := Identity{Boot: boot, PID: p.PID, Start: p.Start}
			if err := Signal(id, syscall.SIGKILL); err != nil && !errors.Is(err, ErrGone) {
				return killed, err
			}
			if err := await(stop, id); err != nil {
				return killed, err
			}
			killed = append(killed, p)
		}
	}
	return killed, nil
}
