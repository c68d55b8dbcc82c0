// Package run is the life of a run: it starts an agent behind its shim, folds what is said, writes what the owner
// wishes, and sees the process out. The daemon owns one Launcher; the hub hands it orders whose rows are on disk.
//
// A run belongs to its shim, not to this package: Shutdown, and the death of the daemon, leave every agent alone, and
// the next daemon goes on from the spool. Nothing is decided because something arrived or did not arrive: after each
// fold to the end of the spool it is asked anew what should be written. A run is over when its lock is free and for no
// other reason; what cannot be told is reported as unreachable and tried again, and nothing of it is touched.
package run

import (
	"context"
	"log/slog"
	"time"

	"scv/internal/agent"
	"scv/internal/failpoint"
	"scv/internal/home"
	"scv/internal/run/runlog"
	"scv/internal/safe/redact"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A HubPort is what a run says to the hub and asks of it. Report and Life return when the hub's state reflects them,
// Wishes returns only what is on disk.
type HubPort interface {
	Report(h wire.RunHandle, steps []row.Step)
	Life(h wire.RunHandle, l row.Life)
	Wishes(h wire.RunHandle) row.Wishes
}

// Config is what a Launcher is made of. All fields but Ground, Log, Now and Timing are required.
type Config struct {
	Home *home.Home
	Hub  HubPort
	// Saved waits until all that was reported of a run is on disk. Only then may its spool go.
	Saved func(ctx context.Context, h wire.RunHandle) error
	// Kinds returns the agent of a name over the transport that its run's row names; empty for the one that is chosen.
	Kinds func(name, transport string) (agent.Kind, agent.Settings, bool)
	// Offered takes what an agent said that it can do, masked. It may be nil, must not block long, and may hear it again.
	Offered   func(agent string, o wire.AgentOffer)
	Mask      func() *redact.Masker
	Original  func(job wire.JobID) (string, error) // the unmasked prompt of a job whose wish is Private
	Notify    *runlog.Notifier
	Terminals Terminals // may be nil
	Ground    Ground    // nil: no repositories
	Exe       string    // absolute path of this program, which is its own shim
	Environ   []string  // the daemon's environment, of which agents get a part
	HomeID    string
	Version   string // of this program, for the run's records
	Log       *slog.Logger
	Now       func() time.Time
	Timing    Timing

	// Abandoned reports that the home is gone, so that every run is to be ended without a wish on disk; nil: never.
	Abandoned func() bool
}

func (c *Config) abandoned() bool { return c.Abandoned != nil && c.Abandoned() }

// Timing replaces waits; a zero field is the documented value.
type Timing struct {
	Spawn   time.Duration // 30 s for a shim to be ready
	Dial    time.Duration // 2 s for a shim to answer
	Ask     time.Duration // 30 s for a shim to answer what it was asked once it is known
	Ready   time.Duration // 120 s until a live agent can take turns
	Cancel  time.Duration // 3 s for an agent to end a turn that it was asked to cancel
	Leave   time.Duration // 10 s for a one-turn process after its final event, and for a live one that is closed
	Quiet   time.Duration // 5 min without a report until a running turn is said to be silent
	Look    time.Duration // 1 s after a tool call began until it is seen where processes listen
	Backoff time.Duration // 5 s, the longest wait between two tries to reach a shim or a disk
}

func (t Timing) withDefaults() Timing {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&t.Spawn, 30*time.Second)
	set(&t.Dial, time.Duration(failpoint.Size("dial", int64(2*time.Second))))
	set(&t.Ask, 30*time.Second)
	set(&t.Ready, 120*time.Second)
	set(&t.Cancel, 3*time.Second)
	set(&t.Leave, 10*time.Second)
	set(&t.Quiet, 5*time.Minute)
	set(&t.Look, time.Second)
	set(&t.Backoff, 5*time.Second)
	return t
}
