package ledger_test

import (
	"os"
	"testing"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// TestLostLedgerGivesNoNumberTwice: of a home whose database is gone the numbers, the id and the revisions go on, and
// it is told what is not listed.
func TestLostLedgerGivesNoNumberTwice(t *testing.T) {
	h := newHome(t, t.TempDir())
	s := open(t, h)
	b := full(7, wire.StateCompleted)
	b.Jobs[0].Rev = 3<<32 + 5
	conversation := wire.ConversationID("codex-9")
	b.Jobs[0].Conversation = &conversation
	before := load(t, s)
	b.Jobs[0].Home = before.HomeID
	b.Accepted = []row.Accepted{{At: time.Now(), What: "start", Job: b.Jobs[0]}}
	store(t, s, b)
	s.Close(t.Context())
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(h.LedgerPath() + suffix); err != nil && suffix == "" {
			t.Fatal(err)
		}
	}
	for round := range 2 { // the second start finds what the first one kept
		s = open(t, h)
		l := load(t, s)
		s.Close(t.Context())
		if l.Counters.Job != 7 || l.Counters.Runs != 7 || l.Counters.Conversations["codex"] != 9 || l.HomeID != before.HomeID || l.Starts <= 3 {
			t.Errorf("start %d: %+v, home %s, starts %d", round, l.Counters, l.HomeID, l.Starts)
		}
		if (l.Lost != "") != (round == 0) {
			t.Errorf("start %d says %q", round, l.Lost)
		}
	}
}
