package hub_test

import (
	"fmt"
	"strings"
	"testing"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// TestP23_AConversationStaysOnItsMachine: a home that was copied to another machine goes on with none of what an agent
// began where it came from, and says so; what the agent begins here is gone on with here.
func TestP23_AConversationStaysOnItsMachine(t *testing.T) {
	disk := newDisk()
	on := func(machine string) func(o *hub.Options) {
		return func(o *hub.Options) { o.Machine = machine }
	}
	turn := func(b *bench, job row.Job, want, names string) hub.Accepted {
		t.Helper()
		thread, err := b.Jobs().Thread(job.Session, *job.Conversation)
		if err != nil || thread.Vendor != want {
			t.Errorf("its conversation is %q, %v, want %q", thread.Vendor, err, want)
		}
		next := b.send(job, "go on")
		o := b.launched()
		if got := b.Runs().Wishes(o.Run.Handle).Turn.Vendor; got != want || o.Conversation.Vendor != want {
			t.Errorf("it goes on with %q (%q), want %q", got, o.Conversation.Vendor, want)
		}
		b.report(o.Run.Handle, row.Step{Kind: row.StepSession, Vendor: names}, row.Step{Kind: row.StepTurnStarted, Turn: b.job(next).Turn})
		finish(b, o, wire.StateCompleted)
		return next
	}
	b := open(t, disk, on("one"))
	first := b.start("x")
	o := b.launched()
	b.report(o.Run.Handle, row.Step{Kind: row.StepSession, Vendor: "s-1"}, row.Step{Kind: row.StepTurnStarted, Turn: 1})
	finish(b, o, wire.StateCompleted)
	turn(b, first.Job, "s-1", "s-1")
	b.stop()

	b = open(t, disk, on("two"))
	next := turn(b, first.Job, "", "s-2")
	if why := fmt.Sprint(b.job(next).Evidence); !strings.Contains(why, "began its conversation s-1 on another machine") {
		t.Errorf("the job does not tell why its conversation begins anew: %s", why)
	}
	turn(b, first.Job, "s-2", "s-2")
	b.stop()

	b = open(t, disk, on("")) // a machine without a name proves nothing, and takes nothing away
	turn(b, first.Job, "s-2", "s-2")
	b.stop()
}
