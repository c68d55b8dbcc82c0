//go:build !linux

package daemon

import (
	"context"

	"scv/internal/home"
)

// awaitRemoval waits for the end of ctx where the removal of a folder cannot be waited for without asking again and
// again.
func awaitRemoval(ctx context.Context, _ *home.Home) bool {
	<-ctx.Done()
	return false
}
