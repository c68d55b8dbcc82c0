package daemon

import (
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"scv/internal/agent"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/repo"
	"scv/internal/safe/redact"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
)

// Options say what a daemon runs on. The caller opens the home and loads the configuration, so that what is wrong with
// them is told before anything is started.
type Options struct {
	Home   *home.Home
	Config *config.Config
	// Settings reads the configuration anew, for what begins while the daemon runs; nil keeps to Config.
	Settings   func() (*config.Config, error)
	Version    string    // release, told in the handshake
	Exe        string    // this program, started again as shim and as demo agent
	Environ    []string  // the daemon's environment: agents get parts of it, its secrets are masked
	Foreground bool      // log to Stderr; else to the home's log file
	Stderr     io.Writer // for people
	Now        func() time.Time

	// Args are this program's arguments after its name, with which a successor is started.
	Args []string
	// TakeOver is the descriptor at which a daemon hands over to this one; 0 for none.
	TakeOver int
	// HandoverWait is seat.Patience when zero.
	HandoverWait time.Duration

	logged *maskedLog // where the log goes; nil: nobody has to tell it what to mask

	alone bool // this process is one session without a daemon, and may itself be inside of a run
}

// latest is the configuration as it is now, or as the daemon began with it when that cannot be read.
func (o Options) latest() *config.Config {
	if o.Settings != nil {
		if c, err := o.Settings(); err == nil {
			return c
		}
	}
	return o.Config
}

// settings are what the owner's files say now. They are looked at before a job is accepted and before a run is started,
// so that what he changed counts from then on; while they are broken no job is accepted, and all else goes by what was
// read last. A run that lives keeps what it began with. The hooks of the hub read nothing: they may not wait for a disk.
type settings struct {
	opt    Options
	hub    *hubPort
	log    *slog.Logger
	held   atomic.Pointer[kinds]
	broken atomic.Pointer[string] // what is wrong with the files; nil: nothing

	reading sync.Mutex // one reads at a time
	hidden  []string   // guarded by reading: all that the files ever kept hidden, since what was secret stays so
}

func newSettings(opt Options, port *hubPort, log *slog.Logger) *settings {
	s := &settings{opt: opt, hub: port, log: log}
	s.reading.Lock()
	defer s.reading.Unlock()
	s.take(opt.latest())
	return s
}

// take goes by a configuration from now on. The caller holds reading.
func (s *settings) take(c *config.Config) {
	opt := s.opt
	opt.Config = c
	k := newKinds(opt)
	if err := k.makeHomes(); err != nil {
		s.log.Error("agents cannot use their private homes", "error", err)
	}
	for _, entry := range c.Hidden() {
		if !slices.Contains(s.hidden, entry) {
			s.hidden = append(s.hidden, entry)
		}
	}
	k.masker = newMasker(slices.Concat(opt.Environ, s.hidden))
	if opt.logged != nil {
		opt.logged.mask.Store(k.masker)
	}
	s.held.Store(k)
	if h := s.hub.hub.Load(); h != nil {
		h.Jobs().SetLimits(s.limits(), c.Approvals.Wait)
	}
}

// reread looks whether the files were changed and reads them if so. The refusal says what is wrong with them.
func (s *settings) reread() error {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.opt.Settings == nil || s.broken.Load() == nil && s.now().config.Current() {
		return nil
	}
	c, err := s.opt.Settings()
	if err == nil {
		s.broken.Store(nil)
		s.take(c)
		return nil
	}
	why := "the configuration has a problem, so nothing new is started: " + sentences(err)
	if was := s.broken.Swap(&why); was == nil || *was != why {
		s.log.Warn("the changed configuration is not used", "error", err)
	}
	return wire.Refuse(wire.ReasonUnavailable, "correct it: scv config edit   Then try again", "%s", why)
}

// now is what was read last.
func (s *settings) now() *kinds { return s.held.Load() }

