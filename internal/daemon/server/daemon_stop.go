package server

import (
	"fmt"
	"time"

	"scv/internal/wire"
)

// stopPatience is how long stop --all waits for the runs, which is more than the stop ladder takes and less than the 20
// seconds that clients wait for an answer.
const stopPatience = 15 * time.Second

// daemonStop ends the daemon once the client has its answer. Runs go on, unless all is asked for: then each is stopped
// and its end waited for first.
func (r *request) daemonStop(cmd wire.DaemonStop) (answer, error) {
	if err := r.ownerOnly("end the daemon"); err != nil {
		return answer{}, err
	}
	live := 0
	for _, run := range r.Hub.Snapshot().Runs {
		if run.Live {
			live++
		}
	}
	note := "the daemon ends"
	switch {
	case cmd.All:
		n := r.Hub.StopAll(r.principal())
		note = fmt.Sprintf("the daemon ends; %s stopped", count(n, "run was", "runs were"))
		timer := time.NewTimer(stopPatience)
		defer timer.Stop()
		select {
		case <-r.Hub.Idle():
		case <-r.ctx.Done():
			return answer{}, r.ctx.Err()
		case <-timer.C:
			note = fmt.Sprintf("the daemon ends; %s asked to stop, and not all have yet: their shims see to it", count(n, "run was", "runs were"))
		}
	case live > 0:
		note = fmt.Sprintf("the daemon ends; %s on and will be found again; stop them too with: scv stop --all", count(live, "run goes", "runs go"))
	}
	st := r.full()
	st.WorkbenchNote = &note
	return answer{status: st, then: func() { r.conn.srv.opt.Stop(cmd.All) }}, nil
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
