package model

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"scv/internal/wire"
)

func TestE9_AKeyPressedWhileAnApprovalArrivesNeverAnswersIt(t *testing.T) {
	everything := slices.Concat(Keys(), strings.Split("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ", ""))
	for _, first := range everything {
		for _, second := range []string{"y", "n", "enter", "space"} {
			d := newDesk(t, job(1, wire.StateWorking, "one"))
			d.press(first)
			if d.m.Focus == OnMenu || d.m.Focus == OnForm || d.m.Focus == OnConfirm {
				continue
			}
			d.list(asking())
			d.wait(guard - time.Millisecond)
			d.press(first, second)
			for _, c := range d.commands() {
				if a, ok := c.(wire.WorkbenchApprove); ok {
					t.Fatalf("%q and %q while a card appeared answered it: %+v", first, second, a)
				}
			}
		}
	}
}

func TestE9_AnswerNeedsTwoKeysAndAStandingCard(t *testing.T) {
	d := newDesk(t)
	d.list(asking())
	if d.m.Focus != OnList {
		t.Fatal("a card took the focus")
	}
	d.wait(time.Minute)
	d.press("y", "esc", "n", "esc")
	if c := d.commands(); len(c) != 0 {
		t.Fatalf("y and n without a named request did %v", c)
	}
	d.press("A", "y")
	if c := d.commands(); len(c) != 0 {
		t.Fatalf("y right behind A answered: %v", c)
	}
	d.wait(guard)
	d.press("y")
	want := []wire.Command{wire.WorkbenchApprove{ID: "ap-000000000001", Approved: true, Digest: new("digest-1"), Key: "key-1"}}
	if diff := cmp.Diff(want, d.commands()); diff != "" {
		t.Error(diff)
	}
	d.press("y")
	if c := d.commands(); len(c) != 0 {
		t.Errorf("a second y answered again: %v", c)
	}
}

func TestE9_AChangeOfTheCardsHoldsKeysBack(t *testing.T) {
	two := asking()
	two.Approvals = append([]wire.Approval{approval(2, "job-2")}, two.Approvals...)
	other := asking()
	other.Approvals[0].Digest = new("another text")
	for name, change := range map[string]*wire.Snapshot{
		"one more before it": two, "it is gone": {Approvals: []wire.Approval{approval(3, "job-2")}}, "another text": other,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.list(asking())
			d.press("A")
			d.wait(time.Minute)
			d.list(change)
			d.wait(guard - time.Millisecond)
			d.press("n")
			if c := d.commands(); len(c) != 0 {
				t.Fatalf("answered at once: %v", c)
			}
			d.wait(time.Millisecond)
			d.press("n")
			c := d.commands()
			if len(c) != 1 {
				t.Fatalf("a card that stood long enough was not answered: %v", c)
			}
			named := d.m.Cards.Selected(d.m)
			if a := c[0].(wire.WorkbenchApprove); a.ID != named.ID || *a.Digest != *named.Digest || a.Approved {
				t.Errorf("answered %+v, shown was %+v", a, named)
			}
		})
	}
}

func TestE9_TypedTextIsNoAnswer(t *testing.T) {
	d := newDesk(t)
	d.list(asking())
	d.wait(time.Minute)
	d.press("s")
	d.press("type:Any yes")
	d.wait(time.Minute)
	d.press("type:Any yes", "esc")
	if c := d.commands(); len(c) != 0 || d.m.Focus != OnList {
		t.Fatalf("words typed into a message did %v, focus %d", c, d.m.Focus)
	}
	d.press("A")
	d.wait(time.Minute)
	d.press("w", "y") // a key that the cards do not know gives the focus back
	if c := d.commands(); len(c) != 0 {
		t.Fatalf("a word that begins with A answered: %v", c)
	}
	d.press("esc")
	d.send(Pasted{Text: "Ay\ny\nn"})
	d.press("A")
	d.wait(time.Minute)
	d.send(Pasted{Text: "y"})
	if c := d.commands(); len(c) != 0 {
		t.Fatalf("pasted text did %v", c)
	}
}

func TestE10_EnterAndSpaceNeverApproveOrDestroy(t *testing.T) {
	for _, before := range [][]string{{}, {"A"}, {"x"}, {"D"}, {"space", "x"}, {":", "enter"}, {"?", "enter"}, {"enter"}, {"enter", "A"}, {"A", "m"}, {"A", "m", "type:equal"}, {"A", "m", "type:remember"}, {"b"}, {"5", "D"}} {
		for _, key := range []string{"enter", "space"} {
			view := asking()
			view.Jobs = append(view.Jobs, job(3, wire.StateCompleted, "three"))
			d := newDesk(t)
			d.send(Connected{Features: []string{wire.FeatureApprovals, wire.FeatureWorktree, wire.FeatureDiff}})
			d.m.Trees = []wire.WorktreeInfo{{WorktreeRef: wire.WorktreeRef{Path: "/w/t", Branch: "b"}}}
			view.Jobs[0].Worktree = &wire.WorktreeRef{Path: "/w/t", Branch: "b"}
			d.list(view)
			d.wait(time.Minute)
			d.press(before...)
			d.wait(time.Minute)
			d.press(key, key)
			for _, c := range d.commands() {
				t.Errorf("%v then %s did %T", before, key, c)
			}
		}
	}
}

