package row

import (
	"time"

	"scv/internal/wire"
)

// Used is what one job used, as its agent said. It is kept when the job itself leaves for its age.
type Used struct {
	Num   uint64 // of the job
	At    uint64 // when it ended, in seconds of Unix time
	Agent string
	wire.JobUsage
}

// Midnight is the beginning of a moment's day in the machine's time zone.
func Midnight(now time.Time) time.Time {
	y, m, d := now.Local().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.Local)
}
