package server

import (
	"os"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// delegations lists the runs that are alive. None is ever orphaned: a run outlives its daemon and is found again.
func (r *request) delegations() (answer, error) {
	st := r.full()
	st.Delegations.Entries = r.entries()
	return answer{status: st}, nil
}

func (r *request) entries() []wire.DelegationInfo {
	var out []wire.DelegationInfo
	for _, run := range r.Hub.Runs().List() {
		if run.Live {
			out = append(out, delegation(run))
		}
	}
	return out
}

func delegation(run row.Run) wire.DelegationInfo {
	info := wire.DelegationInfo{
		Handle: run.Handle, Agent: run.Agent, Session: run.Session, Cwd: run.Cwd, Depth: 1,
		PID: uint32(max(run.PID, 0)), OwnerPID: uint32(os.Getpid()), Processes: 1,
		StartedUnixSeconds: run.StartedUnixSeconds, Conversation: run.Conversation, Turn: run.Turn,
	}
	if run.State == wire.StateIdle {
		info.IdleSinceUnixSeconds = &run.LastActivityUnixSeconds
	}
	return info
}
