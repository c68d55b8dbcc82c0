package hub_test

import (
	"fmt"
	"strings"
	"testing"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// TestP23_ANameFromLongAgo: the conversation that has the name may have left memory, or be one of an earlier daemon.
func TestP23_ANameFromLongAgo(t *testing.T) {
	d := newDisk()
	few := func(o *hub.Options) { o.Limits.FinishedListed = 1; o.Limits.EndedListed = 1 }
	b := open(t, d, few)
	b.start("x")
	o := b.launched()
	b.report(o.Run.Handle, row.Step{Kind: row.StepSession, Vendor: "s-1"}, row.Step{Kind: row.StepTurnStarted, Turn: 1})
	finish(b, o, wire.StateCompleted)
	for range 3 {
		b.start("y")
		finish(b, b.launched(), wire.StateCompleted)
	}
	for range 2 {
		later := b.start("z")
		o = b.launched()
		b.report(o.Run.Handle, row.Step{Kind: row.StepSession, Vendor: "s-1"}, row.Step{Kind: row.StepTurnStarted, Turn: 1})
		finish(b, o, wire.StateCompleted)
		if why := fmt.Sprint(b.job(later).Evidence); !strings.Contains(why, "which is that of codex-1") {
			t.Errorf("the job does not tell why its conversation begins anew: %s", why)
		}
		b.send(later.Job, "again")
		o = b.launched()
		if got := b.Runs().Wishes(o.Run.Handle).Turn.Vendor; got != "" {
			t.Errorf("%s goes on with %q", *later.Job.Conversation, got)
		}
		finish(b, o, wire.StateCompleted)
		b.stop()
		b = open(t, d, few) // which loads no more than what is listed
	}
	b.stop()
}
