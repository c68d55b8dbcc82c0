package server

import (
	"context"
	"time"
)

// leaveTime bounds how long a place is waited for whose agents have no turn any more. An agent has 10 s to leave after
// its last word, and is stopped then.
const leaveTime = 15 * time.Second

// vacate waits until the processes of runs that are over have left a place, so that nobody meets one on its way out. With
// idle, agents between turns are asked to leave as well. Who is there for another reason, or stays, is found later.
func (r groundkeeper) vacate(path string, idle bool) {
	ctx, cancel := context.WithTimeout(r.ctx, leaveTime)
	defer cancel()
	changes := r.Hub.Watch()
	defer changes.Close()
	there := func(dir string) bool { return within(dir, path) }
	for len(r.Hub.Runs().Vacate(there, idle)) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-changes.Wake():
		}
	}
}
