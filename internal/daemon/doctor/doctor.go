// Package doctor examines an installation, with or without a daemon, and mends what is safe to mend. It reads what a
// daemon owns and writes nothing of it; a repair that a daemon could be in the way of is made only while this package
// holds the daemon's lock. What it cannot tell it says, and leaves alone.
package doctor

import (
	"context"
	"time"

	"scv/internal/daemon/seat"
	"scv/internal/home"
)

// Verdict is how bad a finding is.
type Verdict string

// The verdicts. Warn is what the owner may leave as it is.
const (
	OK      Verdict = "ok"
	Warn    Verdict = "warn"
	Problem Verdict = "problem"
)

// A Finding is what one check found.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"` // a sentence
	Fix     string  `json:"fix"`  // the command that mends it; empty when nothing is to be done
	Fixed   bool    `json:"fixed"`

	mend  func() error // what --fix does; nil for nothing
	alone bool         // mend only while no daemon can be there
}

// A Daemon is what the client learnt of the home's daemon.
type Daemon struct {
	Running  bool // it answers
	Silent   bool // something listens and does not answer
	PID      int  // 0 when not known
	Version  string
	Problems []string
}

// An Agent is one agent of this release as it was found on this machine.
type Agent struct {
	Name, Path, Problem, Install string
	Aside                        bool   // it comes with SCV, and counts as none that is installed
	SignedIn                     *bool  // as its own command says; nil when that does not tell
	Said                         string // by that command, masked
}

// A Patient is what is examined.
type Patient struct {
	Home    *home.Home
	Daemon  Daemon
	Version string // of this program
	Agents  []Agent
	Now     func() time.Time
}

// Examine makes every check, in the order in which they are shown.
func Examine(ctx context.Context, p Patient) []Finding {
	var all []Finding
	for _, check := range []func(context.Context, Patient) []Finding{
		modes, place, daemonState, disk, ledgerState, copies, wishes, leftovers, runs, sockets, strays, agents, git,
	} {
		all = append(all, check(ctx, p)...)
	}
	return all
}

// Mend does what is safe about findings and notes it in them; a repair that failed says so. Whatever could meet a daemon
// is left alone while there is one.
func Mend(p Patient, all []Finding) {
	lock, err := seat.TakeLock(p.Home)
	if err == nil {
		defer lock.Release()
	}
	for i := range all {
		f := &all[i]
		if f.mend == nil || f.alone && err != nil {
			continue
		}
		if failed := f.mend(); failed != nil {
			f.Text += "; it could not be mended: " + failed.Error()
			continue
		}
		f.Fixed = true
	}
}

// Sick reports whether a problem is left.
func Sick(all []Finding) bool {
	for _, f := range all {
		if f.Verdict == Problem && !f.Fixed {
			return true
		}
	}
	return false
}

func ok(check, text string) []Finding { return []Finding{{Check: check, Verdict: OK, Text: text}} }

func one(f Finding) []Finding { return []Finding{f} }
