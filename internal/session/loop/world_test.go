package loop

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// disk keeps what a session saved, as the ledger would.
type disk struct {
	kept    row.LoadedTalk
	entries map[wire.QueueID]wire.QueueEntry
}

func (d *disk) save(t testing.TB, c Change) {
	t.Helper()
	d.kept.Talk = c.Talk
	d.kept.Messages = slices.DeleteFunc(d.kept.Messages, func(m row.TalkMessage) bool { return m.Num < c.Below })
	for i, m := range c.Messages {
		body, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		d.kept.Messages = append(d.kept.Messages, row.TalkMessage{Num: c.First + uint64(i), Body: body})
	}
	if d.entries == nil {
		d.entries = map[wire.QueueID]wire.QueueEntry{}
	}
	for _, e := range c.Entries {
		d.entries[e.QueueID] = e
	}
	for _, id := range c.Gone {
		delete(d.entries, id)
	}
}

// load is what a later process finds.
func (d *disk) load() row.LoadedTalk {
	out := d.kept
	out.Queue, out.Messages = nil, nil
	for _, m := range d.kept.Messages {
		if m.Num >= d.kept.Talk.From {
			out.Messages = append(out.Messages, m)
			continue
		}
		out.Old = append(out.Old, row.TalkOld{Num: m.Num, Bytes: len(m.Body), Head: string(m.Body[:min(len(m.Body), row.TalkHead)])})
	}
	for _, id := range d.kept.Talk.Order {
		out.Queue = append(out.Queue, d.entries[id])
	}
	return out
}

// world plays what is around a Core, and judges what it says by rules of its own.
type world struct {
	t       testing.TB
	core    *Core
	disk    disk
	now     time.Time
	ids     int
	asks    []Ask
	sums    []Summarise
	runs    []Run
	alarms  []Alarm
	said    []wire.ServerEvent
	answers []wire.ServerEvent

	seq     uint64
	turn    wire.TurnID // that runs, as events tell
	ended   map[wire.TurnID]bool
	open    map[wire.ApprovalID]bool
	waiting []wire.QueueID // as events tell
}

func newWorld(t testing.TB, change func(*Config)) *world {
	w := &world{t: t, now: time.Unix(1_800_000_000, 0), ended: map[wire.TurnID]bool{}, open: map[wire.ApprovalID]bool{}, seq: 1}
	cfg := Config{Model: "m", System: "s", Mode: wire.ModeOnRisk, Limits: DefaultLimits(), NewID: func() string {
		w.ids++
		return fmt.Sprintf("id-%d", w.ids)
	}}
	if change != nil {
		change(&cfg)
	}
	w.core = New(cfg, row.Talk{ID: "s", Workspace: "/w", Keep: true, Persist: true})
	w.core.Snapshot()
	w.do(w.core.Start(w.now))
	return w
}

func (w *world) step(in Input) {
	w.t.Helper()
	w.now = w.now.Add(time.Second)
	w.do(w.core.Step(w.now, in))
}

func (w *world) do(effects []Effect) {
	w.t.Helper()
	for _, e := range effects {
		switch e := e.(type) {
		case Say:
			w.hear(e.Event)
		case Answer:
			w.answers = append(w.answers, e.Event)
		case Save:
			w.disk.save(w.t, e.Change)
		case Ask:
			w.asks = append(w.asks, e)
			whole(w.t, e.Request.Messages)
		case Summarise:
			w.sums = append(w.sums, e)
		case Run:
			w.runs = append(w.runs, e)
		case Alarm:
			w.alarms = append(w.alarms, e)
		}
	}
}

// whole checks that each call is answered right after it, once.
func whole(t testing.TB, all []provider.Message) {
	t.Helper()
	for i, m := range all {
		if len(m.Calls) == 0 {
			continue
		}
		if i+1 == len(all) || len(all[i+1].Results) != len(m.Calls) {
			t.Fatalf("message %d has %d calls without their results: %+v", i, len(m.Calls), all)
		}
		for k, c := range m.Calls {
			if all[i+1].Results[k].ID != c.ID {
				t.Fatalf("call %s is answered by %s", c.ID, all[i+1].Results[k].ID)
			}
		}
	}
}

