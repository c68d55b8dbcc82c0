package session

import (
	"context"
	"errors"
	"sync"
	"testing"

	"scv/internal/safe/redact"
	"scv/internal/session/loop"
	"scv/internal/session/provider"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A shelf is a journal in memory.
type shelf struct {
	mu    sync.Mutex
	talks map[wire.SessionID]row.LoadedTalk
}

func (s *shelf) SaveTalk(_ context.Context, c row.TalkChange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.talks[c.Talk.ID]
	kept.Talk = c.Talk
	kept.Queue = append(kept.Queue, c.Entries...)
	s.talks[c.Talk.ID] = kept
	if c.Other != nil {
		s.talks[c.Other.Talk.ID] = row.LoadedTalk{Talk: c.Other.Talk}
	}
	return nil
}

func (s *shelf) Talk(_ context.Context, id wire.SessionID) (row.LoadedTalk, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.talks[id]
	return kept, ok, nil
}

func (s *shelf) OpenTalks(context.Context) ([]row.Talk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []row.Talk
	for _, kept := range s.talks {
		if kept.Talk.Ended == 0 {
			out = append(out, kept.Talk)
		}
	}
	return out, nil
}

// silent is a model that never answers.
type silent struct{}

func (silent) Stream(ctx context.Context, _ provider.Request, _ func(provider.Piece)) (provider.Answer, error) {
	<-ctx.Done()
	return provider.Answer{}, ctx.Err()
}

func (silent) Count(context.Context, provider.Request) (int, bool, error) { return 0, false, nil }

// hosted is a host over a journal. building is called for each session that is built; it may block.
func hosted(t *testing.T, j *shelf, building func(row.Talk)) *Host {
	t.Helper()
	masker := redact.New()
	h, err := NewHost(t.Context(), Options{
		Journal: j, Mask: func() *redact.Masker { return masker },
		Build: func(_ context.Context, talk row.Talk) (Setup, error) {
			if building != nil {
				building(talk)
			}
			return Setup{Provider: silent{}, Loop: loop.Config{Limits: loop.DefaultLimits()}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close(context.WithoutCancel(t.Context())) })
	return h
}

func newShelf(talks ...row.LoadedTalk) *shelf {
	s := &shelf{talks: map[wire.SessionID]row.LoadedTalk{}}
	for _, one := range talks {
		s.talks[one.Talk.ID] = one
	}
	return s
}

// atOnce lets several clients do the same at once and returns what each got.
func atOnce(n int, do func() (Entrance, error)) ([]Entrance, []error) {
	entrances, faults := make([]Entrance, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { entrances[i], faults[i] = do() })
	}
	all.Wait()
	return entrances, faults
}

// TestOneNameAtOnce: of clients that start a session of one name at once, one gets it, and the name is free again when
// the session has ended.
func TestOneNameAtOnce(t *testing.T) {
	h := hosted(t, newShelf(), nil)
	start := func() (Entrance, error) {
		return h.Start(t.Context(), "r", row.Talk{Name: "docs", Keep: true, Persist: true}, "")
	}
	entrances, faults := atOnce(20, start)
	var first Entrance
	for i, err := range faults {
		switch e, ok := errors.AsType[*wire.Error](err); {
		case err == nil && first.Session == nil:
			first = entrances[i]
		case err == nil:
			t.Error("two sessions have the name")
		case !ok || e.Reason != wire.ReasonConflict:
			t.Errorf("refused with %v", err)
		}
	}
	if first.Session == nil {
		t.Fatal("nobody got the name")
	}
	if err := h.Remove(t.Context(), first.Session.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := start(); err != nil {
		t.Errorf("the name of a session that has ended: %v", err)
	}
}

// TestP13_OneQueueIsTakenOverOnce: of clients that restore one session's queue at once, one gets it, paused.
func TestP13_OneQueueIsTakenOverOnce(t *testing.T) {
	left := row.LoadedTalk{
		Talk:  row.Talk{ID: "old", Workspace: "/w", Persist: true, Order: []wire.QueueID{"q"}, Running: "cut off", Updated: 1 << 62},
		Queue: []wire.QueueEntry{{QueueID: "q", Revision: 3, Prompt: "next"}},
	}
	j := newShelf(left)
	h := hosted(t, j, nil)
	entrances, faults := atOnce(20, func() (Entrance, error) {
		return h.Start(t.Context(), "r", row.Talk{Workspace: "/w", Persist: true}, "old")
	})
	got := 0
	for i, err := range faults {
		if err != nil {
			t.Fatal(err)
		}
		var queued int
		var paused bool
		if err := entrances[i].Session.do(func() { queued, paused = entrances[i].Session.core.Queue(), entrances[i].Session.core.Talk().Paused }); err != nil {
			t.Fatal(err)
		}
		if queued == 1 && paused {
			got++
		} else if queued != 0 {
			t.Errorf("%d prompts, paused %v", queued, paused)
		}
	}
	if got != 1 {
		t.Errorf("%d clients have the queue", got)
	}
	if kept, _, _ := j.Talk(t.Context(), "old"); kept.Talk.Ended == 0 {
		t.Error("the old session can be taken over again")
	}
}

// TestOnlyThatSessionWaits: clients that take one session up at once share it, it is built once, and while that takes its
// time another session can be started.
func TestOnlyThatSessionWaits(t *testing.T) {
	building, goOn := make(chan struct{}, 20), make(chan struct{})
	h := hosted(t, newShelf(row.LoadedTalk{Talk: row.Talk{ID: "kept", Keep: true}}), func(talk row.Talk) {
		if talk.ID == "kept" {
			building <- struct{}{}
			<-goOn
		}
	})
	type result struct {
		entrances []Entrance
		faults    []error
	}
	all := make(chan result)
	go func() {
		entrances, faults := atOnce(20, func() (Entrance, error) { return h.Attach(t.Context(), "r", "kept") })
		all <- result{entrances, faults}
	}()
	<-building
	if _, err := h.Start(t.Context(), "r", row.Talk{}, ""); err != nil {
		t.Errorf("another session: %v", err)
	}
	close(goOn)
	r := <-all
	for i, err := range r.faults {
		if err != nil || r.entrances[i].Session != r.entrances[0].Session {
			t.Errorf("client %d: %v, of the same session %v", i, err, r.entrances[i].Session == r.entrances[0].Session)
		}
	}
	if len(building) > 0 {
		t.Error("it was built twice")
	}
}
