//go:build !linux

package daemon

import (
	"context"

	"scv/internal/home"
)

// awaitLoss waits for the end of ctx where the removal of a folder cannot be waited for without asking again and
// again.
func awaitLoss(ctx context.Context, _ *home.Home) error {
	<-ctx.Done()
	return nil
}
