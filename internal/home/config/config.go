// Package config reads the owner's settings: config.toml of the home, the project's own file, which may only tighten,
// and the file that SCV_CONFIG names. It keeps upstream's key names, reports every problem at once with file, line and
// fix, never shows a secret, and changes the file line by line so that comments stay. Anyone may call it; a Config is
// immutable once loaded, and nothing here is watched: the daemon asks Current at each start of a job.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"scv/internal/home"
)

// MaxFileBytes bounds a configuration file, as upstream does.
const MaxFileBytes = 1 << 20

// A Config is what all layers together say. Problems never reach it: Load refuses instead.
type Config struct {
	Agents map[string]AgentConfig // of every agent that a file names
	Limits Limits
	Policy Policy
	// CheckModels says that a model is refused which its agent is known not to offer.
	CheckModels bool

	Approvals Approvals

	Retention Retention

	Worktrees Worktrees

	Origins  map[string]string // of each set key: "config.toml:12", "SCV_CONFIG:3", "--policy flag"
	Warnings []*Problem        // keys that are accepted and do nothing here, and old names
	Files    []File

	layers []layer // lowest first, without a project's
	seen   []stamp // the owner's files when they were read
	values map[string]value
}

// An AgentConfig is what the owner says of one agent. Empty fields are the agent's own defaults.
type AgentConfig struct {
	Command    string   // name or path; empty for the agent's own
	Args       []string // before everything that SCV adds
	PromptArgs []string // right before the prompt, of an owner's own command
	ModelArgs  []string // with {model}; of an owner's own command
	EffortArgs []string // with {effort}; of an owner's own command
	Model      string
	Effort     string
	Mode       string            // permission mode; empty for policy.mode
	EnvPass    []string          // names of variables that this agent inherits beside the allow-list; a trailing * matches a prefix
	Env        map[string]string // set for this agent
	Transport  string            // live or cli, empty for what works; of an agent of the owner's: acp or cli
	Stdin      bool              // an own cli agent takes its prompt on standard input, not as its last argument
	Own        bool              // the owner added it: it is none of this release
	Private    bool              // it keeps its sign-in and settings in a home of its own below SCV's
	AfterLimit bool              // what waits for its usage limit goes on by itself once that is renewed
	Quiet      time.Duration     // without a report for so long a running turn is said to be silent; 0 for the default
	DailyUSD   float64           // what its turns may cost a day; 0 for no bound
}

// Limits bound what runs at the same time.
type Limits struct {
	Running       int     // turns at once; more wait as queued
	Unfinished    int     // jobs of a home that are not final; more are refused
	IdleMinutes   int     // a live agent without a turn for so long is closed; the next prompt starts it again
	Depth         int     // levels of jobs that agents start for agents; the owner's own are the first
	DailyUSD      float64 // what all turns may cost a day; 0 for no bound
	MemoryFloorMB int     // MiB of memory that must be free before another run starts; 0 turns the check off
}

// Retention says how long what is over is kept.
type Retention struct {
	Days int // after a job's end; 0 for ever
}

// Worktrees bound what the worktrees of jobs take.
type Worktrees struct {
	FloorMB int // MiB that must stay free on the home's disk, else no worktree is made; 0 turns the check off
	MaxMB   int // MiB that all of them may take together; 0: no bound
	// Caches are variables that name, in every worktree, one folder that all share: the owner's own, or one of the home.
	Caches []string
}

// Policy is what an agent may do unasked.
type Policy struct {
	Mode string // auto, on-risk, always or read-only
}

// Approvals say how requests of agents wait for the owner.
type Approvals struct {
	Wait time.Duration // after it silence is a no; 0: as long as the turn
}

// A File is one file that was looked at.
type File struct {
	Path  string
	Layer string // "config.toml", "project .scv/config.toml", "SCV_CONFIG"
	Found bool
	Mode  string // such as "0600"; empty when not found
}

// Overrides come from the command line of the serving process and win over every file.
type Overrides struct {
	Mode string // --policy
	File string // --config-path; else SCV_CONFIG of the environment
}

// A Problem is one thing wrong with the configuration. It never holds a value, which may be a secret.
type Problem struct {
	File    string // as a person would name it
	Line    int    // from 1; 0 when it has none
	Key     string // dotted; may be empty
	Message string // what is wrong
	Fix     string // what to do
}

// Error is the problem as one line: file, line, key, what is wrong and the fix.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Key != "" {
		fmt.Fprintf(&b, ": %s", p.Key)
	}
	fmt.Fprintf(&b, ": %s. %s", p.Message, p.Fix)
	return b.String()
}

// Problems lists what is wrong in an error of this package, in the order of the files.
func Problems(err error) []*Problem {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*Problem
		for _, e := range many.Unwrap() {
			out = append(out, Problems(e)...)
		}
		return out
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return []*Problem{p}
	}
	return nil
}

// Load reads the settings of a home. All problems come back joined, each a *Problem; environ is as os.Environ gives it.
func Load(h *home.Home, environ []string, o Overrides) (*Config, error) {
	extra := cmp.Or(o.File, lookup(environ, "SCV_CONFIG"))
	c := &Config{seen: stamps(h.ConfigPath(), extra)}
	var faults []*Problem
	user := readLayer(h.ConfigPath(), "config.toml", false)
	faults = append(faults, c.add(user)...)
	if extra != "" && !sameFile(extra, h.ConfigPath()) {
		faults = append(faults, c.add(readLayer(extra, "SCV_CONFIG", true))...)
	}
	if o.Mode != "" {
		l, bad := flagLayer(o.Mode)
		faults = append(faults, bad...)
		c.layers = append(c.layers, l)
	}
	if len(faults) > 0 {
		return nil, join(faults)
	}
	c.merge(nil)
	return c, nil
}

// ForWorkspace returns the settings in force in a workspace: with the project's .scv/config.toml between the owner's
// file and SCV_CONFIG. A project may only tighten; what it may not set is a *Problem.
func (c *Config) ForWorkspace(h *home.Home, dir string) (*Config, error) {
	path := filepath.Join(dir, ".scv", "config.toml")
	if sameFile(path, h.ConfigPath()) {
		return c, nil
	}
	l := readProject(dir)
	if !l.file.Found && len(l.faults) == 0 {
		return c, nil
	}
	next := &Config{
		layers: c.layers, Files: append(slices.Clone(c.Files), l.file),
		Warnings: append(slices.Clone(c.Warnings), l.warnings...),
	}
	faults := append(slices.Clone(l.faults), tightens(c, &l)...)
	if len(faults) > 0 {
		return nil, join(faults)
	}
	next.merge(&l)
	return next, nil
}

// Agent returns what is said of an agent, with the policy's mode where it has none of its own.
func (c *Config) Agent(name string) AgentConfig {
	a := c.Agents[name]
	a.Mode = cmp.Or(a.Mode, c.Policy.Mode)
	return a
}

func (c *Config) add(l layer) []*Problem {
	c.layers = append(c.layers, l)
	c.Files = append(c.Files, l.file)
	c.Warnings = append(c.Warnings, l.warnings...)
	return l.faults
}

func join(faults []*Problem) error {
	errs := make([]error, 0, len(faults))
	for _, p := range faults {
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}

func lookup(environ []string, name string) string {
	for _, pair := range slices.Backward(environ) {
		if text, ok := strings.CutPrefix(pair, name+"="); ok {
			return text
		}
	}
	return ""
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
