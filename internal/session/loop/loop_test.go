package loop

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/wire"
)

func TestToolsThatChangeNothingRunSideBySide(t *testing.T) {
	w := newWorld(t, nil)
	w.prompt("go")
	a, all := wants(tool.ReadOnly, tool.ReadOnly, tool.Process, tool.ReadOnly)
	w.answer(a, nil, all...)
	if len(w.runs) != 2 {
		t.Fatalf("%d calls run, want the first two", len(w.runs))
	}
	w.step(Ran{Turn: 1, Call: "c1", Result: tool.Result{Text: "b"}})
	w.step(Ran{Turn: 1, Call: "c0", Result: tool.Result{Text: "a"}})
	asked, ok := w.last(t, "approval.requested").(wire.ApprovalRequested)
	if !ok || len(w.runs) != 2 {
		t.Fatalf("a call that changes something began beside others: %v", w.runs)
	}
	w.step(Message{From: 1, Text: wire.ApprovalResolve{SessionID: "s", ApprovalID: asked.ApprovalID, Approved: true}})
	w.step(Ran{Turn: 1, Call: "c2", Result: tool.Result{Text: "c"}})
	w.step(Ran{Turn: 1, Call: "c3", Result: tool.Result{Text: "d"}})
	var got []string
	for _, r := range w.asks[0].Request.Messages[2].Results {
		got = append(got, r.Text)
	}
	if strings.Join(got, "") != "abcd" {
		t.Errorf("the results come as %v", got)
	}
	w.answer(says("done"), nil)
	if e := w.last(t, "turn.completed").(wire.TurnCompleted); e.Steps != 2 || *e.Usage.InputTokens != 10 {
		t.Errorf("%+v", e)
	}
}

// TestFailedTurnKeepsWhatItsToolsDid: neither a fault nor a cancel takes back what was done (issue 9, loop).
func TestFailedTurnKeepsWhatItsToolsDid(t *testing.T) {
	for name, end := range map[string]func(w *world){
		"fault": func(w *world) {
			w.answer(provider.Answer{}, &provider.Fault{Class: provider.Server, Sentence: "it failed"})
		},
		"cancel": func(w *world) {
			w.step(Message{From: 1, Text: wire.TurnCancel{SessionID: "s", TurnID: w.turn}})
			w.answer(provider.Answer{}, &provider.Fault{Class: provider.Cancelled})
		},
	} {
		w := newWorld(t, nil)
		w.prompt("write it")
		a, all := wants(tool.ReadOnly)
		w.answer(a, nil, all...)
		w.step(Ran{Turn: 1, Call: "c0", Result: tool.Result{Text: "wrote main.go"}})
		end(w)
		w.prompt("and now?")
		text, _ := json.Marshal(w.asks[len(w.asks)-1].Request.Messages)
		if !strings.Contains(string(text), "wrote main.go") || !strings.Contains(string(text), "What its tools did") {
			t.Errorf("%s: the next turn does not know: %s", name, text)
		}
	}
}

func TestStepsAreBounded(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits.Steps = 3 })
	w.prompt("for ever")
	for range 3 {
		a, all := wants(tool.ReadOnly)
		w.answer(a, nil, all...)
		w.step(Ran{Turn: 1, Call: "c0", Result: tool.Result{Text: "again"}})
	}
	if e := w.last(t, "turn.failed").(wire.TurnFailed); e.Code != wire.CodeStepLimit {
		t.Errorf("%+v", e)
	}
}

func TestCallsAndArgumentsAreBounded(t *testing.T) {
	for _, big := range []bool{true, false} {
		w := newWorld(t, func(c *Config) { c.Limits.Calls, c.Limits.Arguments = 2, 10 })
		w.prompt("go")
		a, all := wants(tool.ReadOnly, tool.ReadOnly, tool.ReadOnly)
		if big {
			a, all = wants(tool.ReadOnly)
			a.Message.Calls[0].Arguments = json.RawMessage(`{"a":"longer than ten"}`)
		}
		w.answer(a, nil, all...)
		if e := w.last(t, "turn.failed").(wire.TurnFailed); e.Code != wire.CodeToolLimit || len(w.runs) != 0 {
			t.Errorf("%+v", e)
		}
	}
}

