package control

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"scv/internal/failpoint"
	"scv/internal/run/proc"
)

// Arg0 is the name under which a shim shows itself; the run's handle is its only argument. A process whose first
// argument is this word is a shim.
const Arg0 = "agent-shim"

// The descriptors that a shim is started with.
const (
	FDStart  = 3 // read end of the start pipe
	FDSpec   = 4 // spec.json, locked
	FDReport = 5 // write end of the report pipe
)

// Launch is what goes over the start pipe and never to the disk. Values are bytes, since neither arguments nor
// environment need be text.
type Launch struct {
	Argv [][]byte `json:"argv"`
	Env  [][]byte `json:"env"`
}

const maxLaunch = 16 << 20

// startByte is what a shim waits for before it starts anything.
const startByte = 'g'

// ErrNotStarted says that a shim ended before it was ready; its log, if any, is in the text.
var ErrNotStarted = errors.New("the run could not be started")

// SpawnSpec says how a run starts.
type SpawnSpec struct {
	Exe     string   // the program that is started as shim: this one, by an absolute path
	RunDir  string   // of the run; made when it is missing, private
	Spec    Spec     // Version, Boot, CreatedUnix and Env are filled in; Argv too (program only) when it is empty
	Argv    []string // the agent's arguments, the program first; without a slash it is looked for in PATH of Env
	Env     []string // the agent's whole environment, name=value; the marker is added
	ShimEnv []string // added to the shim's own environment, which is otherwise empty but for its memory settings
}

// Spawned is a shim that is ready and has started nothing yet. One goroutine may use it.
type Spawned struct {
	cmd    *os.Process
	start  *os.File
	report *os.File
	launch Launch
	gone   chan struct{}
	dir    string
}

// Spawn writes spec.json, takes its lock, and starts the shim with it. It returns when the control socket listens;
// ctx bounds that wait only. The agent does not start before Go; a daemon that dies before has started nothing. When
// it fails after spec.json was written, the run is LifeNotStarted.
func Spawn(ctx context.Context, s SpawnSpec) (*Spawned, error) {
	if len(s.Argv) == 0 || !filepath.IsAbs(s.Exe) || !filepath.IsAbs(s.Spec.Cwd) || s.Spec.Run == "" {
		return nil, fmt.Errorf("%w: program, working directory and handle must be given", ErrNotStarted)
	}
	if err := os.Mkdir(s.RunDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make run directory: %w", err)
	}
	spec, err := lockedSpec(s)
	if err != nil {
		return nil, err
	}
	sp, err := startShim(s, spec)
	// Our copy goes in any case: kept, it would hold the lock beyond the shim's life.
	if err = errors.Join(err, spec.Close()); err != nil {
		return nil, err
	}
	if err := sp.awaitReady(ctx); err != nil {
		sp.Abort()
		return nil, err
	}
	return sp, nil
}

// lockedSpec writes spec.json so that it is locked from the moment it can be seen under its name.
func lockedSpec(s SpawnSpec) (*os.File, error) {
	path := filepath.Join(s.RunDir, SpecName)
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("%w: run %s was started before", ErrNotStarted, s.Spec.Run)
	}
	boot, err := proc.BootID()
	if err != nil {
		return nil, err
	}
	spec := s.Spec
	spec.Version, spec.Boot, spec.CreatedUnix = Protocol, boot, time.Now().UnixNano()
	spec.OOMScore, spec.Machine = proc.OOMScore(), proc.MachineID()
	spec.Host, _ = os.Hostname() // for people; it may have none
	if len(spec.Argv) == 0 {
		spec.Argv = s.Argv[:1]
	}
	spec.Env = make([]string, 0, len(s.Env))
	for _, entry := range s.Env {
		name, _, _ := strings.Cut(entry, "=")
		spec.Env = append(spec.Env, name)
	}
	line, err := EncodeLine(spec)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path+".tmp", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", SpecName, err)
	}
	_, err = failpoint.Write(failpoint.SpecWrite, line, f.Write)
	if err == nil {
		err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		err = failpoint.Do(failpoint.SpecRename, func() error { return os.Rename(path+".tmp", path) })
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", SpecName, err), f.Close(), os.Remove(path+".tmp"))
	}
	return f, nil
}

