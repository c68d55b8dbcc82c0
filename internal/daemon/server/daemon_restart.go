package server

import (
	"context"
	"fmt"

	"scv/internal/wire"
)

// A Succession is how the daemon passes its place on. Its methods may be called from any goroutine.
type Succession interface {
	// Prepare starts the program that is to take over and returns when it is ready; a refusal changed nothing.
	Prepare(ctx context.Context, ask wire.DaemonRestart) (Successor, error)
	// Pending is the process that is to take over at the moment, 0 for none.
	Pending() uint32
}

// A Successor is a program that is ready to take over, and does once Go was called, which must be.
type Successor struct {
	PID     uint32
	Version string
	Go      func()
}

// A handing is a request that passes the daemon's place on.
type handing struct{ *request }

// daemonRestart hands over to another program once the client has its answer.
func (r handing) daemonRestart(cmd wire.DaemonRestart) (answer, error) {
	if err := r.ownerOnly("restart the daemon"); err != nil {
		return answer{}, err
	}
	succession := r.conn.srv.opt.Succession
	if succession == nil {
		return answer{}, notOffered(cmd)
	}
	snap := r.Hub.Snapshot()
	if snap.Storage != "" {
		return answer{}, wire.Refuse(wire.ReasonUnavailable, "free some space on the disk; then: scv restart",
			"a restart now would lose what the daemon holds in memory. %s", snap.Storage)
	}
	if turns := running(snap); cmd.WhenIdle && turns > 0 {
		return answer{}, wire.Refuse(wire.ReasonBusy, "scv jobs list", "%s", count(turns, "turn runs", "turns run"))
	}
	next, err := succession.Prepare(r.ctx, cmd)
	if err != nil {
		return answer{}, err
	}
	live := 0
	for _, run := range snap.Runs {
		if run.Live {
			live++
		}
	}
	st := r.full()
	st.Successor = &next.PID
	st.WorkbenchNote = new(fmt.Sprintf("process %d of version %s takes over; %s on", next.PID, next.Version, count(live, "run goes", "runs go")))
	return answer{status: st, then: next.Go}, nil
}

// running counts the jobs whose turn runs.
func running(snap *wire.Snapshot) (n int) {
	for i := range snap.Jobs {
		if state := snap.Jobs[i].State; !state.Final() && state != wire.StateQueued {
			n++
		}
	}
	return n
}
