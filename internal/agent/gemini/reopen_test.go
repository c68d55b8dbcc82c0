package gemini

import (
	"testing"
	"time"
)

// TestReopen: never within the minute in which the conversation began, and not longer after than that minute lasts.
func TestReopen(t *testing.T) {
	minute := time.Date(2026, 11, 30, 22, 1, 0, 0, time.UTC)
	for _, after := range []time.Duration{0, time.Second, 59*time.Second + 999*time.Millisecond} {
		if from, _ := Reopen(minute.Add(after)); !from.Equal(minute.Add(time.Minute)) {
			t.Errorf("known at %s it opens at %s", minute.Add(after), from)
		}
	}
}
