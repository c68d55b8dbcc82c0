package proc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Subreaper says that orphans below a process can be made its children (BecomeSubreaper), so that "no child left"
// proves that nothing of it runs.
const Subreaper = true

// BecomeSubreaper makes this process the new parent of every orphan below it.
func BecomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}

// SetName changes the name that process lists show for this process; the kernel keeps 15 bytes.
func SetName(name string) error {
	if err := os.WriteFile("/proc/self/comm", []byte(name[:min(len(name), 15)]), 0); err != nil {
		return fmt.Errorf("set process name: %w", err)
	}
	return nil
}

// AgentAttr starts a process as leader of its own group that is killed when the thread which starts it ends; so
// that thread must be locked and live as long as the process.
func AgentAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// TerminalAttr is AgentAttr for an agent that gets a terminal as its standard streams: it leads a session of its own,
// and so a group too.
func TerminalAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
}

// OOMScore is how likely a victim this process was made, -1000 to 1000, when memory runs out; what it starts inherits
// it. It is read once.
func OOMScore() int { return oomScore() }

var oomScore = sync.OnceValue(func() int {
	b, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return 0
	}
	own, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return own
})

// SetOOM makes pid a likelier victim when memory runs out; the score ends at 1000.
func SetOOM(pid, score int) error {
	if err := os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte(strconv.Itoa(min(score, 1000))), 0); err != nil {
		return fmt.Errorf("raise oom score: %w", asGone(err))
	}
	return nil
}

// OOMKills counts the processes that the kernel of this machine killed for want of memory since its start.
func OOMKills() (uint64, error) {
	f, err := os.Open("/proc/vmstat")
	if err != nil {
		return 0, fmt.Errorf("count oom kills: %w", err)
	}
	defer f.Close()
	count, err := counter(f, "oom_kill")
	if err != nil {
		return 0, fmt.Errorf("count oom kills: %w", err)
	}
	n, err := strconv.ParseUint(count, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("count oom kills: %w", err)
	}
	return n, nil
}

// counter finds the line of a counter. It holds little of the table at a time: every shim reads it, and stays.
func counter(r io.Reader, name string) (string, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 512), 512)
	for lines.Scan() {
		if key, value, _ := bytes.Cut(lines.Bytes(), []byte(" ")); string(key) == name {
			return string(value), nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", err
	}
	return "", errors.New("the kernel does not tell")
}

// Signal sends sig to the process of id and to no other: the process is held by a descriptor before its start time
// is compared. ErrGone or ErrOtherBoot when it is not there any more.
func Signal(id Identity, sig syscall.Signal) error {
	fd, err := open(id)
	if err != nil {
		return err
	}
	err = unix.PidfdSendSignal(fd, sig, nil, 0)
	if err := errors.Join(asGone(err), unix.Close(fd)); err != nil {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

func open(id Identity) (int, error) {
	if id.PID <= 1 {
		return -1, fmt.Errorf("process %d may not be signalled", id.PID)
	}
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	if err != nil {
		return -1, fmt.Errorf("open process %d: %w", id.PID, asGone(err))
	}
	if err := check(id); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// await returns when the process of id has ended (nil also when it is gone already), ErrStopped when stop was closed
// before. It waits in the poller and holds no thread.
func await(stop <-chan struct{}, id Identity) error {
	fd, err := open(id)
	if errors.Is(err, ErrGone) || errors.Is(err, ErrOtherBoot) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := awaitFD(fd, stop); err != nil {
		return fmt.Errorf("await process %d: %w", id.PID, err)
	}
	return nil
}

// AwaitChild returns when the child pid, not yet waited for, has ended. It holds no thread.
func AwaitChild(pid int) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("open process %d: %w", pid, asGone(err))
	}
	if err := awaitFD(fd, nil); err != nil {
		return fmt.Errorf("await process %d: %w", pid, err)
	}
	return nil
}

// awaitFD waits in the poller until the process of the descriptor has ended or stop is closed, and closes it.
func awaitFD(fd int, stop <-chan struct{}) error {
	f := os.NewFile(uintptr(fd), "pidfd")
	conn, err := f.SyscallConn()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	var watch sync.WaitGroup
	done := make(chan struct{})
	if stop != nil {
		watch.Go(func() {
			select {
			case <-stop:
				_ = f.SetReadDeadline(time.Unix(1, 0))
			case <-done:
			}
		})
	}
	ended := false
	err = conn.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		ended = err == nil && n > 0
		return ended
	})
	close(done)
	watch.Wait()
	if !ended && errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrStopped
	}
	return errors.Join(err, f.Close())
}

// The requests that read and write the modes of a terminal.
const (
	getModes = unix.TCGETS
	setModes = unix.TCSETS
)
