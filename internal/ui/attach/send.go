package attach

import (
	"context"

	"scv/internal/client"
	"scv/internal/wire"
)

// send sends what is typed until the owner lets go, which ends what is followed.
func (s *showing) send(ctx context.Context, cancel context.CancelCauseFunc) {
	t := client.Typing{Target: s.o.Target, Input: s.input, Resized: s.resized, Left: s.left, Size: s.size, Hold: s.hold, Told: s.tell}
	if t.Run(ctx) {
		cancel(errDetached)
	}
}

func (s *showing) hold() (generation uint64, id wire.HoldID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.Generation, s.last.ID
}
