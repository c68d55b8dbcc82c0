package server

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"scv/internal/safe/redact"
	"scv/internal/session"
	"scv/internal/session/loop"
	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/testkit/scripted"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// talks keeps sessions in memory, as the ledger does on disk.
type talks struct {
	mu   sync.Mutex
	rows map[wire.SessionID]row.LoadedTalk
}

func (k *talks) SaveTalk(_ context.Context, c row.TalkChange) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rows == nil {
		k.rows = map[wire.SessionID]row.LoadedTalk{}
	}
	old := k.rows[c.Talk.ID]
	old.Talk = c.Talk
	old.Messages = append(slices.DeleteFunc(slices.Clone(old.Messages), func(m row.TalkMessage) bool { return m.Num < c.Below }), c.Messages...)
	entries := map[wire.QueueID]wire.QueueEntry{}
	for _, e := range slices.Concat(old.Queue, c.Entries) {
		entries[e.QueueID] = e
	}
	old.Queue = nil
	for _, id := range c.Talk.Order {
		old.Queue = append(old.Queue, entries[id])
	}
	k.rows[c.Talk.ID] = old
	return nil
}

func (k *talks) Talk(_ context.Context, id wire.SessionID) (row.LoadedTalk, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.rows[id]
	return t, ok, nil
}

func (k *talks) OpenTalks(context.Context) ([]row.Talk, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []row.Talk
	for _, id := range slices.Sorted(maps.Keys(k.rows)) {
		if t := k.rows[id].Talk; t.Ended == 0 {
			out = append(out, t)
		}
	}
	return out, nil
}

// sessions is the room of the model loop over a scripted model.
func (b *bench) sessions(masker *redact.Masker) *session.Host {
	b.model = &scripted.Model{}
	h, err := session.NewHost(context.Background(), session.Options{
		Build: func(_ context.Context, t row.Talk) (session.Setup, error) {
			mode := wire.ModeOnRisk
			tools := []tool.Tool{probe{"look", tool.ReadOnly}, probe{"change", tool.Filesystem}}
			s := session.Setup{
				Provider: b.model, Images: true, Tools: tools,
				Loop:      loop.Config{Model: "m", Mode: mode, Limits: loop.DefaultLimits()},
				Announced: wire.SessionStarted{Cwd: t.Workspace, Model: "m", ContextMaxTokens: 128000, MaxServerFrameBytes: wire.MaxServerFrame},
			}
			for _, one := range tools {
				s.Loop.Tools = append(s.Loop.Tools, one.Spec())
			}
			return s, nil
		},
		Journal: &b.talks, Bench: b.hub.Sessions(), Mask: func() *redact.Masker { return masker }, Now: time.Now,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.host = h
	return h
}

// again is a new server over the rows of this one, whose end was in order or not.
func (b *bench) again(inOrder bool) *bench {
	b.t.Helper()
	if inOrder {
		b.host.Close(context.Background())
	}
	b.talks.mu.Lock()
	rows := maps.Clone(b.talks.rows)
	b.talks.mu.Unlock()
	next := newBench(b.t, setup{late: true})
	next.dir, next.talks.rows = b.dir, rows
	next.ready()
	return next
}

// probe is a tool that answers with what it was given.
type probe struct {
	name string
	risk tool.Risk
}

func (p probe) Spec() provider.Tool {
	return provider.Tool{Name: p.name, Description: "answers", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (p probe) Parallel() bool { return p.risk == tool.ReadOnly }

func (p probe) Risk(args json.RawMessage) (tool.Assessment, error) {
	var any map[string]any
	return tool.Assessment{Risk: p.risk, Summary: p.name + " " + string(args)}, tool.Decode(args, &any)
}

func (p probe) Run(_ context.Context, args json.RawMessage, _ tool.Env) tool.Result {
	return tool.Result{Text: p.name + " gives " + string(args)}
}
