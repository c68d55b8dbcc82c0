package ledger_test

import (
	"errors"
	"io/fs"
	"testing"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// TestS3_EditedOriginals: of a changed prompt the original is the one that the job's row speaks of, and the one before
// goes with the commit; none is left once the job can no longer run.
func TestS3_EditedOriginals(t *testing.T) {
	h := newHome(t, t.TempDir())
	s := open(t, h)
	j := job(1, wire.StateQueued)
	j.Private = true
	put := func(text string, revision, prompt uint64) {
		t.Helper()
		j.Revision, j.PromptRevision = revision, prompt
		b := row.Batch{Jobs: []row.Job{j}}
		if text != "" {
			b.Prompts = map[wire.JobID]row.Prompt{j.Job.Job: {Text: "masked", Original: text, Revision: prompt}}
		}
		store(t, s, b)
	}
	is := func(want string) {
		t.Helper()
		if got, err := s.Original(j.Job.Job); err != nil || got != want {
			t.Errorf("the original is %q, %v; want %q", got, err, want)
		}
	}
	kept := func() (names []string) {
		t.Helper()
		all, err := fs.ReadDir(h.Root().FS(), "private")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			names = append(names, e.Name())
		}
		return names
	}
	put("first", 0, 0)
	is("first")
	put("second", 1, 1)
	is("second")
	put("", 2, 1) // a move keeps it
	is("second")
	if got := kept(); len(got) != 1 {
		t.Errorf("kept are %v", got)
	}
	j.State = wire.StateCancelled
	put("", 2, 1)
	if _, err := s.Original(j.Job.Job); !errors.Is(err, fs.ErrNotExist) || len(kept()) != 0 {
		t.Errorf("after its end: %v, kept are %v", err, kept())
	}
}

func TestThread(t *testing.T) {
	s := open(t, newHome(t, t.TempDir()))
	for n := range uint64(5) {
		j := job(n+1, wire.StateCompleted)
		if n == 2 {
			j.Conversation = new(wire.ConversationID("other-1"))
		} else {
			j.Conversation = new(wire.ConversationID("codex-1"))
		}
		store(t, s, row.Batch{Jobs: []row.Job{j}})
	}
	all, err := s.Thread(t.Context(), "codex-1", "job-4", 2)
	if err != nil || len(all) != 2 || all[0].Num != 4 || all[1].Num != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}