func startShim(s SpawnSpec, spec *os.File) (_ *Spawned, err error) {
	var files []*os.File // closed here when this returns: the shim has its own copies
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("start shim: %w", err)
	}
	files = append(files, null)
	logFile, err := os.OpenFile(filepath.Join(s.RunDir, LogName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start shim: %w", err)
	}
	files = append(files, logFile)
	startR, startW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start shim: %w", err)
	}
	files = append(files, startR)
	reportR, reportW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start shim: %w", err), startW.Close())
	}
	files = append(files, reportW)
	var p *os.Process
	err = failpoint.Do(failpoint.ShimSpawn, func() (err error) {
		p, err = os.StartProcess(s.Exe, []string{Arg0, s.Spec.Run}, &os.ProcAttr{
			Dir:   s.RunDir,
			Env:   append(shimEnv(), s.ShimEnv...),
			Files: []*os.File{null, null, logFile, startR, spec, reportW},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start shim: %w", err), startW.Close(), reportR.Close())
	}
	sp := &Spawned{cmd: p, start: startW, report: reportR, launch: newLaunch(s), gone: make(chan struct{}), dir: s.RunDir}
	go sp.reap()
	return sp, nil
}

// shimEnv keeps a shim small and spares it the look for the limits of its cgroup, whose files it would keep open. The first
// collection costs half a megabyte of its own, so the heap that package init leaves (1.2 MB) must stay below the share of
// the runtime's 4 MB at which it begins (docs/decisions/006, 011).
func shimEnv() []string {
	return append([]string{"GOGC=60", "GOMAXPROCS=1", "GODEBUG=containermaxprocs=0,updatemaxprocs=0"}, failpoint.Environ()...)
}

func newLaunch(s SpawnSpec) Launch {
	var l Launch
	for _, arg := range s.Argv {
		l.Argv = append(l.Argv, []byte(arg))
	}
	for _, entry := range s.Env {
		if !strings.HasPrefix(entry, MarkerName+"=") {
			l.Env = append(l.Env, []byte(entry))
		}
	}
	l.Env = append(l.Env, []byte(MarkerName+"="+s.Spec.Run))
	return l
}

// reap takes the exit status of the shim when it ends while this daemon lives, so that no zombie stays. It ends
// with the shim.
func (s *Spawned) reap() {
	defer close(s.gone)
	_ = awaitChild(s.cmd)
	_, _ = s.cmd.Wait()
}

// PID is the process number of the shim, for a log line; it is no identity.
func (s *Spawned) PID() int { return s.cmd.Pid }

// Gone is closed when the shim has ended and was reaped by this process.
func (s *Spawned) Gone() <-chan struct{} { return s.gone }

func (s *Spawned) awaitReady(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.report.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, err := bufio.NewReaderSize(s.report, 64).ReadString('\n')
	if err == nil && strings.TrimSpace(line) == Ready {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: the shim was not ready in time: %w", ErrNotStarted, ctx.Err())
	}
	return fmt.Errorf("%w: the shim ended before it was ready: %s", ErrNotStarted, tail(filepath.Join(s.dir, LogName)))
}

// Ready is the line that a shim writes to the report pipe when its control socket listens.
const Ready = "ready"

func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(string(b[max(0, len(b)-512):]))
	if text == "" {
		return "it said nothing"
	}
	return text
}

// Go tells the shim to start the agent. After nil the agent was started or its spool says why not; after an error
// the shim may have started it or not, which the spool and the lock tell.
func (s *Spawned) Go(ctx context.Context) error {
	body, err := json.Marshal(s.launch)
	if err != nil {
		return fmt.Errorf("start agent: %w", err)
	}
	if len(body) > maxLaunch {
		return fmt.Errorf("start agent: %w: arguments and environment are too large", ErrNotStarted)
	}
	message := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	message = append(append(message, body...), startByte)
	stop := context.AfterFunc(ctx, func() {
		_ = s.start.SetWriteDeadline(time.Unix(1, 0))
		_ = s.report.SetReadDeadline(time.Unix(1, 0))
	})
	defer stop()
	err = failpoint.Do(failpoint.ShimGo, func() error {
		_, err := s.start.Write(message)
		return err
	})
	if err == nil {
		// The shim closes the report pipe when the start is decided and recorded.
		_, err = io.Copy(io.Discard, s.report)
	}
	err = errors.Join(err, s.start.Close(), s.report.Close())
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("start agent: %w", err)
	}
	return nil
}

// Abort lets the shim end without starting anything. After Go it does nothing.
func (s *Spawned) Abort() {
	_ = s.start.Close()
	_ = s.report.Close()
}

// ReadLaunch is the shim's side of Go: it waits for the message and the start byte. io.EOF or
// io.ErrUnexpectedEOF means that the daemon died before, and nothing may be started.
func ReadLaunch(r io.Reader) (Launch, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return Launch{}, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > maxLaunch {
		return Launch{}, fmt.Errorf("start message of %d bytes", n)
	}
	body := make([]byte, n+1)
	if _, err := io.ReadFull(r, body); err != nil {
		return Launch{}, io.ErrUnexpectedEOF
	}
	if body[n] != startByte {
		return Launch{}, errors.New("start message without its last byte")
	}
	var l Launch
	if err := json.Unmarshal(body[:n], &l); err != nil {
		return Launch{}, fmt.Errorf("start message: %w", err)
	}
	return l, nil
}