// hear judges an event: numbers without a gap, one end for each turn and nothing of it after that, and a queue on disk
// that is the one told.
func (w *world) hear(e wire.ServerEvent) {
	w.t.Helper()
	w.said = append(w.said, e)
	data, err := wire.Encode(e)
	if err != nil {
		w.t.Fatal(err)
	}
	var f struct {
		Seq    uint64      `json:"seq"`
		TurnID wire.TurnID `json:"turn_id"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		w.t.Fatal(err)
	}
	if w.seq++; f.Seq != w.seq {
		w.t.Fatalf("%s has number %d, want %d", e.EventType(), f.Seq, w.seq)
	}
	if w.ended[f.TurnID] {
		w.t.Fatalf("%s of a turn that has ended", e.EventType())
	}
	switch e := e.(type) {
	case wire.TurnStarted:
		if w.turn != "" {
			w.t.Fatal("two turns at once")
		}
		w.turn = e.TurnID
	case wire.TurnCompleted, wire.TurnCancelled, wire.TurnFailed:
		w.turn, w.ended[f.TurnID] = "", true
		clear(w.open)
	case wire.ApprovalRequested:
		w.open[e.ApprovalID] = true
	case wire.QueueEnqueued:
		w.waiting = append(w.waiting, e.Entry.QueueID)
	case wire.QueueRemoved:
		w.waiting = slices.DeleteFunc(w.waiting, func(id wire.QueueID) bool { return id == e.QueueID })
	case wire.QueueDequeued:
		if w.waiting[0] != e.QueueID {
			w.t.Fatalf("%s goes before %s", e.QueueID, w.waiting[0])
		}
		w.waiting = w.waiting[1:]
	case wire.QueueMoved:
		w.waiting = slices.DeleteFunc(w.waiting, func(id wire.QueueID) bool { return id == e.QueueID })
		w.waiting = slices.Insert(w.waiting, int(e.Position), e.QueueID)
	}
	switch e.(type) {
	case wire.QueueEnqueued, wire.QueueRemoved, wire.QueueDequeued, wire.QueueMoved, wire.QueueUpdated:
		if !slices.Equal(w.disk.kept.Talk.Order, w.waiting) || len(w.disk.entries) != len(w.waiting) {
			w.t.Fatalf("%s was told, and on disk there is %v of %v", e.EventType(), w.disk.kept.Talk.Order, w.waiting)
		}
	}
}

func (w *world) prompt(text string) {
	w.ids++
	w.step(Message{From: 1, Text: wire.TurnStart{RequestID: wire.RequestID(fmt.Sprint("r", w.ids)), SessionID: "s", Prompt: text}})
}

// answer answers the newest question to the model.
func (w *world) answer(a provider.Answer, f *provider.Fault, calls ...Proposed) {
	q := w.asks[len(w.asks)-1]
	w.asks = w.asks[:len(w.asks)-1]
	a.Message.Role = provider.Assistant
	w.step(Answered{Turn: q.Turn, Answer: a, Fault: f, Calls: calls})
}

func says(text string) provider.Answer {
	return provider.Answer{Stop: provider.StopEnd, Message: provider.Message{Text: text}, Usage: provider.Usage{Input: 10, Output: 2}}
}

// wants is an answer with calls, and what their tools say of them: a risk, or that it is refused.
func wants(risks ...tool.Risk) (provider.Answer, []Proposed) {
	a := provider.Answer{Stop: provider.StopCalls}
	var all []Proposed
	for i, r := range risks {
		a.Message.Calls = append(a.Message.Calls, provider.Call{ID: fmt.Sprintf("c%d", i), Name: string(r), Arguments: json.RawMessage(`{}`)})
		all = append(all, Proposed{Parallel: r == tool.ReadOnly, Assessment: tool.Assessment{Risk: r, Summary: "do"}})
	}
	return a, all
}

func (w *world) last(t *testing.T, kind string) wire.ServerEvent {
	t.Helper()
	if len(w.said) == 0 || w.said[len(w.said)-1].EventType() != kind {
		t.Fatalf("the last event is %v, want %s", w.said[max(0, len(w.said)-1):], kind)
	}
	return w.said[len(w.said)-1]
}
