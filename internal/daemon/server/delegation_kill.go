package server

import "scv/internal/wire"

// delegationKill ends a run by the stop ladder. Orphans alone is a wish that is always fulfilled: there are none.
func (r *request) delegationKill(cmd wire.DelegationKillCommand) (answer, error) {
	if cmd.Handle == nil && !cmd.Orphans {
		return answer{}, &wire.Error{
			Code: wire.CodeDelegationError, Reason: wire.ReasonInvalid,
			Message: "nothing was named to end", Hint: "name a run: scv agents kill RUN   They are listed by: scv agents ps",
		}
	}
	var killed []wire.RunHandle
	if cmd.Handle != nil {
		if err := r.kill(*cmd.Handle); err != nil {
			return answer{}, err
		}
		killed = append(killed, *cmd.Handle)
	}
	st := r.full()
	st.Delegations.Entries, st.Delegations.Killed = r.entries(), killed
	return answer{status: st}, nil
}

func (r *request) kill(handle wire.RunHandle) error {
	if _, err := wire.ParseRunHandle(string(handle)); err != nil {
		return &wire.Error{
			Code: wire.CodeDelegationError, Reason: wire.ReasonInvalid, Message: err.Error(),
			Hint: "runs are listed by: scv agents ps",
		}
	}
	ticket, err := r.Hub.Runs().Kill(handle, r.principal())
	if err == nil {
		err = ticket.Wait(r.ctx)
	}
	if err != nil {
		return recode(err, wire.CodeDelegationError)
	}
	r.conn.srv.reaped.Add(1)
	return nil
}
