//go:build linux

package acceptance

import (
	"os"
	"path/filepath"
	"testing"

	"scv/internal/agent/catalog"
	"scv/internal/testkit/realagent"
	"scv/internal/testkit/sdkpeer"
	"scv/internal/wire"
)

// sdkPeer is this test program as the agent that is written with the protocol's library of a third party: C20 is its row
// of the matrix.
func sdkPeer(t testing.TB, _ realagent.Options) *realagent.Agent {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := &realagent.Agent{Path: program, Kind: catalog.ACP(sdkpeer.Name, sdkpeer.Name), Dir: t.TempDir()}
	a.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(a.Dir, "home")}
	return a
}

// TestC20_AnAgentOfAnotherHand plays what an owner does with that agent over one conversation, beside the cells of the
// matrix: it asks, is allowed, is refused with a reason, is cancelled while it asks, and works on.
func TestC20_AnAgentOfAnotherHand(t *testing.T) {
	m := &row{stage: subject{kind: sdkpeer.Name, over: "live", real: sdkPeer, own: true, built: true}.stage(t, realagent.Options{})}
	m.ok("start")
	none := func() {}
	for name, cell := range map[string]func(*row, func()) string{"approve": (*row).approves, "deny": (*row).denies} {
		if got := cell(m, none); got != yes {
			t.Errorf("%s: %s", name, got)
		}
	}
	id, a, ran := m.request("never")
	if a == nil {
		t.Fatal("it does not ask")
	}
	m.ok("jobs", "cancel", string(id))
	m.ended(id, wire.StateCancelled)
	if n := ran(); n != 0 {
		t.Errorf("what it asked for ran %d times after the cancel", n)
	}
	if got := m.approves(none); got != yes {
		t.Errorf("after the cancel: %s", got)
	}
}
