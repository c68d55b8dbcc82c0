package run

import (
	"testing"
	"time"

	"scv/internal/agent"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// TestAConversationThatIsTooYoungToOpenAgain: its agent is not started before the time that its kind names; a cancel and a
// daemon that leaves meanwhile are heard, and one that is old enough, or of an agent without such a rule, starts at once.
func TestAConversationThatIsTooYoungToOpenAgain(t *testing.T) {
	slow := func(c *Config) {
		kinds := c.Kinds
		c.Kinds = func(name, transport string) (agent.Kind, agent.Settings, bool) {
			k, s, ok := kinds(name, transport)
			k.Reopen = func(known time.Time) (time.Time, string) { return known.Add(time.Hour), "it would be lost" }
			return k, s, ok
		}
	}
	begin := func(b *bench, age time.Duration) wire.RunHandle {
		o := b.order("fake", "say one\ndone\n")
		o.Conversation.Vendor, o.Conversation.VendorAt = "their-id", uint64(time.Now().Add(-age).Unix())
		b.l.Launch(o)
		return o.Run.Handle
	}
	for name, c := range map[string]struct {
		meanwhile func(b *bench, h wire.RunHandle)
		want      row.LifeKind
	}{
		"cancelled": {func(b *bench, h wire.RunHandle) { b.wish(h, func(w *row.Wishes) { w.Cancel = 1 }) }, row.LifeNotStarted},
		"stopped":   {func(b *bench, h wire.RunHandle) { b.wish(h, func(w *row.Wishes) { w.Stop = true }) }, row.LifeNotStarted},
		"left":      {func(b *bench, _ wire.RunHandle) { b.leave() }, row.LifeHeldUp},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, slow)
			h := begin(b, 0)
			r := b.hub.await(t, h, "the wait", life(row.LifeWaits))
			has := r.lastLife().Detail
			c.meanwhile(b, h)
			if r = b.hub.await(t, h, "the end of the wait", life(c.want)); life(row.LifeStarted)(&r) {
				t.Errorf("it was started: %+v", r.lives)
			}
			if want := "it would be lost"; len(has) < len(want) || has[len(has)-len(want):] != want {
				t.Errorf("it says %q", has)
			}
		})
	}
	for name, b := range map[string]*bench{"old": newBench(t, slow), "no rule": newBench(t)} {
		age := time.Duration(0)
		if name == "old" {
			age = 2 * time.Hour
		}
		if r := b.hub.await(t, begin(b, age), "the end", over); life(row.LifeWaits)(&r) || r.end() == nil {
			t.Errorf("%s: %+v", name, r.lives)
		}
	}
}