// newest is what the files say, or what was read last when they are broken.
func (s *settings) newest() *kinds {
	if s.reread() != nil {
		return s.now() // reread has logged it, and scv status tells it
	}
	return s.now()
}

func (s *settings) mask() *redact.Masker { return s.now().masker }

func (s *settings) names() []string { return s.now().names() }

// find is for a run that starts, or that a new daemon goes on with.
func (s *settings) find(name, transport string) (agent.Kind, agent.Settings, bool) {
	return s.newest().find(name, transport)
}

func (s *settings) offered(name string, o wire.AgentOffer) { s.now().offered(s.log, name, o) }

func (s *settings) fits(name, forced, model, effort string) error {
	return s.now().fits(name, forced, model, effort)
}

func (s *settings) reviewers(builder string) []string { return s.now().reviewers(builder) }

func (s *settings) transport(name, forced string) string { return s.now().transport(name, forced) }

func (s *settings) mode(name string) string { return s.now().config.Agent(name).Mode }

// afterLimit reports whether the owner lets an agent go on by itself once its usage limit is renewed.
func (s *settings) afterLimit(name string) bool { return s.now().config.Agent(name).AfterLimit }

// terminal reports whether an agent goes on with its conversations in a terminal of its own.
func (s *settings) terminal(name string) bool {
	kind, _, ok := s.now().find(name, "")
	return ok && kind.Terminal != nil
}

// budget is what an agent may spend a day; of the empty name, all of them together.
func (s *settings) budget(name string) float64 {
	c := s.now().config
	if name == "" {
		return c.Limits.DailyUSD
	}
	return c.Agent(name).DailyUSD
}

// workspaceMode is the mode of a job that names none: the owner's, which the project may tighten.
func (s *settings) workspaceMode(workspace, name string) (string, error) {
	if err := s.reread(); err != nil {
		return "", err
	}
	c, err := s.now().config.ForWorkspace(s.opt.Home, workspace)
	if err != nil {
		return "", wire.Refuse(wire.ReasonInvalid, "correct it, then start the job again", "the project's configuration is wrong: %s", sentences(err))
	}
	return c.Agent(name).Mode, nil
}

// limits are those of the hub. A daemon that itself lives inside a run has as many levels less.
func (s *settings) limits() hub.Limits {
	l := s.now().config.Limits
	levels, _ := strconv.Atoi(s.opt.value("SCV_DELEGATION_DEPTH")) // absent or odd: it is the owner's own
	depth := l.Depth - max(levels, 0)
	if depth <= 0 {
		depth = -1
	}
	return hub.Limits{
		Depth:   depth,
		Running: l.Running, Unfinished: l.Unfinished, MemoryFloor: uint64(max(l.MemoryFloorMB, 0)) << 20,
		Idle: time.Duration(l.IdleMinutes) * time.Minute, FinishedListed: wire.MaxFinishedJobs, EndedListed: wire.MaxEndedRuns,
	}
}

// room is what worktrees may take.
func (s *settings) room() repo.Room {
	w := s.now().config.Worktrees
	return repo.Room{Floor: uint64(max(w.FloorMB, 0)) << 20, Most: uint64(max(w.MaxMB, 0)) << 20}
}

// caches are the variables that name folders which all worktrees share.
func (s *settings) caches() []string { return s.now().config.Worktrees.Caches }

// keep is how long what is over is kept; 0: for ever.
func (s *settings) keep() time.Duration {
	return time.Duration(s.now().config.Retention.Days) * 24 * time.Hour
}

// problems are what is wrong and does not keep the daemon from serving: sentences of its own, then the configuration's
// faults and warnings.
func (s *settings) problems(lost string, more func() string) func() []string {
	return func() []string {
		var out []string
		for _, text := range []string{lost, more()} {
			if text != "" {
				out = append(out, text)
			}
		}
		if why := s.broken.Load(); why != nil {
			out = append(out, *why)
		}
		for _, p := range s.now().config.Warnings {
			out = append(out, p.Error())
		}
		return out
	}
}
