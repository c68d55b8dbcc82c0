package cli

import (
	"fmt"
	"time"
)

// when shows a moment: how long ago to a terminal, RFC 3339 to a pipe.
func (f *screen) when(unix uint64) cell {
	if unix == 0 {
		return cell{show: "-"}
	}
	at := time.Unix(int64(unix), 0)
	return cell{show: ago(f.now().Sub(at)), pipe: at.UTC().Format(time.RFC3339)}
}

// ago writes an age in its largest unit: 4s, 3m, 2h, 5d.
func ago(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	}
	return fmt.Sprintf("%dd", int(d/(24*time.Hour)))
}

// clock writes a moment for output that stays on the screen.
func (f *screen) clock(ms uint64) string {
	at := time.UnixMilli(int64(ms))
	if f.columns == 0 {
		return at.UTC().Format(time.RFC3339)
	}
	return at.Local().Format("15:04:05")
}
