package proc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Subreaper is false: macOS gives orphans to launchd, so what a run left behind is found by its marker only.
const Subreaper = false

// zombie is SZOMB of the process table.
const zombie = 5

// BootID names the current start of the machine.
func BootID() (string, error) {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return id, nil
}

// MachineID is empty: macOS has no name of the machine that is read without asking IOKit.
func MachineID() string { return "" }

// Lookup is the entry of pid in the process table; ErrGone when there is none.
func Lookup(pid int) (Process, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EIO) {
			return Process{}, fmt.Errorf("look up process %d: %w", pid, ErrGone)
		}
		return Process{}, fmt.Errorf("look up process %d: %w", pid, err)
	}
	return fromKinfo(k), nil
}

func fromKinfo(k *unix.KinfoProc) Process {
	name, _, _ := bytes.Cut(k.Proc.P_comm[:], []byte{0})
	start := k.Proc.P_starttime
	return Process{
		PID: int(k.Proc.P_pid), PPID: int(k.Eproc.Ppid), PGID: int(k.Eproc.Pgid),
		Start: uint64(start.Sec)*1e6 + uint64(start.Usec), Name: string(name), Zombie: k.Proc.P_stat == zombie,
	}
}

// Worked is how much processor time a process has used, which macOS does not tell without help of C.
func Worked(int) (time.Duration, bool) { return 0, false }

// Listening is not known: macOS does not tell without help of C.
func Listening([]Process) ([]Port, error) { return nil, nil }

// All lists the process table.
func All() ([]Process, error) {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("read process table: %w", err)
	}
	list := make([]Process, 0, len(infos))
	for i := range infos {
		list = append(list, fromKinfo(&infos[i]))
	}
	return list, nil
}

// Environment is the value of a variable in the environment that pid was started with, for processes of the own
// user. An error says that it is not known.
func Environment(pid int, name string) (string, bool, error) {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return "", false, fmt.Errorf("read environment of process %d: %w", pid, err)
	}
	if len(b) < 4 {
		return "", false, fmt.Errorf("read environment of process %d: too short", pid)
	}
	// The count of arguments, the path of the program, padding, the arguments, then the environment.
	args := int(binary.LittleEndian.Uint32(b))
	_, rest, _ := bytes.Cut(b[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	for entry := range bytes.SplitSeq(rest, []byte{0}) {
		if args > 0 {
			args--
			continue
		}
		if key, value, ok := bytes.Cut(entry, []byte("=")); ok && string(key) == name {
			return string(value), true, nil
		}
	}
	return "", false, nil
}

// Children lists the numbers of this process's own children.
func Children() ([]int, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	var list []int
	for _, p := range all {
		if p.PPID == os.Getpid() {
			list = append(list, p.PID)
		}
	}
	return list, nil
}

// BecomeSubreaper does nothing here, see Subreaper.
func BecomeSubreaper() error { return nil }

// SetName does nothing here: process lists show the first argument.
func SetName(string) error { return nil }

// AgentAttr starts a process as leader of its own group.
func AgentAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// TerminalAttr is AgentAttr for an agent that gets a terminal as its standard streams.
func TerminalAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }

// OOMScore is not known here.
func OOMScore() int { return 0 }

// SetOOM does nothing here.
func SetOOM(int, int) error { return nil }

// OOMKills is not known here.
func OOMKills() (uint64, error) { return 0, errors.New("count oom kills: macOS does not tell") }

// Signal sends sig to the process of id when its start time is still that one. Between look and signal a moment
// passes in which the number could be given away, since macOS has no handle on a process.
func Signal(id Identity, sig syscall.Signal) error {
	if id.PID <= 1 {
		return fmt.Errorf("process %d may not be signalled", id.PID)
	}
	if err := check(id); err != nil {
		return err
	}
	err := syscall.Kill(id.PID, sig)
	if errors.Is(err, syscall.ESRCH) {
		return ErrGone
	}
	if err != nil {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

// await returns when the process of id has ended, ErrStopped when stop was closed before.
func await(stop <-chan struct{}, id Identity) error {
	queue, err := unix.Kqueue()
	if err != nil {
		return fmt.Errorf("await process %d: %w", id.PID, err)
	}
	defer func() { _ = unix.Close(queue) }()
	var event unix.Kevent_t
	unix.SetKevent(&event, id.PID, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	event.Fflags = unix.NOTE_EXIT
	if _, err := unix.Kevent(queue, []unix.Kevent_t{event}, nil, nil); err != nil {
		if errors.Is(err, syscall.ESRCH) {
			return nil
		}
		return fmt.Errorf("await process %d: %w", id.PID, err)
	}
	if err := check(id); errors.Is(err, ErrGone) || errors.Is(err, ErrOtherBoot) {
		return nil
	}
	// A kqueue cannot be handed to Go's poller, so a stop is seen within this time.
	step := unix.NsecToTimespec(int64(250 * time.Millisecond))
	for {
		select {
		case <-stop:
			return ErrStopped
		default:
		}
		n, err := unix.Kevent(queue, nil, make([]unix.Kevent_t, 1), &step)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("await process %d: %w", id.PID, err)
		}
	}
}

// The requests that read and write the modes of a terminal.
const (
	getModes = unix.TIOCGETA
	setModes = unix.TIOCSETA
)

// DropOwnFile does nothing: this system has no way that is worth it.
func DropOwnFile() error { return nil }