func TestANamedRequestIsShownWhole(t *testing.T) {
	d := newDesk(t)
	d.send(Connected{Features: []string{wire.FeatureApprovals, wire.FeatureDigest}})
	view := asking()
	view.Approvals[0].Command, view.Approvals[0].Left = "make the beginning..", 5000
	d.list(view)
	d.wait(time.Minute)
	d.take()
	d.press("A")
	d.answer(func(cmd wire.Command) (*wire.DaemonStatus, error) {
		if cmd != (wire.ApprovalsPage{ID: "ap-000000000001"}) {
			t.Errorf("asks %+v", cmd)
		}
		whole := view.Approvals[0]
		whole.Command, whole.Left = "make the beginning and the end", 0
		return &wire.DaemonStatus{ApprovalsPage: &wire.ApprovalHistory{Approvals: wire.List[wire.Approval]{whole}}}, nil
	})
	var text strings.Builder
	for _, row := range d.m.Cards.Body(80) {
		text.WriteString(row.String() + "\n")
	}
	if !strings.Contains(text.String(), "make the beginning and the end") || strings.Contains(text.String(), "left out") {
		t.Errorf("shown is\n%s", text.String())
	}
	// Another text under the same id is never shown as this one.
	changed := asking()
	changed.Approvals[0].Digest, changed.Approvals[0].Command = new("other"), "something else"
	d.list(changed)
	if body := d.m.Cards.Body(80); !strings.Contains(body[0].String(), "something else") {
		t.Errorf("shown is %q", body[0].String())
	}
}

// named is a desk at which one of three requests is named, two of which are the same.
func named(t *testing.T) *desk {
	d := newDesk(t)
	d.send(Connected{Features: []string{wire.FeatureApprovals, wire.FeatureDigest}})
	view := asking()
	view.Approvals[0].Command, view.Approvals[0].Paths = "make test", []string{"Makefile"}
	second := approval(2, "job-2")
	second.Digest = view.Approvals[0].Digest
	view.Approvals = append(view.Approvals, second, approval(3, "job-2"))
	d.list(view)
	d.wait(time.Minute)
	d.press("A")
	d.wait(time.Minute)
	d.take()
	return d
}

// TestAnswersOfAnotherKind: a reason for the agent, one answer to all that ask the same, and an answer that becomes a rule;
// each as the command line would say it, and each to the request that was named.
func TestAnswersOfAnotherKind(t *testing.T) {
	answer := func(a wire.WorkbenchApprove) wire.WorkbenchApprove {
		a.ID, a.Digest, a.Key = "ap-000000000001", new("digest-1"), "key-1"
		return a
	}
	for name, c := range map[string]struct {
		keys []string
		want wire.WorkbenchApprove
		cli  string
	}{
		"a reason":            {[]string{"N", "type:use the staging host", "enter"}, wire.WorkbenchApprove{Reason: "use the staging host"}, ""},
		"a reason from m":     {[]string{"m", "type:tell the agent", "enter", "type:no", "enter"}, wire.WorkbenchApprove{Reason: "no"}, ""},
		"all the same":        {[]string{"m", "enter", "y"}, wire.WorkbenchApprove{Approved: true, Equal: true}, "scv approvals approve ap-000000000001 --equal"},
		"a rule for here":     {[]string{"m", "type:approve command --repo", "enter", "y"}, wire.WorkbenchApprove{Approved: true, Remember: &wire.Remember{Scope: wire.RuleCommand, Repo: true}}, "scv approvals approve ap-000000000001 --remember command --repo"},
		"a denial of a path":  {[]string{"m", "type:deny path everywhere", "enter", "y"}, wire.WorkbenchApprove{Remember: &wire.Remember{Scope: wire.RulePath}}, "scv approvals deny ap-000000000001 --remember path"},
		"a denial of a tool":  {[]string{"m", "type:deny tool everywhere", "enter", "y"}, wire.WorkbenchApprove{Remember: &wire.Remember{Scope: wire.RuleTool}}, "scv approvals deny ap-000000000001 --remember tool"},
		"no to the last word": {[]string{"m", "enter", "n"}, wire.WorkbenchApprove{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := named(t)
			for i, key := range c.keys {
				if key == "enter" && c.cli != "" && d.m.Focus == OnMenu {
					if got := d.m.Menu.Entries[d.m.Menu.At].CLI; got != c.cli {
						t.Errorf("the command line says it as %q", got)
					}
				}
				if d.press(key); i < len(c.keys)-1 && len(d.commands()) != 0 {
					t.Fatalf("answered at %q", key)
				}
			}
			var want []wire.Command
			if name != "no to the last word" {
				want = append(want, answer(c.want))
			}
			if diff := cmp.Diff(want, d.commands()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnAnswerIsForTheRequestThatWasNamed(t *testing.T) {
	// What is chosen for one request is never given to another one.
	d := named(t)
	d.press("m", "enter")
	changed := asking()
	changed.Approvals[0].Digest = new("something else")
	d.list(changed)
	d.wait(time.Minute)
	d.press("y")
	if c := d.commands(); len(c) != 0 || !d.m.Notice.Bad {
		t.Errorf("a request that changed was answered: %v", c)
	}
	// A daemon that knows of none of this is not asked for it.
	d = named(t)
	d.send(Connected{Features: []string{wire.FeatureDigest}})
	for _, key := range []string{"m", "N"} {
		if d.press(key); d.m.Focus != OnCards || !d.m.Notice.Bad {
			t.Errorf("%s: focus %d, %q", key, d.m.Focus, d.m.Notice.Text)
		}
	}
}
