package run

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestR4_ACancelWaitsFromWhenItWasSent: a daemon that comes later does not wait anew for an agent that was asked to cancel,
// and a clock that jumped neither puts the next step off nor is an age of years.
func TestR4_ACancelWaitsFromWhenItWasSent(t *testing.T) {
	const most = 3 * time.Second
	for name, c := range map[string]struct{ ago, left time.Duration }{
		"just now":            {0, most},
		"by a daemon before":  {2 * time.Second, time.Second},
		"long ago":            {time.Hour, 0},
		"the clock went back": {-24 * time.Hour, most},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var clocks clocks
				clocks.sent("cancel:1", time.Now().Add(-c.ago), most)
				if left := time.Until(clocks.cancel.Add(most)); left != c.left {
					t.Errorf("it waits %v more, want %v", left, c.left)
				}
				clocks.cancel = time.Time{}
				if clocks.sent("turn:1", time.Now(), most); !clocks.cancel.IsZero() {
					t.Error("another message is a cancel")
				}
			})
		})
	}
}
