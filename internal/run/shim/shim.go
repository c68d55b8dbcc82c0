// Package shim is the small process that owns one run's agent: its pipes, its spool, its end and the end of all it
// left behind. It is this program started again under another name (control.Spawn) and knows no agent protocol.
//
// It survives every daemon. What the agent writes is in the spool before anybody hears of it; what a daemon writes
// is in the spool before the agent gets it. When the spool cannot be written the agent waits. Frames come in this
// order: started (or start_failed, and nothing else), what is said, agent_exit after every byte that the agent
// itself wrote, then what processes left behind still say. exit.json is written when no process of the run is left.
package shim

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"scv/internal/run/control"
	"scv/internal/run/proc"
	"scv/internal/run/spool"
)

// oomRaise makes an agent a likelier victim than what keeps its record, in points of oom_score_adj.
const oomRaise = 300

// restAfter is when a shim, whose agent works or waits by then, gives back what only its start needed of the program's file.
const restAfter = time.Second

// IsShim tells whether this process was started as a shim, by os.Args. It must be asked before anything else.
func IsShim(args []string) bool { return len(args) == 2 && filepath.Base(args[0]) == control.Arg0 }

// Main is the whole life of a shim; it returns the exit code when nothing of the run is left, or when the daemon
// died before it said to start. args are os.Args for which IsShim is true. The run directory is the working
// directory, the descriptors are those of package control.
func Main(args []string) int {
	errs := &complaints{out: os.Stderr, room: 64 << 10}
	r, err := open(args[1], errs)
	if err != nil {
		errs.say("not started: %v", err)
		return 1
	}
	if err := r.serve(); err != nil {
		errs.say("%v", err)
		return 1
	}
	return 0
}

// run is one run. Fields set by open do not change afterwards.
type run struct {
	spec    *control.Spec
	timing  control.Timing
	self    proc.Identity
	lock    *os.File // never closed: the kernel frees the lock with this process
	start   *os.File
	report  *os.File
	door    *door
	summons <-chan os.Signal // SIGHUP: a daemon does not find the door
	journal *journal
	errs    *complaints
	owed    owed

	home   string // SCV_HOME of the agent
	homed  bool   // it has one
	agent  *agent
	ladder *ladder
	ports  ports

	terminal *terminal // nil when the agent has pipes
}

// open takes over what the daemon prepared. After it the control socket listens, and nothing is started.
func open(handle string, errs *complaints) (*run, error) {
	for _, fd := range []int{control.FDStart, control.FDSpec, control.FDReport} {
		unix.CloseOnExec(fd)
	}
	// Handled, not ignored: an ignored signal would stay ignored in the agent. Nobody reads the second channel.
	summons := make(chan os.Signal, 1)
	signal.Notify(summons, syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT)
	if err := errors.Join(proc.SetName(control.Arg0+" "+handle), proc.BecomeSubreaper()); err != nil {
		errs.say("%v", err)
	}
	r := &run{
		errs: errs, summons: summons,
		start:  os.NewFile(control.FDStart, "start pipe"),
		lock:   os.NewFile(control.FDSpec, control.SpecName),
		report: os.NewFile(control.FDReport, "report pipe"),
	}
	r.owed.none.L = &r.owed.mu
	var err error
	if r.spec, err = control.DecodeSpec(r.lock); err != nil {
		return nil, err
	}
	if r.spec.Run != handle {
		return nil, fmt.Errorf("spec.json is of run %q, not of %q", r.spec.Run, handle)
	}
	if err := control.HoldLock(r.lock); err != nil {
		return nil, err
	}
	r.timing = r.spec.Timing.WithDefaults()
	own, err := proc.Lookup(os.Getpid())
	if err != nil {
		return nil, err
	}
	r.self = proc.Identity{Boot: r.spec.Boot, PID: own.PID, Start: own.Start}
	w, err := spool.OpenWriter(control.SpoolName, spool.Options{SegmentBytes: r.timing.SegmentBytes})
	if err != nil {
		return nil, err
	}
	r.journal = newJournal(w, r.timing, errs)
	if r.door, err = openDoor(r.spec.Socket); err != nil {
		return nil, err
	}
	return r, nil
}