// TestLongConversationIsSummarised: old turns become notes of the model's own, and what must not be forgotten stands
// beside them.
func TestLongConversationIsSummarised(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits.Window, c.Limits.Reserve, c.Limits.Safety = 4000, 500, 100 })
	w.step(Message{From: 1, Text: wire.SessionPin{SessionID: "s", Pins: []string{"never push"}}})
	w.prompt("the very first wish")
	w.answer(provider.Answer{Stop: provider.StopEnd, Message: provider.Message{Text: strings.Repeat("long ", 900)}}, nil)
	w.prompt("second")
	w.answer(provider.Answer{Stop: provider.StopEnd, Message: provider.Message{Text: strings.Repeat("more ", 900)}}, nil)
	w.prompt("third " + strings.Repeat("words ", 400))
	if len(w.sums) != 1 || len(w.asks) != 0 {
		t.Fatalf("%d summaries, %d questions", len(w.sums), len(w.asks))
	}
	if text := w.sums[0].Request.Messages[0].Text; !strings.Contains(text, "the very first wish") {
		t.Errorf("the notes are made of %.100q", text)
	}
	w.step(Summed{Turn: w.sums[0].Turn, Text: "the notes"})
	compacted := w.last(t, "context.compacted").(wire.ContextCompacted)
	if compacted.AfterTokens >= compacted.BeforeTokens || compacted.RemovedMessages == 0 {
		t.Errorf("%+v", compacted)
	}
	head := w.asks[0].Request.Messages[0].Text
	for _, want := range []string{"the notes", "the very first wish", "never push"} {
		if !strings.Contains(head, want) {
			t.Errorf("the model is not told %q: %s", want, head)
		}
	}
	if len(w.disk.kept.Messages) != 5 {
		t.Errorf("%d messages are kept, want all 5", len(w.disk.kept.Messages))
	}
	if all := w.core.past.messages; all[0].Text != "" || all[3].Text != "" || all[4].Text == "" {
		t.Error("what the model is not shown any more is held in memory, or what it is shown is not")
	}
	w.answer(says("ok"), nil)
	again, err := Load(w.core.cfg, w.disk.load())
	if err != nil {
		t.Fatal(err)
	}
	if again.past.summary != "the notes" || len(again.past.shown()) != 2 {
		t.Errorf("a later process is shown %d messages after %q", len(again.past.shown()), again.past.summary)
	}
}

// TestOldTurnsGoWhole: the bound of a history counts and takes what was loaded without its text like anything else.
func TestOldTurnsGoWhole(t *testing.T) {
	w := newWorld(t, nil)
	for range 4 {
		w.prompt("a question")
		a, all := wants(tool.ReadOnly)
		w.answer(a, nil, all...)
		w.step(Ran{Turn: w.core.turn.num, Call: "c0", Result: tool.Result{Text: "r"}})
		w.answer(says("an answer"), nil)
	}
	kept := w.disk.load()
	kept.Talk.From, kept.Talk.Summary = 12, "notes"
	w.disk.kept.Talk = kept.Talk
	cfg := w.core.cfg
	cfg.Limits.HistoryMessages = 10
	core, err := Load(cfg, w.disk.load())
	if err != nil {
		t.Fatal(err)
	}
	if n := core.past.next(); n != 16 || core.past.messages[4].Role != provider.User || core.past.messages[4].Text != "" {
		t.Fatalf("%d messages, of them the fifth %+v", n, core.past.messages[4])
	}
	if effects := core.Start(w.now); len(effects) != 0 {
		t.Errorf("a session that nothing is to be set right of is written: %v", effects)
	}
	core.Step(w.now, Message{From: 1, Text: wire.TurnStart{RequestID: "r", SessionID: "s", Prompt: "one more"}})
	if first := core.past.first; first != 8 || core.past.summary != "notes" {
		t.Errorf("the history begins at message %d, with %q; two turns were to go", first, core.past.summary)
	}
}

