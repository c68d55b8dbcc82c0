package cli

import (
	"time"

	"scv/internal/ui/wording"
)

// when shows a moment: how long ago to a terminal, RFC 3339 to a pipe.
func (f *screen) when(unix uint64) cell {
	if unix == 0 {
		return cell{show: "-"}
	}
	at := time.Unix(int64(unix), 0)
	return cell{show: wording.Ago(f.now().Sub(at)), pipe: at.UTC().Format(time.RFC3339)}
}

// clock writes a moment for output that stays on the screen.
func (f *screen) clock(ms uint64) string {
	at := time.UnixMilli(int64(ms))
	if f.columns == 0 {
		return at.UTC().Format(time.RFC3339)
	}
	return at.Local().Format("15:04:05")
}
