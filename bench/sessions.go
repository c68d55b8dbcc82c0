//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"scv/internal/client"
	"scv/internal/home"
	"scv/internal/session/loop"
	"scv/internal/session/provider"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// newSpeaker makes one that has said nothing.
func newSpeaker() *speaker {
	return &speaker{wish: regexp.MustCompile(`say (\d+) words each (\d+) ms`), said: map[string]time.Time{}}
}

// A speaker is a model service that says words: as many as the prompt names, one every so often. It notes when it said
// each.
type speaker struct {
	wish *regexp.Regexp

	mu   sync.Mutex
	said map[string]time.Time
}

// ServeHTTP implements http.Handler: an answer in chunks of the Chat Completions interface.
func (s *speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	all := s.wish.FindAllSubmatch(body, -1)
	if err != nil || len(all) == 0 {
		http.Error(w, "no wish", http.StatusBadRequest)
		return
	}
	newest := all[len(all)-1]
	n, _ := strconv.Atoi(string(newest[1]))
	pause, _ := strconv.Atoi(string(newest[2]))
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for i := range n {
		if pause > 0 {
			time.Sleep(time.Duration(pause) * time.Millisecond)
		}
		s.note(word(i))
		fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":%q}}]}`+"\n\n", word(i))
		if out.Flush() != nil {
			return
		}
	}
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

func (s *speaker) note(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said[word] = time.Now()
}

// when is the moment at which a word was said.
func (s *speaker) when(word string) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.said[word]
	return at, ok
}

// word is the i-th word, which reads like prose: it is shown as it comes.
func word(i int) string {
	letters := []byte("aaaaa ")
	for at := 4; i > 0; at, i = at-1, i/26 {
		letters[at] = 'a' + byte(i%26)
	}
	return string(letters)
}

// withSpeaker measures in a fresh lab whose sessions talk with a speaker.
func withSpeaker(ctx context.Context, exe string, prepare, measure func(l speakers) (string, error)) (got string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	model := newSpeaker()
	service := &http.Server{Handler: model}
	go func() { _ = service.Serve(listener) }() // ends with Close
	defer func() { err = errors.Join(err, service.Close()) }()
	l, err := newLab(exe)
	if err != nil {
		return "", err
	}
	defer closing(ctx, l, &err)
	settings := fmt.Sprintf("[provider]\nkind = \"openai-compatible\"\nwire_api = \"chat\"\nbase_url = \"http://%s/v1\"\nmodel = \"m\"\n", listener.Addr())
	if err := os.WriteFile(filepath.Join(l.home, "config.toml"), []byte(settings), 0o600); err != nil {
		return "", err
	}
	if prepare != nil {
		if _, err := prepare(speakers{l, model}); err != nil {
			return "", err
		}
	}
	if _, err := l.start(ctx); err != nil {
		return "", err
	}
	return measure(speakers{l, model})
}

// speakers is a lab with sessions.
type speakers struct {
	*lab
	model *speaker
}

// open starts a session that is kept.
func (l speakers) open(ctx context.Context) (*client.Conn, *client.Talk, error) {
	conn, err := l.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	talk, err := client.StartTalk(ctx, conn, wire.SessionStart{Cwd: l.work, Keep: new(true)})
	return conn, talk, err
}

// say puts a prompt and hands on each delta until the turn ends.
func say(ctx context.Context, talk *client.Talk, prompt string, delta func(text string)) error {
	if err := talk.Send(ctx, wire.TurnStart{RequestID: talk.NextID(), SessionID: talk.ID(), Prompt: prompt}); err != nil {
		return err
	}
	return hear(ctx, talk, delta)
}

func hear(ctx context.Context, talk *client.Talk, delta func(text string)) error {
	for {
		event, err := talk.Next(ctx)
		if err != nil {
			return err
		}
		switch e := event.(type) {
		case wire.AssistantDelta:
			delta(e.Content)
		case wire.TurnCompleted:
			return nil
		case wire.TurnFailed:
			return errors.New(e.Message)
		case wire.ErrorEvent:
			return e.Err()
		}
	}
}

// deltaCost is the daemon's CPU for each delta of an answer that comes as fast as it can: reading it from the service,
// masking, numbering and handing it to one client.
func deltaCost(ctx context.Context, exe string) (string, error) {
	return withSpeaker(ctx, exe, nil, func(l speakers) (string, error) {
		conn, talk, err := l.open(ctx)
		if err != nil {
			return "", err
		}
		defer func() { _ = conn.Close() }()
		got := 0
		count := func(string) { got++ }
		if err := say(ctx, talk, "say 2000 words each 0 ms", count); err != nil {
			return "", err
		}
		const n = 40_000
		got = 0
		before := cpuTime(l.daemon.Process.Pid)
		if err := say(ctx, talk, fmt.Sprintf("say %d words each 0 ms", n), count); err != nil {
			return "", err
		}
		used := cpuTime(l.daemon.Process.Pid) - before
		return fmt.Sprintf("%.1f us of CPU (%d deltas, %d events)", float64(used.Microseconds())/n, n, got), nil
	})
}

