package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"scv/internal/home"
	"scv/internal/safe/redact"
)

// Bounds of the log of a daemon in the background: at maxLog bytes the file becomes the old one, of which one is kept.
const (
	maxLog  = 1 << 20
	logName = "state/daemon.log"
	oldLog  = "state/daemon.log.1"
)

// A logFile is a bounded log below the home. It may be written from any goroutine. Its lock covers one write to a
// local file and nothing else.
type logFile struct {
	mu   sync.Mutex
	root *os.Root
	file *os.File
	size int64
}

// openLog opens the log for appending, with mode 0600.
func openLog(root *os.Root) (*logFile, error) {
	l := &logFile{root: root}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *logFile) open() error {
	file, err := l.root.OpenFile(logName, os.O_WRONLY|os.O_CREATE|os.O_APPEND, home.FileMode)
	if err != nil {
		return fmt.Errorf("open the daemon's log: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a plain file")
	}
	if err == nil && info.Mode().Perm() != home.FileMode {
		err = file.Chmod(home.FileMode)
	}
	if err != nil {
		file.Close()
		return fmt.Errorf("open the daemon's log: %w", err)
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write appends p, and begins a new file first when the present one is full.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || l.size >= maxLog {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

func (l *logFile) rotate() error {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
	if err := l.root.Rename(logName, oldLog); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("set the daemon's log aside: %w", err)
	}
	return l.open()
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// A maskedLog takes credentials out of what is logged: errors name what agents, servers and services said. Each write
// is one record. It may be written from any goroutine.
type maskedLog struct {
	to   io.Writer
	mask atomic.Pointer[redact.Masker]
}

func newMaskedLog(to io.Writer, m *redact.Masker) *maskedLog {
	l := &maskedLog{to: to}
	l.mask.Store(m)
	return l
}

// Write writes p masked, and counts as p.
func (l *maskedLog) Write(p []byte) (int, error) {
	if _, err := io.WriteString(l.to, l.mask.Load().Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
