package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"scv/internal/wire"
)

// longestPause is how long a replay waits where nothing was drawn for longer.
const longestPause = 2 * time.Second

// Replay draws a recording on a terminal of a size, so many times as fast as it was.
func Replay(ctx context.Context, out io.Writer, cols, rows int, name string, pages []wire.RecordedPage, speed float64) error {
	if _, err := io.WriteString(out, enterScreen); err != nil {
		return err
	}
	defer io.WriteString(out, leaveScreen) //nolint:errcheck // a terminal that is gone needs nothing
	p := newPainter(cols, rows)
	p.status = name + "  ctrl-c ends the replay"
	for i, page := range pages {
		if i > 0 {
			wait := time.Duration(int64(page.AtMs)-int64(pages[i-1].AtMs)) * time.Millisecond
			timer := time.NewTimer(time.Duration(float64(min(max(wait, 0), longestPause)) / speed))
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return ctx.Err()
			}
		}
		if _, err := out.Write(p.take(page.Page)); err != nil {
			return err
		}
	}
	return nil
}

// Cast writes a recording as an asciicast of version 2.
func Cast(out io.Writer, name string, pages []wire.RecordedPage) error {
	if len(pages) == 0 {
		return nil
	}
	cols, rows := 0, 0
	for _, p := range pages {
		cols, rows = max(cols, int(p.Page.Cols)), max(rows, int(p.Page.Rows))
	}
	p := newPainter(cols, rows+1)
	p.status = name
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	first := pages[0].AtMs
	header := map[string]any{"version": 2, "width": cols, "height": rows + 1, "timestamp": first / 1000, "title": name}
	if err := lines.Encode(header); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	for _, page := range pages {
		at := float64(max(page.AtMs, first)-first) / 1000
		if err := lines.Encode([]any{at, "o", string(p.take(page.Page))}); err != nil {
			return fmt.Errorf("write the recording: %w", err)
		}
	}
	return nil
}
