package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// TestTalk_OldMessagesComeWithoutTheirTexts: of what the model is not shown any more a session is opened with the sizes
// and the heads only; all of it is still there for who pages through the history.
func TestTalk_OldMessagesComeWithoutTheirTexts(t *testing.T) {
	store := open(t, newHome(t, t.TempDir()))
	talks := ledger.TalksOf(store)
	c := row.TalkChange{Talk: row.Talk{ID: "s", From: 2, Next: 4, Order: []wire.QueueID{"q"}}, Entries: []wire.QueueEntry{{QueueID: "q", Revision: 1, Prompt: "next"}}}
	for i := range uint64(4) {
		body := fmt.Sprintf(`{"role":"user","text":"%d é %s"}`, i, strings.Repeat("long ", 2000))
		c.Messages = append(c.Messages, row.TalkMessage{Num: i, Body: json.RawMessage(body)})
	}
	if err := talks.SaveTalk(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	got, found, err := talks.Talk(t.Context(), "s")
	if err != nil || !found || len(got.Old) != 2 || len(got.Messages) != 2 || len(got.Queue) != 1 {
		t.Fatalf("%d old and %d messages, %d wait: %v, %v", len(got.Old), len(got.Messages), len(got.Queue), found, err)
	}
	for i, m := range got.Old {
		body := string(c.Messages[i].Body)
		if m.Num != uint64(i) || m.Bytes != len(body) || m.Head == "" || !strings.HasPrefix(body, m.Head) || len(m.Head) > 2*row.TalkHead {
			t.Errorf("message %d: %+v", i, m)
		}
	}
	if string(got.Messages[0].Body) != string(c.Messages[2].Body) || got.Messages[1].Num != 3 {
		t.Error("what the model is shown did not come whole")
	}
	page, err := talks.TalkMessages(t.Context(), "s", 2, 10)
	if err != nil || len(page) != 2 || string(page[1].Body) != string(c.Messages[0].Body) {
		t.Errorf("the history has lost something: %d messages, %v", len(page), err)
	}
}