func TestSummaryWithoutAModel(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits.Window, c.Limits.Reserve, c.Limits.Safety = 3000, 500, 100 })
	w.prompt("first")
	w.answer(provider.Answer{Stop: provider.StopEnd, Message: provider.Message{Text: strings.Repeat("long ", 1400)}}, nil)
	w.prompt("second " + strings.Repeat("words ", 200))
	w.step(Summed{Turn: w.sums[0].Turn, Fault: &provider.Fault{Class: provider.Server, Sentence: "no"}})
	if head := w.asks[0].Request.Messages[0].Text; !strings.Contains(head, "- user: first") {
		t.Errorf("the notes are %q", head)
	}
}

func TestTurnThatCannotFit(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits.Window, c.Limits.Reserve, c.Limits.Safety = 1000, 100, 100 })
	w.prompt(strings.Repeat("words ", 2000))
	if e := w.last(t, "turn.failed").(wire.TurnFailed); e.Code != wire.CodeContextLimit || len(w.asks) != 0 {
		t.Errorf("%+v", e)
	}
}

// TestReportsArriveOnce: the end of a job is told in a turn of its own, tried again after a fault, and given out without
// the model in the end; a second end of the same job is nothing.
func TestReportsArriveOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.prompt("delegate")
	a, all := wants(tool.ReadOnly)
	w.answer(a, nil, all...)
	w.step(Ran{Turn: 1, Call: "c0", Result: tool.Result{Text: "started", Jobs: []wire.JobChange{{Job: "job-1", Tool: "agent", Agent: "codex", Status: wire.JobRunning}}}})
	report := wire.JobReport{Job: "job-1", Agent: "codex", Status: wire.JobCompleted, Reply: "all green"}
	w.step(Ended{report})
	w.step(Ended{report})
	w.answer(says("it runs"), nil)
	for i, wait := range []uint64{30, 120} {
		if !strings.Contains(w.asks[0].Request.Messages[len(w.asks[0].Request.Messages)-1].Text, "all green") {
			t.Fatal("the model is not told what the job said")
		}
		w.answer(provider.Answer{}, &provider.Fault{Class: provider.Server, Sentence: "down"})
		if e := w.last(t, "turn.failed").(wire.TurnFailed); e.Origin == nil || *e.Origin.RetrySeconds != wait {
			t.Fatalf("try %d: %+v", i, e)
		}
		w.step(w.alarms[len(w.alarms)-1].Input)
	}
	w.answer(provider.Answer{}, &provider.Fault{Class: provider.Server, Sentence: "down"})
	var gave int
	for _, e := range w.said {
		if r, ok := e.(wire.BackgroundReported); ok {
			gave++
			if len(r.Reports) != 1 || r.Attempts != 3 {
				t.Errorf("%+v", r)
			}
		}
	}
	w.step(Ended{report})
	if gave != 1 || len(w.asks) != 0 || len(w.core.Open()) != 0 {
		t.Errorf("it was given out %d times, %d questions are open", gave, len(w.asks))
	}
}

// TestP13_RestoredQueue: what waited is there after a crash, paused, and the prompt that ran is shown and never sent again.
func TestP13_RestoredQueue(t *testing.T) {
	w := newWorld(t, nil)
	for _, p := range []string{"the running one", "a", "b", "c"} {
		w.prompt(p)
	}
	again, err := Load(w.core.cfg, w.disk.load())
	if err != nil {
		t.Fatal(err)
	}
	effects := again.Start(w.now)
	if again.Queue() != 3 || !again.Talk().Paused || again.Talk().Interrupted != "the running one" || again.Talk().Running != "" {
		t.Errorf("%+v", again.Talk())
	}
	for _, e := range effects {
		if _, sent := e.(Ask); sent {
			t.Error("something was sent")
		}
	}
	w.disk.save(t, effects[0].(Save).Change)
	third, err := Load(w.core.cfg, w.disk.load())
	if err != nil || third.past.next() != again.past.next() || third.Talk().Interrupted != "the running one" {
		t.Errorf("a second crash changes what is told: %v", err)
	}
}

