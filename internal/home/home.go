// Package home owns every path under $SCV_HOME. It finds the home, makes it, refuses one that another user could
// change, and hands out an os.Root through which all files below are opened. Only sockets and the ledger are opened by
// path, after their parents were checked here. Anyone on either side of the socket may use it; it holds no locks.
package home

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"scv/internal/wire"
)

// Mode bits of everything below the home, whatever the umask (security.md section 8).
const (
	DirMode  fs.FileMode = 0o700
	FileMode fs.FileMode = 0o600
)

// Names below the home.
const (
	stateDir   = "state"
	ctlDir     = "state/ctl"
	runsDir    = "runs"
	privateDir = "private"
	configName = "config.toml"
	socketName = "state/server.sock"
	lockName   = "state/server.lock"
	ledgerName = "state/ledger.db"
	logName    = "state/daemon.log"
)

// A Home is one checked $SCV_HOME. Its methods may be called from any goroutine.
type Home struct {
	path string
	root *os.Root
}

// Locate returns the absolute path of the home without touching the disk: path when it is not empty, else SCV_HOME of
// getenv, else .scv in the user's home directory.
func Locate(path string, getenv func(string) string) (string, error) {
	if path == "" {
		path = getenv("SCV_HOME")
	}
	if path == "" {
		user := getenv("HOME")
		if user == "" {
			return "", problem(wire.ReasonInvalid, "there is no home for SCV: neither SCV_HOME nor HOME is set",
				"set SCV_HOME to a directory of yours, such as /home/you/.scv")
		}
		path = filepath.Join(user, ".scv")
	}
	if strings.ContainsRune(path, 0) {
		return "", problem(wire.ReasonInvalid, "the path of SCV's home holds a NUL byte", "set SCV_HOME to a plain path")
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("make %s absolute: %w", path, err)
	}
	return full, nil
}

// Open makes and checks the home at path (see Locate for an empty one) and everything directly below that SCV needs.
// A refusal is a *wire.Error with a sentence; nothing was changed then.
func Open(path string) (*Home, error) {
	full, err := Locate(path, os.Getenv)
	if err != nil {
		return nil, err
	}
	if err := makeDir(full); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return nil, unusable(full, err)
	}
	if err := checkTree(real); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, unusable(real, err)
	}
	h := &Home{path: real, root: root}
	for _, name := range []string{".", stateDir, ctlDir, runsDir, privateDir} {
		if err := h.ensureDir(name); err != nil {
			root.Close()
			return nil, err
		}
	}
	return h, nil
}

// Close gives the home's descriptor back.
func (h *Home) Close() error { return h.root.Close() }

// Path is the canonical absolute path of the home.
func (h *Home) Path() string { return h.path }

// Instance names the home in the chain of runs that SCV_PARENT holds: 8 hex digits made of its path.
func (h *Home) Instance() string {
	sum := sha256.Sum256([]byte(h.path))
	return hex.EncodeToString(sum[:4])
}

// Root opens everything below the home and refuses to leave it.
func (h *Home) Root() *os.Root { return h.root }

// Socket is the path of the daemon's socket; Check says whether the system takes it.
func (h *Home) Socket() string { return h.join(socketName) }

// LockPath is the path of the daemon's lock file.
func (h *Home) LockPath() string { return h.join(lockName) }

// LedgerPath is the path of the ledger's database.
func (h *Home) LedgerPath() string { return h.join(ledgerName) }

// LogPath is the path of the log of a daemon that runs in the background.
func (h *Home) LogPath() string { return h.join(logName) }

// ConfigPath is the path of the owner's configuration, which need not exist.
func (h *Home) ConfigPath() string { return h.join(configName) }

// CtlSocket is the path of the control socket of a run's shim: the six hex digits at the end of its handle.
func (h *Home) CtlSocket(handle wire.RunHandle) string {
	name := string(handle)
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		name = name[i+1:]
	}
	return h.join(ctlDir + "/" + filepath.Base(name))
}

// RunDir is the absolute path of a run's directory.
func (h *Home) RunDir(handle wire.RunHandle) string {
	return h.join(runsDir + "/" + filepath.Base(string(handle)))
}

// RunRoot opens the directory of a run; one that does not exist is fs.ErrNotExist.
func (h *Home) RunRoot(handle wire.RunHandle) (*os.Root, error) {
	name, err := runName(handle)
	if err != nil {
		return nil, err
	}
	if info, err := h.root.Lstat(name); err == nil && !info.IsDir() {
		return nil, problem(wire.ReasonUnavailable,
			fmt.Sprintf("%s is no folder any more: somebody put something else there, and SCV follows no link", Pretty(h.RunDir(handle))),
			"look what it is: ls -l "+Pretty(h.RunDir(handle)))
	}
	root, err := h.root.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("open the directory of run %s: %w", handle, err)
	}
	return root, nil
}

// CreateRun makes the directory of a new run and opens it; one that exists already is fs.ErrExist.
func (h *Home) CreateRun(handle wire.RunHandle) (*os.Root, error) {
	name, err := runName(handle)
	if err != nil {
		return nil, err
	}
	if err := h.root.Mkdir(name, DirMode); err != nil {
		return nil, fmt.Errorf("make the directory of run %s: %w", handle, err)
	}
	if err := h.root.Chmod(name, DirMode); err != nil {
		return nil, fmt.Errorf("make the directory of run %s private: %w", handle, err)
	}
	return h.RunRoot(handle)
}

// PrivateName is the name, below Root, of the file that keeps a job's unmasked prompt.
func (h *Home) PrivateName(job wire.JobID) string {
	return privateDir + "/" + filepath.Base(string(job))
}

// Pretty shortens a path below the user's home directory to one that begins with a tilde, for people.
func Pretty(path string) string {
	user := os.Getenv("HOME")
	if user == "" || user == "/" {
		return path
	}
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(user, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return path
	}
	return "~" + rest
}

func (h *Home) join(name string) string { return filepath.Join(h.path, filepath.FromSlash(name)) }

// runName is the place of a run below the root. A handle that is not one path element is refused (security.md T31).
func runName(handle wire.RunHandle) (string, error) {
	name := string(handle)
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return "", problem(wire.ReasonInvalid, fmt.Sprintf("%q is no run handle", name),
			"a handle looks like codex-3f9a2c; list them with: scv agents ps")
	}
	return runsDir + "/" + name, nil
}

// makeDir makes the home and the directories above it that are missing. A mode wider than DirMode never exists.
func makeDir(path string) error {
	_, err := os.Stat(path)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return unusable(path, err)
	}
	if err := os.MkdirAll(path, DirMode); err != nil {
		return unusable(path, err)
	}
	return nil
}

// ensureDir makes a directory below the root, or checks one that is there and takes group and other bits from it.
func (h *Home) ensureDir(name string) error {
	err := h.root.Mkdir(name, DirMode)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return unusable(h.join(name), err)
	}
	info, err := h.root.Lstat(name)
	if err != nil {
		return unusable(h.join(name), err)
	}
	if err := checkOwn(h.join(name), info); err != nil {
		return err
	}
	if info.Mode().Perm() == DirMode {
		return nil
	}
	if err := h.root.Chmod(name, DirMode); err != nil {
		return unusable(h.join(name), err)
	}
	return nil
}