// serve waits for the word to start and returns when nothing of the run is left.
func (r *run) serve() error {
	if _, err := io.WriteString(r.report, control.Ready+"\n"); err != nil {
		return errors.Join(err, r.door.close())
	}
	launch, err := control.ReadLaunch(r.start)
	if err != nil {
		// The daemon is gone or changed its mind: nothing is started.
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		return errors.Join(err, r.door.close())
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	exit := r.live(launch, stop)
	r.finish(exit)
	return nil
}

// live starts the agent and returns when it and all it left have ended.
func (r *run) live(launch control.Launch, stop <-chan os.Signal) *control.Exit {
	for _, entry := range launch.Env {
		if home, found := strings.CutPrefix(string(entry), homeName+"="); found {
			r.home, r.homed = home, true
		}
	}
	exit := &control.Exit{Version: control.Protocol, Run: r.spec.Run, Code: -1}
	a, pipes, failed := startAgent(r.spec, launch)
	if failed != nil {
		r.journal.note(spool.Note{StartFailed: failed})
		// exit.json is kept and nothing masks it, so it holds no words: those are in the spool.
		exit.StartFailed = &spool.StartFailed{Class: failed.Class}
		_ = r.report.Close()
		return exit
	}
	r.agent = a
	if err := proc.SetOOM(a.id.PID, r.spec.OOMScore+oomRaise); err != nil && !errors.Is(err, proc.ErrGone) {
		r.errs.say("%v", err)
	}
	r.journal.note(spool.Note{Started: &spool.Started{PID: a.id.PID}})
	r.record()
	_ = r.report.Close() // tells the daemon that the start is decided
	var copies sync.WaitGroup
	in, outs := r.streams(pipes)
	copies.Go(in.run)
	for _, out := range outs {
		copies.Go(out.run)
	}
	r.ladder = newLadder(r, in)
	go r.ladder.run(stop)
	go r.accept(r.door.listener)
	go r.keepDoor()
	rest := time.AfterFunc(restAfter, func() {
		if err := proc.DropOwnFile(); err != nil {
			r.errs.say("memory of the start is kept: %v", err)
		}
	})
	defer rest.Stop()

	status := <-a.exit
	until := time.Now().Add(r.timing.Drain)
	for _, out := range outs {
		out.agentExited(until)
	}
	for _, out := range outs {
		<-out.whole()
	}
	r.journal.note(spool.Note{AgentExit: &status})
	in.shut()
	copies.Wait()
	r.sweep()
	exit.Code, exit.Signal, exit.OOM = status.Code, status.Signal, status.OOM
	return exit
}

// An outlet is what the agent's output goes through.
type outlet interface {
	run()
	agentExited(until time.Time) // what others still write is read until then
	whole() <-chan struct{}      // closed when all that the agent itself wrote was taken
}

// streams are the ways between this process and the agent: pipes into and out of the spool, or a terminal.
func (r *run) streams(p pipes) (*input, []outlet) {
	if r.spec.Terminal != nil {
		r.terminal = newTerminal(p.in, *r.spec.Terminal)
		in := newInput(p.in, r.journal, r.errs)
		in.most, in.patience = maxTyped, r.timing.Deliver
		r.terminal.in = in
		return in, []outlet{r.terminal}
	}
	in := newInput(p.in, r.journal, r.errs)
	r.journal.setInput(in)
	return in, []outlet{newOutput("out", spool.KindOut, p.out, r.journal), newOutput("err", spool.KindErr, p.err, r.journal)}
}

// record writes shim.json. Without it a later daemon still has the spool's first frame and the lock.
func (r *run) record() {
	rec := control.Shim{
		Version: control.Protocol, Run: r.spec.Run, Boot: r.self.Boot, PID: r.self.PID, Start: r.self.Start,
		Agent: r.agent.id.PID, Born: r.agent.id.Start, Group: r.agent.group.ID(), Binary: r.spec.Binary,
	}
	if err := control.WriteRecord(runDir, control.ShimName, rec, false); err != nil {
		r.errs.say("%v", err)
	}
}

// runDir is the run's directory. The shim works in it and never names it by a path, so that a home that is moved while
// runs live in it keeps their records.
const runDir = "."

// abandoned reports whether the run's directory, in which the shim works, was removed.
func abandoned() bool {
	var st syscall.Stat_t
	err := syscall.Stat(runDir, &st)
	return errors.Is(err, fs.ErrNotExist) || err == nil && st.Nlink == 0
}

// finish writes exit.json, trying again while the disk is full, and takes the control socket away. Connections and
// the lock end with the process: in that order a daemon that sees its connection end finds the lock free.
func (r *run) finish(exit *control.Exit) {
	r.journal.flush()
	exit.At, exit.LastSeq = time.Now(), r.journal.seq()
	for {
		err := control.WriteRecord(runDir, control.ExitName, exit, true)
		if err == nil || abandoned() {
			break
		}
		r.errs.say("%v", err)
		r.pause()
	}
	_ = r.door.close()
	r.owed.settle(replyGrace)
}

// pause is the wait between two tries of what the system refused.
func (r *run) pause() { <-time.After(r.timing.Retry) }

// complaints is the shim's own log, cut off after room bytes.
type complaints struct {
	mu   sync.Mutex
	out  io.Writer
	room int
}

func (c *complaints) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := time.Now().UTC().Format(time.RFC3339) + " " + fmt.Sprintf(format, args...) + "\n"
	if c.room -= len(line); c.room >= 0 {
		_, _ = io.WriteString(c.out, line)
	}
}
