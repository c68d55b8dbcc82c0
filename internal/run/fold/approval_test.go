package fold_test

import (
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/demo"
	"scv/internal/run/fold"
	"scv/internal/run/fold/foldtest"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// asking is a live turn that asks what is given, with the answers of the owner.
func asking(lines ...string) *foldtest.Script {
	s := &foldtest.Script{}
	s.Start()
	s.Out(`{"type":"hello","session":"s-1"}` + "\n")
	s.In("turn:1", `{"key":"turn:1","text":"x"}`+"\n")
	for _, line := range lines {
		if key, text, ok := strings.Cut(line, "<"); ok {
			s.In(key, text+"\n")
			continue
		}
		s.Out(line + "\n")
	}
	return s
}

func ask(id, command string) string {
	return `{"type":"ask","id":"` + id + `","tool":"shell","risk":"process","text":"` + command + `"}`
}

func foldAsks(t *testing.T, s *foldtest.Script) []fold.Item {
	t.Helper()
	return foldtest.Check(t, func() fold.Options {
		o := foldtest.Options(demo.LiveKind(), agent.Settings{}, "x")
		o.Answer = func(id wire.ApprovalID) (fold.Answer, bool) { return fold.Answer{Approved: true, By: "owner"}, true }
		return o
	}, s.Frames, nil)
}

func approvals(items []fold.Item) (asked []row.Asked, closed []row.Step) {
	for _, s := range foldtest.Steps(items) {
		switch s.Kind {
		case row.StepApprovalAsked:
			asked = append(asked, *s.Asked)
		case row.StepApprovalClosed:
			closed = append(closed, s)
		}
	}
	return asked, closed
}

// TestP20_R5_RequestsHaveIdsOfTheirOwn: from any point of the spool the same ids come, also when an agent uses its own
// again, and a turn that ends takes along what it asked.
func TestP20_R5_RequestsHaveIdsOfTheirOwn(t *testing.T) {
	items := foldAsks(t, asking(
		ask("ask-1", "a"), ask("ask-2", "b"), ask("ask-1", "c"), `answer:x<{"type":"answer","id":"ask-2","verdict":"allow"}`,
		`{"type":"end","status":"completed"}`, `turn:2<{"key":"turn:2","text":"y"}`, ask("ask-1", "d"), `{"type":"end","status":"completed"}`,
	))
	asked, closed := approvals(items)
	if len(asked) != 4 || len(closed) != 4 {
		t.Fatalf("%d asked, %d closed", len(asked), len(closed))
	}
	ids := map[wire.ApprovalID]bool{}
	for _, a := range asked {
		ids[a.ID] = true
		if len(a.ID) != len("ap-0123456789ab") || !strings.HasPrefix(string(a.ID), "ap-0a1b2c") {
			t.Errorf("the id %s", a.ID)
		}
	}
	if len(ids) != 4 {
		t.Errorf("ids %v", ids)
	}
	for i, want := range []struct {
		of     int
		status string
	}{{0, "void"}, {1, "answered"}, {2, "void"}, {3, "void"}} {
		if closed[i].Closed != asked[want.of].ID || closed[i].Status != want.status {
			t.Errorf("%d: %s closed as %s, want %s", i, closed[i].Closed, closed[i].Status, want.status)
		}
	}
}

func TestTheLogTellsWhoAnswered(t *testing.T) {
	items := foldAsks(t, asking(ask("ask-1", "make"), `answer:x<{"type":"answer","id":"ask-1","verdict":"allow"}`, `{"type":"end","status":"completed"}`))
	var asked, closed *wire.RunEvent
	for _, e := range foldtest.Events(items) {
		switch e.Kind {
		case wire.EventApprovalRequested:
			asked = new(e)
		case wire.EventApprovalResolved:
			closed = new(e)
		}
	}
	if asked == nil || *asked.Risk != "process" || asked.Text != "make" || asked.Approval == nil {
		t.Errorf("asked: %+v", asked)
	}
	if closed == nil || *closed.Status != "approved" || *closed.By != "owner" || *closed.Approval != *asked.Approval {
		t.Errorf("resolved: %+v", closed)
	}
}

// TestTheLogTellsWhyNot: the reason of a denial stands beside it, without its secrets; a yes has none.
func TestTheLogTellsWhyNot(t *testing.T) {
	s := asking(ask("ask-1", "make"), `answer:x<{"type":"answer","id":"ask-1","verdict":"deny"}`, `{"type":"end","status":"completed"}`)
	items := foldtest.Check(t, func() fold.Options {
		o := foldtest.Options(demo.LiveKind(), agent.Settings{}, "x")
		o.Answer = func(wire.ApprovalID) (fold.Answer, bool) {
			return fold.Answer{By: "owner", Reason: "use the\x1b[2J test database"}, true
		}
		return o
	}, s.Frames, nil)
	for _, e := range foldtest.Events(items) {
		if e.Kind == wire.EventApprovalResolved {
			if *e.Status != "denied" || !strings.HasPrefix(e.Text, "use the") || !strings.HasSuffix(e.Text, "test database") || strings.Contains(e.Text, "\x1b") {
				t.Errorf("resolved: %+v", e)
			}
			return
		}
	}
	t.Error("the log has no answer")
}

func TestT39_T40_T41_NothingOfARequestIsHidden(t *testing.T) {
	long := strings.Repeat("harmless ", 30) + `\nrm -rf /`
	for name, c := range map[string]struct {
		command string
		shows   string
		warns   bool
	}{
		"a line below":       {long, "\nrm -rf /", false},
		"an override":        {`echo \u202Egpj.exe`, "U+202E", true},
		"a zero width space": {`r\u200Bm`, "U+200B", true},
		"far to the right":   {"ls" + strings.Repeat(" ", 500) + "rm", "rm", true},
		"a look-alike host":  {`curl ex\u0430mple.com`, "mple.com", true},
		"fences":             {"```\\nrm\\n```", "```\nrm\n```", false},
		"a terminal's":       {`\u001b[2Jls`, "ls", true},
		"plain":              {"git status --short", "git status --short", false},
		"plain Cyrillic":     {"git commit -m \u043f\u0440\u0438\u0432\u0435\u0442", "\u043f\u0440\u0438\u0432\u0435\u0442", false},
	} {
		asked, _ := approvals(foldAsks(t, asking(ask("ask-1", c.command))))
		a := asked[0]
		if !strings.Contains(a.Command, c.shows) || strings.ContainsAny(a.Command, "\x1b\u202e\u200b") {
			t.Errorf("%s: it is shown as %.300q", name, a.Command)
		}
		risk := map[bool]string{false: "process", true: "network"}[c.warns]
		if (len(a.Warnings) > 0) != c.warns || a.Risk != risk {
			t.Errorf("%s: warnings %q, risk %s", name, a.Warnings, a.Risk)
		}
	}
}

func TestSecretsOfARequestAreMaskedAndItTeachesNothing(t *testing.T) {
	asked, _ := approvals(foldAsks(t, asking(ask("ask-1", "curl -H 'Authorization: Bearer ghp_"+"16C7e42F292c6912E7710c838347Ae178B4a' host"))))
	if a := asked[0]; strings.Contains(a.Command, "16C7e42F292c") || !a.Hidden {
		t.Errorf("it is kept as %+v", a)
	}
}