// idleSessions is what 100 sessions hold of the daemon's memory when each has had a turn and has its client still.
func idleSessions(ctx context.Context, exe string) (string, error) {
	return withSpeaker(ctx, exe, nil, func(l speakers) (string, error) {
		more := func(n int) error {
			for range n {
				_, talk, err := l.open(ctx) // its connection ends with the lab
				if err != nil {
					return err
				}
				if err := say(ctx, talk, "say 3 words each 0 ms", func(string) {}); err != nil {
					return err
				}
			}
			return nil
		}
		if err := more(10); err != nil { // the program's own pages are touched
			return "", err
		}
		time.Sleep(restAfter)
		before, err := status(l.daemon.Process.Pid, "VmRSS")
		if err != nil {
			return "", err
		}
		if err := more(100); err != nil {
			return "", err
		}
		working, err := status(l.daemon.Process.Pid, "VmRSS")
		if err != nil {
			return "", err
		}
		time.Sleep(restAfter)
		rest, err := status(l.daemon.Process.Pid, "VmRSS")
		grown := func(kb uint64) float64 { return (float64(kb) - float64(before)) / 1e3 }
		return fmt.Sprintf("%.1f MB at rest (%.1f MB right after their turns)", grown(rest), grown(working)), err
	})
}

// longHistory is the id of a session with a history of 10 MB.
const longHistory = "00000000-0000-4000-8000-000000000001"

// recordTalk writes that session: two thousand turns of a question and an answer, of which the model is shown as many as
// its window takes and notes on the others.
func (l speakers) recordTalk(ctx context.Context) (err error) {
	h, err := home.Open(l.home)
	if err != nil {
		return err
	}
	store, err := ledger.Open(ctx, h, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(ctx), h.Close()) }()
	const turns, size, shown = 2000, 5000, 70
	c := row.TalkChange{Talk: row.Talk{
		ID: longHistory, Workspace: l.work, Label: "bench", Keep: true, Persist: true, Next: 2 * turns, From: 2 * (turns - shown), Summary: "notes", Created: 1, Updated: uint64(time.Now().Unix()),
	}}
	for i := range uint64(turns) {
		for k, m := range []provider.Message{
			{Role: provider.User, Text: "What does this part do?\n"},
			{Role: provider.Assistant, Text: strings.Repeat("It reads \"each\" line\nand counts the words of it. ", size/50)},
		} {
			body, err := loop.Encode(m)
			if err != nil {
				return err
			}
			c.Messages = append(c.Messages, row.TalkMessage{Num: 2*i + uint64(k), Body: body})
		}
	}
	return ledger.TalksOf(store).SaveTalk(ctx, c)
}

// openHistory is the time to join a session with a long history: one that an earlier daemon left, and one that is live.
func openHistory(ctx context.Context, exe string) (string, error) {
	prepare := func(l speakers) (string, error) { return "", l.recordTalk(ctx) }
	return withSpeaker(ctx, exe, prepare, func(l speakers) (string, error) {
		var cold, warm []time.Duration
		var used time.Duration // of the daemon's CPU, for the cold ones
		join := func(all *[]time.Duration, used *time.Duration) error {
			conn, err := l.dial(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			pages, err := l.dial(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = pages.Close() }()
			begin, before := time.Now(), cpuTime(l.daemon.Process.Pid)
			talk, err := client.AttachTalk(ctx, conn, longHistory, l.work)
			if err != nil {
				return err
			}
			_, err = pages.Call(ctx, wire.SessionHistoryCommand{Session: longHistory})
			*all = append(*all, time.Since(begin))
			*used += cpuTime(l.daemon.Process.Pid) - before
			if err == nil && (talk.Started.History == nil || *talk.Started.History < 4000) {
				err = errors.New("the history is not there")
			}
			return err
		}
		const rounds = 9
		for range rounds {
			if err := errors.Join(join(&cold, &used), join(&warm, new(time.Duration)), l.stop(ctx)); err != nil {
				return "", err
			}
			if _, err := l.start(ctx); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("%.0f ms with its newest page (median; %.0f ms of CPU; live already: %.0f ms)",
			ms(quantile(cold, 0.5)), ms(used)/rounds, ms(quantile(warm, 0.5))), nil
	})
}

// fanOut is the time from a word of the model to each of 100 clients of one session.
func fanOut(ctx context.Context, exe string) (string, error) {
	return withSpeaker(ctx, exe, nil, func(l speakers) (string, error) {
		conn, talk, err := l.open(ctx)
		if err != nil {
			return "", err
		}
		defer func() { _ = conn.Close() }()
		var mu sync.Mutex
		var all []time.Duration
		note := func(text string) {
			now := time.Now()
			if at, ok := l.model.when(text); ok {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, now.Sub(at))
			}
		}
		var clients sync.WaitGroup
		var faults [100]error
		for i := range faults {
			conn, err := l.dial(ctx)
			if err != nil {
				return "", err
			}
			defer func() { _ = conn.Close() }()
			joined, err := client.AttachTalk(ctx, conn, talk.ID(), l.work)
			if err != nil {
				return "", err
			}
			clients.Go(func() { faults[i] = hear(ctx, joined, note) })
		}
		err = say(ctx, talk, "say 200 words each 40 ms", func(string) {})
		clients.Wait()
		if err = errors.Join(append(faults[:], err)...); err != nil {
			return "", err
		}
		if len(all) < 19_000 {
			return "", fmt.Errorf("only %d deltas came one by one", len(all))
		}
		return fmt.Sprintf("p50 %.1f ms, p95 %.1f ms (%d arrivals)", ms(quantile(all, 0.5)), ms(quantile(all, 0.95)), len(all)), nil
	})
}
