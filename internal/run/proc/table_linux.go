package proc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxEnviron is how much of a process's environment is looked at, in bytes.
const maxEnviron = 4 << 20

// BootID names the current start of the machine. It is read once: no process outlives a start.
func BootID() (string, error) { return bootID() }

var bootID = sync.OnceValues(func() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
})

// MachineID names this machine for as long as its system is installed; empty where that has no such name. It is a hash:
// the name itself is not to be given away.
func MachineID() string { return machineID() }

var machineID = sync.OnceValue(func() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if b, err := os.ReadFile(path); err == nil && len(bytes.TrimSpace(b)) == 32 {
			sum := sha256.Sum256(append([]byte("scv machine "), bytes.TrimSpace(b)...))
			return hex.EncodeToString(sum[:8])
		}
	}
	return ""
})

// Lookup is the entry of pid in the process table; ErrGone when there is none.
func Lookup(pid int) (Process, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, fmt.Errorf("look up process %d: %w", pid, asGone(err))
	}
	return parseStat(b)
}

func asGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return ErrGone
	}
	return err
}

// parseStat reads a line of /proc/PID/stat. The name may hold spaces and brackets, so fields are counted from the
// last closing one.
func parseStat(b []byte) (Process, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return Process{}, fmt.Errorf("process table: unexpected line %q", b)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:open])))
	rest := strings.Fields(string(b[end+1:]))
	if err != nil || len(rest) < 20 {
		return Process{}, fmt.Errorf("process table: unexpected line %q", b)
	}
	ppid, err1 := strconv.Atoi(rest[1])
	pgid, err2 := strconv.Atoi(rest[2])
	start, err3 := strconv.ParseUint(rest[19], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return Process{}, fmt.Errorf("process table: %w", err)
	}
	zombie := rest[0] == "Z" || rest[0] == "X" || rest[0] == "x"
	return Process{PID: pid, PPID: ppid, PGID: pgid, Start: start, Name: string(b[open+1 : end]), Zombie: zombie}, nil
}

// clockTick is the unit of process times in /proc: a hundredth of a second on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// Worked is how much processor time a process has used; false when that is not known.
func Worked(pid int) (time.Duration, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return 0, false
	}
	user, err1 := strconv.ParseUint(fields[11], 10, 62)
	system, err2 := strconv.ParseUint(fields[12], 10, 62)
	return time.Duration(user+system) * clockTick, err1 == nil && err2 == nil
}

// All lists the process table. Processes that end during the scan may be missing.
func All() ([]Process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("read process table: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, fmt.Errorf("read process table: %w", err)
	}
	var list []Process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, err := Lookup(pid)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// Environment is the value of a variable in the environment that pid was started with. An error says that it is
// not known, ErrGone that the process is gone.
func Environment(pid int, name string) (string, bool, error) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false, fmt.Errorf("read environment of process %d: %w", pid, asGone(err))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxEnviron))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", false, fmt.Errorf("read environment of process %d: %w", pid, asGone(err))
	}
	for entry := range bytes.SplitSeq(b, []byte{0}) {
		if key, value, ok := bytes.Cut(entry, []byte("=")); ok && string(key) == name {
			return string(value), true, nil
		}
	}
	return "", false, nil
}

// Children lists the numbers of this process's own children, zombies among them. While the caller waits for
// none of them, no number can come to mean another process.
func Children() ([]int, error) {
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil, fmt.Errorf("list children: %w", err)
	}
	if len(tasks) == 0 {
		return childrenByScan()
	}
	var list []int
	for _, task := range tasks {
		b, err := os.ReadFile(task)
		if err != nil {
			if errors.Is(asGone(err), ErrGone) {
				continue // a thread that ended; its children moved to another
			}
			return nil, fmt.Errorf("list children: %w", err)
		}
		for field := range bytes.FieldsSeq(b) {
			pid, err := strconv.Atoi(string(field))
			if err != nil {
				return nil, fmt.Errorf("list children: %w", err)
			}
			list = append(list, pid)
		}
	}
	return list, nil
}

// childrenByScan serves kernels without CONFIG_PROC_CHILDREN.
func childrenByScan() ([]int, error) {
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
