package hub_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

func TestT46_ARuleThatIsAddedDeniesWhatWaits(t *testing.T) {
	b := open(t, newDisk(), nil)
	_, h := b.working("x")
	b.report(h, asks("ap-1", "npm publish"), asks("ap-2", "ls"))
	note, ticket, err := b.Approvals().AddRule(wire.ApprovalRule{Effect: wire.RuleDeny, Command: "npm publish"}, owner())
	if err != nil {
		t.Fatal(err)
	}
	b.wait(ticket)
	has(t, note, "rule-1")
	if a := b.find("ap-1"); a.State != wire.ApprovalAnswered || *a.Approved || a.Rule != "rule-1" || a.By != "rule" {
		t.Errorf("it is %+v", a)
	}
	if b.find("ap-2").State != wire.ApprovalOpen {
		t.Error("the other one is answered too")
	}
}

func TestRulesAnswerAndSurvive(t *testing.T) {
	d := newDisk()
	b := open(t, d, nil)
	a, h := b.working("x")
	b.report(h, asks("ap-1", "go test ./..."))
	note, ticket, err := b.Approvals().Answer(hub.AnswerRequest{
		ID: "ap-1", Approved: true, Principal: owner(), Remember: &wire.Remember{Scope: wire.RuleCommand, Repo: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.wait(ticket)
	has(t, note, "Rule rule-1 was made of it.")
	b.stop()
	b = open(t, d, nil)
	b.launched()
	b.Runs().Life(h, row.Life{Kind: row.LifeAdopted, PID: 1, At: time.Now()})
	b.pos = 100
	b.report(h, asks("ap-2", "go test ./... -run X"), asks("ap-3", "go test ./... && rm x"))
	if x := b.find("ap-2"); x.State != wire.ApprovalAnswered || !*x.Approved || x.Rule != "rule-1" {
		t.Errorf("what a rule allows is %+v", x)
	}
	if x := b.find("ap-3"); x.State != wire.ApprovalOpen {
		t.Errorf("what a rule only partly allows is %s", x.State)
	}
	if s := b.state(a); s != wire.StateAwaitingInput {
		t.Errorf("the job is %s", s)
	}
	_, ticket, err = b.Approvals().RemoveRule("rule-1", owner())
	if err != nil {
		t.Fatal(err)
	}
	b.wait(ticket)
	if _, _, err := b.Approvals().RemoveRule("rule-1", owner()); reason(err) != wire.ReasonNotFound || len(b.Approvals().Rules()) != 0 {
		t.Errorf("removed twice: %v", err)
	}
	if !slices.ContainsFunc(d.accepted, func(a row.Accepted) bool { return a.What == "answer" && a.Approval.ID == "ap-1" }) {
		t.Error("the answer is not among the owner's wishes")
	}
}

// TestAnAnswerThatCannotBeWrittenWasNotGiven: its client is told, the question waits again, and the agent hears nothing.
func TestAnAnswerThatCannotBeWrittenWasNotGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		b := open(t, d, nil)
		a, h := b.working("x")
		b.report(h, asks("ap-1", "one"))
		synctest.Wait()
		d.fail(errFull)
		_, ticket, err := b.Approvals().Answer(hub.AnswerRequest{ID: "ap-1", Approved: true, Principal: owner()})
		if err != nil {
			t.Fatal(err)
		}
		if err := ticket.Wait(t.Context()); reason(err) != wire.ReasonUnavailable {
			t.Fatalf("the ticket: %v", err)
		}
		if b.state(a) != wire.StateAwaitingInput || b.find("ap-1").State != wire.ApprovalOpen || len(b.Runs().Wishes(h).Answers) != 0 {
			t.Errorf("the job is %s, the question %s", b.state(a), b.find("ap-1").State)
		}
		d.fail(nil)
		<-time.After(time.Minute)
		if _, err := b.answer("ap-1", true); err != nil {
			t.Error(err)
		}
	})
}

func TestAFloodOfRequestsBuriesNobody(t *testing.T) {
	b := open(t, newDisk(), nil)
	_, h := b.working("x")
	for i := range 200 {
		b.report(h, asks(fmt.Sprint("ap-", i), fmt.Sprint("cmd ", i)))
	}
	if n := len(b.Snapshot().Approvals); n != 64 {
		t.Errorf("%d wait", n)
	}
	if a := b.find("ap-150"); a.State != wire.ApprovalAnswered || *a.Approved || a.By != "policy" {
		t.Errorf("what comes after them is %+v", a)
	}
}

func TestModesAnswerWithoutAsking(t *testing.T) {
	for mode, want := range map[string]wire.ApprovalState{"auto": wire.ApprovalAnswered, "on-risk": wire.ApprovalOpen, "always": wire.ApprovalOpen, "read-only": wire.ApprovalAnswered} {
		b := open(t, newDisk(), nil)
		q := request("x")
		q.Agent, q.Mode = "live", mode
		b.startAs(q)
		h := b.launched().Run.Handle
		b.report(h, row.Step{Kind: row.StepReady}, row.Step{Kind: row.StepTurnStarted, Turn: 1}, asks("ap-1", "make"))
		if a := b.find("ap-1"); a.State != want || a.Approved != nil && *a.Approved != (mode == "auto") {
			t.Errorf("mode %s: %+v", mode, a)
		}
		b.stop()
	}
}

func TestQuestionsWaitForAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		b := open(t, d, nil)
		_, h := b.working("x")
		ask := func(text string, wait time.Duration) row.Approval {
			q, ticket, err := b.Approvals().Ask(hub.QuestionRequest{Question: text, Run: h, Wait: wait})
			if err != nil {
				t.Fatal(err)
			}
			b.wait(ticket)
			return q
		}
		yes, late := ask("Deploy?", time.Hour), ask("And this?", time.Minute)
		if list := b.Snapshot().Approvals; len(list) != 2 || list[0].Kind != wire.ApprovalQuestion || list[0].Job != "job-1" {
			t.Errorf("listed: %+v", list)
		}
		if _, err := b.answer(string(yes.ID), true); err != nil {
			t.Error(err)
		}
		<-time.After(2 * time.Minute)
		synctest.Wait()
		if a := b.find(string(late.ID)); a.State != wire.ApprovalAnswered || *a.Approved || a.By != "deadline" {
			t.Errorf("nobody answered: %+v", a)
		}
		b.stop()
		b = open(t, d, nil)
		if a := b.find(string(yes.ID)); a.State != wire.ApprovalAnswered || !*a.Approved || len(b.Snapshot().Approvals) != 0 {
			t.Errorf("after a restart: %+v", a)
		}
		if _, err := b.answer(string(yes.ID), false); reason(err) != wire.ReasonConflict {
			t.Errorf("answered twice: %v", err)
		}
	})
}

// TestB18_AnAnswerDoesNotWaitForTheQueue: a question that is open when the daemon comes back, beside two prompts whose
// queue is paused, is answered and its turn goes on; the queue stays paused, also after that turn.
func TestB18_AnAnswerDoesNotWaitForTheQueue(t *testing.T) {
	d := newDisk()
	b := open(t, d, nil)
	first, h := b.working("x")
	behind := []hub.Accepted{b.send(first.Job, "one"), b.send(first.Job, "two")}
	b.changed(b.Conversations().Pause(first.Job.Session, *first.Job.Conversation, owner()))
	b.report(h, asks("ap-1", "make"))
	b.wait(b.Runs().Saved(h))
	b.stop()
	pos := b.pos
	b = open(t, d, nil)
	b.pos = pos
	b.launched() // it is adopted
	b.Runs().Life(h, row.Life{Kind: row.LifeAdopted, At: time.Now()})
	waits := func() {
		t.Helper()
		for _, a := range behind {
			if s := b.state(a); s != wire.StateQueued || !strings.Contains(detail(b.job(a)), "is paused") {
				t.Errorf("%s is %s: %s", a.Job.Job.Job, s, detail(b.job(a)))
			}
		}
	}
	waits()
	if _, err := b.answer("ap-1", true); err != nil {
		t.Fatal(err)
	}
	if w := b.Runs().Wishes(h).Answers; len(w) != 1 || !w[0].Approved {
		t.Fatalf("the agent is told %+v", w)
	}
	b.report(h, closes("ap-1", "answered"))
	if s := b.state(first); s != wire.StateWorking {
		t.Errorf("the turn is %s", s)
	}
	waits()
	b.report(h, ended(1, wire.StateCompleted, "r"))
	b.wait(b.Runs().Saved(h))
	waits()
	select {
	case o := <-b.crew.launched:
		t.Errorf("%s was started", o.Run.Handle)
	default:
	}
}

// TestB17_AskedWhileItsJobIsCancelled: a cancel that is known before the request, as after a crash with the request open.
// The agent gets its no at once, and who answers late hears of the cancel and not of a policy.
func TestB17_AskedWhileItsJobIsCancelled(t *testing.T) {
	b := open(t, newDisk(), nil)
	a, h := b.working("x")
	if _, ticket, err := b.Jobs().Cancel(a.Ref, owner()); err != nil {
		t.Fatal(err)
	} else {
		b.wait(ticket)
	}
	b.report(h, asks("ap-1", "rm -rf old"))
	if len(b.Snapshot().Approvals) != 0 || b.find("ap-1").By != "cancel" {
		t.Errorf("it is %+v", b.find("ap-1"))
	}
	b.wait(b.Runs().Saved(h))
	if w := b.Runs().Wishes(h).Answers; len(w) != 1 || w[0].Approved || w[0].By != "policy" {
		t.Errorf("the agent would be told %+v", w)
	}
	if _, err := b.answer("ap-1", true); reason(err) != wire.ReasonExpired || !strings.Contains(err.Error(), "went with its turn, which was cancelled") {
		t.Errorf("a late answer: %v", err)
	}
}
