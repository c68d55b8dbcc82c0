package server

import (
	"os"

	"scv/internal/wire"
)

// light is the base of the workbench's replies: no components, and no count of idle runs (wire.md 13.1).
func (r *request) light() wire.DaemonStatus {
	active, _ := r.counts()
	return wire.DaemonStatus{
		Version: r.conn.srv.opt.Version, PID: uint32(os.Getpid()),
		Delegations: wire.DelegationSummary{Active: active, Reaped: r.conn.srv.reaped.Load()},
	}
}

// full is the base of all other replies. It has what our own clients want to know of the daemon beside.
func (r *request) full() wire.DaemonStatus {
	st := r.light()
	_, idle := r.counts()
	st.Delegations.Idle = &idle
	if r.HomeID != "" {
		st.Home = &r.HomeID
	}
	st.StartedUnixSeconds = new(uint64(r.conn.srv.opt.Started.Unix()))
	if s := r.conn.srv.opt.Succession; s != nil {
		if pid := s.Pending(); pid != 0 {
			st.Successor = &pid
		}
	}
	st.Held, st.Problems = r.Hub.Holds().List(), r.problems()
	return st
}

func (r *request) counts() (active, idle uint64) {
	for _, run := range r.Hub.Snapshot().Runs {
		switch {
		case !run.Live:
		case run.State == wire.StateIdle:
			idle++
		default:
			active++
		}
	}
	return active, idle
}

func (r *request) problems() []string {
	var out []string
	if storage := r.Hub.Snapshot().Storage; storage != "" {
		out = append(out, storage)
	}
	for _, h := range r.Hub.Holds().List() {
		out = append(out, h.Text)
	}
	if r.Problems != nil {
		out = append(out, r.Problems()...)
	}
	return out
}

// reread looks at the owner's settings again; the error says what keeps them from being used.
func (r *request) reread() error {
	if r.Reread == nil {
		return nil
	}
	return r.Reread()
}

// status answers status, and reload. Both have the settings read again when they were changed, as each start does.
func (r *request) status() (answer, error) {
	if err := r.reread(); err != nil {
		r.conn.srv.opt.Log.Debug("the settings cannot be read", "error", err) // it is among the problems
	}
	return answer{status: r.full()}, nil
}
