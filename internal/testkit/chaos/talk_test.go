//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/failpoint"
	"scv/internal/testkit/fakemodel"
	"scv/internal/wire"
)

// A saying is a prompt of a talker, in each of the texts that it has had.
type saying struct {
	texts   []string // the first as it was put; the others were asked for as changes
	known   int      // how many of them were acknowledged
	removed bool     // that was acknowledged
	unsure  bool     // a removal of it got no answer
}

// A talker is the client of one session, which attaches to it again after each daemon's end. It keeps what was
// acknowledged, and looks at each coming back whether the queue is the one that it knows.
type talker struct {
	l      *lab
	name   string
	random *rand.Rand
	said   func(ack)

	id      wire.SessionID
	sayings map[string]*saying
	puts    int
	queue   []wire.QueueEntry // as events told
	doubt   []wire.QueueEntry // as it is when the request that got no answer was followed; nil for none
	turn    bool              // one runs
	acks    map[string]int
	tools   map[string]bool // that were seen to have run
}

// talk goes on until ctx ends: it comes back to the session as often as that takes.
func (k *talker) talk(ctx, finish context.Context) error {
	for ctx.Err() == nil {
		err := k.visit(ctx, finish)
		if refused, ok := errors.AsType[*wire.Error](err); ok && refused.Reason != wire.ReasonUnavailable {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		if wrong, ok := errors.AsType[wrongQueue](err); ok {
			return fmt.Errorf("%s: %w", k.name, wrong)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond): // the next daemon is not there yet
		}
	}
	return nil
}

// wrongQueue is a queue that is not what was acknowledged.
type wrongQueue struct{ error }

// visit is one connection.
func (k *talker) visit(ctx, finish context.Context) error {
	t, done, err := k.enter(finish)
	if err != nil {
		return err
	}
	defer done()
	for ctx.Err() == nil {
		m, name := k.wish()
		if m == nil {
			continue
		}
		k.doubted(m)
		if err := t.Send(finish, m); err != nil {
			return err
		}
		if err := k.until(finish, t, m.Request()); err != nil {
			return err
		}
		k.doubt = nil
		k.acks[name]++
		k.said(ack{op: name, tag: k.name})
	}
	return nil
}

