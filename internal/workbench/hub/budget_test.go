package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// TestP47_ABudgetPausesAndAsks: at the limit of a day new turns wait and say why, and the owner is asked once. What runs
// goes on. A yes counts for the day, over a restart; a no and silence leave it; the next day begins anew.
func TestP47_ABudgetPausesAndAsks(t *testing.T) {
	for _, answer := range []string{"yes", "no", "none"} {
		synctest.Test(t, func(t *testing.T) {
			<-time.After(2 * time.Hour)
			d := newDisk()
			set := func(o *hub.Options) {
				o.Budget = func(agent string) float64 { return map[string]float64{"codex": 1}[agent] }
			}
			b := open(t, d, set)
			b.start("1")
			first := b.launched()
			b.start("2")
			running := b.launched()
			b.ends(first, row.End{State: wire.StateCompleted, CostUSD: new(0.4)})
			third := b.start("3")
			b.ends(b.launched(), row.End{State: wire.StateFailed, Class: "network", CostUSD: new(0.7)})
			waiting := b.start("4")
			b.idle()
			has(t, detail(b.job(waiting)), "waits until midnight: $1.10 of the $1.00 a day for codex are spent; allow it: scv approvals approve ap-")
			other := b.startAs(hub.StartRequest{Workspace: "/w", Agent: "claude", Prompt: row.Prompt{Text: "x"}})
			b.ends(b.launched(), row.End{State: wire.StateCompleted, CostUSD: new(9.0)})
			b.ends(running, row.End{State: wire.StateCompleted, CostUSD: new(0.1)}) // asks no second time
			asked := b.Snapshot().Approvals
			if len(asked) != 1 || asked[0].Kind != wire.ApprovalQuestion {
				t.Fatalf("%+v", asked)
			}
			has(t, asked[0].Summary, "codex spent $1.10 today, and the budget of a day is $1.00")
			if answer != "none" {
				b.changed(b.Approvals().Answer(hub.AnswerRequest{ID: asked[0].ID, Approved: answer == "yes", Principal: row.Principal{Who: "owner", Way: "cli"}}))
			}
			if answer == "yes" {
				b.ends(b.launched(), row.End{State: wire.StateCompleted})
			}
			b.stop()
			b = open(t, d, set)
			again := b.start("5")
			if answer == "yes" {
				b.ends(b.launched(), row.End{State: wire.StateCompleted})
			} else {
				b.idle()
				has(t, detail(b.job(again)), "waits until midnight")
			}
			<-time.After(24 * time.Hour)
			last := b.start("6")
			for b.job(last).State == wire.StateQueued || b.job(again).State == wire.StateQueued {
				b.ends(b.launched(), row.End{State: wire.StateCompleted})
			}
			if held := b.Holds().List(); len(held) != 0 {
				t.Errorf("%+v", held)
			}
			_, _ = third, other
			b.stop()
		})
	}
}