// TestSessionsKeepTheirRules plays any order of what clients, model, tools and a crash may do.
func TestSessionsKeepTheirRules(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, func(c *Config) { c.Limits.Steps = 4; c.Limits.HistoryMessages = 12 })
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			w.random(r)
		}
		all := w.core.past.messages
		if n := len(all); n > 0 && len(all[n-1].Calls) > 0 { // they run
			all = all[:n-1]
		}
		whole(t, all)
	})
}

func (w *world) random(r *rapid.T) {
	pick := func(of []wire.QueueID) wire.QueueID {
		if len(of) == 0 {
			return "none"
		}
		return rapid.SampledFrom(of).Draw(r, "entry")
	}
	switch rapid.IntRange(0, 11).Draw(r, "what") {
	case 0, 1:
		w.prompt("p")
	case 2, 3:
		w.model(r)
	case 4, 5:
		if len(w.runs) > 0 {
			i := rapid.IntRange(0, len(w.runs)-1).Draw(r, "run")
			run := w.runs[i]
			w.runs = slices.Delete(w.runs, i, i+1)
			w.step(Ran{Turn: run.Turn, Call: run.Call.ID, Result: tool.Result{Text: "r"}})
		}
	case 6:
		ids := slices.Sorted(maps.Keys(w.open))
		if len(ids) > 0 {
			id := rapid.SampledFrom(ids).Draw(r, "approval")
			delete(w.open, id)
			w.step(Message{From: 1, Text: wire.ApprovalResolve{SessionID: "s", ApprovalID: id, Approved: rapid.Bool().Draw(r, "yes")}})
		}
	case 7:
		w.step(Message{From: 1, Text: wire.TurnCancel{SessionID: "s", TurnID: w.turn}})
	case 8:
		id := pick(w.waiting)
		w.step(Message{From: 1, Text: wire.QueueRemove{SessionID: "s", QueueID: id, Revision: w.disk.entries[id].Revision}})
	case 9:
		id, before := pick(w.waiting), pick(w.waiting)
		m := wire.QueueMove{SessionID: "s", QueueID: id, Revision: w.disk.entries[id].Revision}
		if rapid.Bool().Draw(r, "before") {
			m.BeforeQueueID = &before
		}
		w.step(Message{From: 1, Text: m})
	case 10:
		w.step(Message{From: 1, Text: wire.SessionPause{SessionID: "s", Paused: rapid.Bool().Draw(r, "paused")}})
	case 11:
		if len(w.alarms) > 0 {
			a := w.alarms[0]
			w.alarms = w.alarms[1:]
			w.step(a.Input)
		}
	}
}

func (w *world) model(r *rapid.T) {
	switch {
	case len(w.sums) > 0:
		s := w.sums[0]
		w.sums = w.sums[1:]
		w.step(Summed{Turn: s.Turn, Text: "n"})
	case len(w.asks) == 0:
	case rapid.IntRange(0, 3).Draw(r, "answer") == 0:
		w.answer(provider.Answer{}, &provider.Fault{Class: rapid.SampledFrom([]provider.Class{provider.Server, provider.Limit, provider.Context}).Draw(r, "class"), Sentence: "f"})
	case rapid.Bool().Draw(r, "calls"):
		a, all := wants(rapid.SliceOfN(rapid.SampledFrom([]tool.Risk{tool.ReadOnly, tool.Process}), 1, 3).Draw(r, "risks")...)
		w.answer(a, nil, all...)
	default:
		w.answer(says("x"), nil)
	}
}