// enter attaches to the session, or starts it.
func (k *talker) enter(ctx context.Context) (*client.Talk, func(), error) {
	conn, err := client.Dial(ctx, k.l.target(), wire.PeerInfo{Name: "chaos", Version: "1"})
	if err != nil {
		return nil, nil, err
	}
	done := func() { _ = conn.Close() }
	var t *client.Talk
	if k.id == "" {
		t, err = client.StartTalk(ctx, conn, wire.SessionStart{Cwd: k.l.work, Keep: new(true)})
	} else {
		t, err = client.AttachTalk(ctx, conn, k.id, k.l.work)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	k.id, k.turn = t.ID(), t.Started.Turn != nil
	event, err := t.Next(ctx)
	if err == nil {
		err = k.returned(event, t.Started)
	}
	if err == nil && t.Started.Turn != nil {
		for _, a := range t.Started.Turn.Approvals {
			err = errors.Join(err, k.allow(ctx, t, a))
		}
	}
	if err != nil {
		done()
	}
	return t, done, err
}

// returned compares the queue with the one that is known: the beginning of it may have been started meanwhile, and what
// got no answer may have been done.
func (k *talker) returned(event wire.ServerEvent, started wire.SessionStarted) error {
	e, ok := event.(wire.QueueSnapshot)
	if !ok {
		return wrongQueue{fmt.Errorf("%s came before the queue", event.EventType())}
	}
	tail := func(known []wire.QueueEntry) bool {
		return len(e.Entries) <= len(known) && slices.EqualFunc(e.Entries, known[len(known)-len(e.Entries):], func(a, b wire.QueueEntry) bool {
			return a.Prompt == b.Prompt && a.Revision == b.Revision
		})
	}
	if !tail(k.queue) && (k.doubt == nil || !tail(k.doubt)) {
		return wrongQueue{fmt.Errorf("the queue is %v, and known is %v, or %v", e.Entries, k.queue, k.doubt)}
	}
	if started.Restored != nil && len(e.Entries) > 0 && !e.Paused {
		return wrongQueue{errors.New("a queue was restored and is not paused")}
	}
	k.queue, k.doubt = slices.Clone(e.Entries), nil
	return nil
}

// wish draws what to ask for.
func (k *talker) wish() (wire.ClientMessage, string) {
	id := func() wire.RequestID { k.puts++; return wire.RequestID(fmt.Sprintf("%s-%d", k.name, k.puts)) }
	what := k.random.IntN(10)
	if what < 5 || len(k.queue) == 0 {
		if len(k.queue) > 20 {
			return wire.SessionPause{RequestID: id(), SessionID: k.id}, "resume"
		}
		r := id()
		return wire.TurnStart{RequestID: r, SessionID: k.id, Prompt: k.prompt(string(r))}, "prompt"
	}
	e := k.queue[k.random.IntN(len(k.queue))]
	switch what {
	case 5, 6:
		return wire.QueueUpdate{RequestID: id(), SessionID: k.id, QueueID: e.QueueID, Revision: e.Revision, Prompt: k.changed(e)}, "change"
	case 7:
		m := wire.QueueMove{RequestID: id(), SessionID: k.id, QueueID: e.QueueID, Revision: e.Revision}
		if before := k.queue[k.random.IntN(len(k.queue))]; before.QueueID != e.QueueID {
			m.BeforeQueueID = &before.QueueID
		}
		return m, "move"
	case 8:
		return wire.QueueRemove{RequestID: id(), SessionID: k.id, QueueID: e.QueueID, Revision: e.Revision}, "remove"
	}
	return wire.SessionPause{RequestID: id(), SessionID: k.id}, "resume"
}

// prompt is a new text: of a word, of a turn that takes its time, with a tool that leaves a trace, or with a job.
func (k *talker) prompt(tag string) string {
	script := "say:done"
	switch k.random.IntN(6) {
	case 0, 1:
		script = "hang:1"
	case 2:
		script = fmt.Sprintf(`tool:bash:{"command":"echo %s. >> traces"}|say:done`, tag)
	case 3, 4:
		script = `tool:agent:{"agent":"demo","prompt":"say hi"}|say:started`
	}
	text := fmt.Sprintf("<%s.0> @@%s", tag, script)
	k.sayings[tag] = &saying{texts: []string{text}}
	return text
}

func (k *talker) of(prompt string) (tag string, s *saying) {
	tag, _, _ = strings.Cut(strings.TrimPrefix(prompt, "<"), ".")
	return tag, k.sayings[tag]
}

func (k *talker) changed(e wire.QueueEntry) string {
	tag, s := k.of(e.Prompt)
	text := fmt.Sprintf("<%s.%d> @@say:changed", tag, len(s.texts))
	s.texts = append(s.texts, text)
	return text
}

// doubted notes what the queue will be if a request is followed and nobody hears of it.
func (k *talker) doubted(m wire.ClientMessage) {
	q := slices.Clone(k.queue)
	at := func(id wire.QueueID) int {
		return slices.IndexFunc(q, func(e wire.QueueEntry) bool { return e.QueueID == id })
	}
	switch m := m.(type) {
	case wire.TurnStart:
		q = append(q, wire.QueueEntry{Prompt: m.Prompt, Revision: 1})
	case wire.QueueUpdate:
		q[at(m.QueueID)].Prompt = m.Prompt
		q[at(m.QueueID)].Revision++
	case wire.QueueRemove:
		_, s := k.of(q[at(m.QueueID)].Prompt)
		s.unsure = true
		q = slices.Delete(q, at(m.QueueID), at(m.QueueID)+1)
	case wire.QueueMove:
		i := at(m.QueueID)
		e := q[i]
		e.Revision++
		q = slices.Delete(q, i, i+1)
		to := len(q)
		if m.BeforeQueueID != nil {
			to = at(*m.BeforeQueueID)
		}
		q = slices.Insert(q, to, e)
	}
	k.doubt = q
}

// until follows events to the one that answers a request.
func (k *talker) until(ctx context.Context, t *client.Talk, id wire.RequestID) error {
	for {
		event, err := t.Next(ctx)
		if err != nil {
			return err
		}
		answer, err := k.take(ctx, t, event)
		if err != nil || answer == id {
			return err
		}
	}
}

// take folds an event and returns the request that it answers.
func (k *talker) take(ctx context.Context, t *client.Talk, event wire.ServerEvent) (wire.RequestID, error) {
	at := func(id wire.QueueID) int {
		return slices.IndexFunc(k.queue, func(e wire.QueueEntry) bool { return e.QueueID == id })
	}
	switch e := event.(type) {
	case wire.TurnStarted:
		k.turn = true
		if e.Prompt != nil {
			k.know(*e.Prompt)
		}
		return e.RequestID, nil
	case wire.QueueEnqueued:
		k.know(e.Entry.Prompt)
		k.queue = append(k.queue, e.Entry)
		return e.RequestID, nil
	case wire.QueueUpdated:
		k.know(e.Entry.Prompt)
		k.queue[at(e.Entry.QueueID)] = e.Entry
		return e.RequestID, nil
	case wire.QueueMoved:
		one := k.queue[at(e.QueueID)]
		one.Revision = e.Revision
		k.queue = slices.Delete(k.queue, at(e.QueueID), at(e.QueueID)+1)
		k.queue = slices.Insert(k.queue, int(e.Position), one)
		return e.RequestID, nil
	case wire.QueueRemoved:
		_, s := k.of(k.queue[at(e.QueueID)].Prompt)
		s.removed = true
		k.queue = slices.Delete(k.queue, at(e.QueueID), at(e.QueueID)+1)
		return e.RequestID, nil
	case wire.QueueDequeued:
		k.queue = slices.Delete(k.queue, at(e.QueueID), at(e.QueueID)+1)
	case wire.SessionPaused:
		return e.RequestID, nil
	case wire.ApprovalRequested:
		return "", k.allow(ctx, t, e)
	case wire.ToolCompleted:
		if tag, _, ok := strings.Cut(string(e.RequestID), "/"); e.Success && !ok {
			k.tools[tag] = k.tools[tag] || e.Name == "bash"
		}
	case wire.TurnCompleted, wire.TurnCancelled, wire.TurnFailed:
		k.turn = false
	case wire.ErrorEvent: // it was started meanwhile
		if e.RequestID == nil || e.Reason == nil || *e.Reason != wire.ReasonNotFound && *e.Reason != wire.ReasonExpired && *e.Reason != wire.ReasonConflict {
			return "", e.Err()
		}
		return *e.RequestID, nil
	}
	return "", nil
}

// know notes an acknowledged text.
func (k *talker) know(prompt string) {
	if _, s := k.of(prompt); s != nil {
		s.known = max(s.known, slices.Index(s.texts, prompt)+1)
	}
}

func (k *talker) allow(ctx context.Context, t *client.Talk, a wire.ApprovalRequested) error {
	return t.Send(ctx, wire.ApprovalResolve{RequestID: "allow-" + wire.RequestID(a.ApprovalID), SessionID: k.id, ApprovalID: a.ApprovalID, Approved: true})
}

// TestSessionsUnderKills: sessions of the model loop while their daemons are killed, at random and around each commit.
// What was acknowledged is there once: each prompt was asked of the model at most once, or waits, in its order and in
// its newest words; each tool that was allowed ran at most once; and each job's end was told once.
func TestSessionsUnderKills(t *testing.T) {
	seed := seed(t)
	kills := 60 * *longFlag
	k := newLab(t).loop()
	model := fakemodel.New(nil)
	service := httptest.NewServer(model)
	t.Cleanup(func() {
		service.CloseClientConnections()
		service.Close()
	})
	k.must(os.WriteFile(filepath.Join(k.home, "config.toml"), fmt.Appendf(settings(8),
		"[agent]\nprefer = [\"demo\"]\n[provider]\nkind = \"openai-compatible\"\nwire_api = \"chat\"\nbase_url = %q\nmodel = \"m\"\n", service.URL+"/v1"), 0o600))
	ctx, stop := context.WithCancel(k.ctx)
	defer stop()
	talkers := make([]*talker, 2)
	faults := make([]error, len(talkers))
	var all sync.WaitGroup
	for i := range talkers {
		one := &talker{
			l: k.lab, name: fmt.Sprintf("t%d", i), random: random(seed, uint64(200+i)), said: k.said, sayings: map[string]*saying{},
			acks: map[string]int{}, tools: map[string]bool{},
		}
		talkers[i] = one
		all.Go(func() { faults[i] = one.talk(ctx, k.ctx) })
	}
	places := []string{failpoint.LedgerCommit.Place(failpoint.Before), failpoint.LedgerCommit.Place(failpoint.After)}
	r := random(seed, 2)
	for range kills {
		s := step{rules: "seed=1", from: fromAck, after: time.Duration(r.IntN(120_000)) * time.Microsecond}
		if r.IntN(2) == 0 {
			s.place = places[r.IntN(len(places))]
			s.rules, s.from, s.after = fmt.Sprintf("%s=kill@%d", s.place, 1+r.IntN(12)), fromReady, late
		}
		k.live(s)
	}
	stop()
	k.start("", "")
	all.Wait()
	k.must(errors.Join(faults...))
	commands, jobs := 0, 0
	for _, one := range talkers {
		jobs += one.check(model)
		commands += len(one.tools)
	}
	if commands == 0 || jobs == 0 {
		t.Error("no command was seen to run, or no job to begin: the loop proves little")
	}
	k.tell("daemon killed under sessions", len(talkers), nil, talkers[0].acks)
}
