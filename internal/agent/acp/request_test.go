package acp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"scv/internal/agent"
)

func TestP14_RequestsSayEveryByte(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		name, call string
		want       agent.Approval
		summary    []string
	}{
		{
			"a command in words", `{"toolCallId":"t","kind":"execute","title":"Terminal","rawInput":{"command":["bash","-c","` + long + `"]}}`,
			agent.Approval{Risk: agent.RiskProcess, Command: "bash -c " + long},
			[]string{long},
		},
		{
			"a command in the title", `{"toolCallId":"t","kind":"execute","title":"rm -rf build"}`,
			agent.Approval{Risk: agent.RiskProcess, Command: "rm -rf build"},
			[]string{"rm -rf build"},
		},
		{
			"an edit", `{"toolCallId":"t","kind":"edit","title":"Write a.txt","content":[{"type":"diff","path":"/w/a.txt","oldText":"one\ntwo\n","newText":"one\nthree\n"}]}`,
			agent.Approval{Risk: agent.RiskFilesystem, Paths: []string{"/w/a.txt"}},
			[]string{"/w/a.txt", "-two", "+three"},
		},
		{
			"reading", `{"toolCallId":"t","kind":"read","title":"Read","locations":[{"path":"/w/a.go"}]}`,
			agent.Approval{Risk: agent.RiskReadOnly, Paths: []string{"/w/a.go"}},
			[]string{"/w/a.go"},
		},
		{
			"reading a secret", `{"toolCallId":"t","kind":"read","title":"Read","rawInput":{"file_path":"/w/.env.local"}}`,
			agent.Approval{Risk: agent.RiskFilesystem, Paths: []string{"/w/.env.local"}},
			[]string{"/w/.env.local"},
		},
		{"an address", `{"toolCallId":"t","kind":"fetch","title":"Fetch","rawInput":{"url":"http://x/` + long + `"}}`, agent.Approval{Risk: agent.RiskNetwork}, []string{long}},
		{"an unknown kind", `{"toolCallId":"t","kind":"teleport","title":"Go"}`, agent.Approval{Risk: agent.RiskDelegate}, []string{"Go"}},
		{"nothing at all", `{}`, agent.Approval{Risk: agent.RiskDelegate}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := running(t)
			s.ask("7", c.call)
			asked := s.approvals()
			if len(asked) != 1 {
				t.Fatalf("asked %+v", asked)
			}
			a := asked[0]
			if a.Request != "7" || a.Risk != c.want.Risk || a.Command != c.want.Command || !slices.Equal(a.Paths, c.want.Paths) || len(a.Options) != 3 {
				t.Errorf("asked %.300v", a)
			}
			for _, part := range c.summary {
				if !strings.Contains(a.Summary, part) {
					t.Errorf("the summary lacks %.60q: %.300q", part, a.Summary)
				}
			}
			s.approve("7", true)
			if got := s.lastResult(); got != "7 selected yes" {
				t.Errorf("answered %q", got)
			}
		})
	}
}

// TestP15_AYesIsNeverForEver: where only a lasting yes is offered, none is given.
func TestP15_AYesIsNeverForEver(t *testing.T) {
	s := running(t)
	s.out(`{"id":"a-1","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"title":"x"},"options":[{"optionId":"ever","kind":"allow_always"},{"optionId":"never","kind":"reject_always"}]}}`)
	s.approve(`"a-1"`, true)
	if got := s.lastResult(); got != `"a-1" cancelled` {
		t.Errorf("answered %q", got)
	}
	if notes := s.texts(agent.FactNote); len(notes) != 1 || !strings.Contains(notes[0], "no yes that counts once") {
		t.Errorf("notes %q", notes)
	}
}

const executing = `{"toolCallId":"t","kind":"execute","title":"x"}`

// Seven at once are answered in any order.
func TestRequests_SevenAtOnce(t *testing.T) {
	s := running(t)
	for i := range 7 {
		s.ask(fmt.Sprint(i), executing)
	}
	for _, i := range []int{6, 0, 3, 1, 5, 2, 4} {
		s.approve(fmt.Sprint(i), i%2 == 0)
		if got, want := s.lastResult(), fmt.Sprintf("%d selected %s", i, []string{"yes", "no"}[i%2]); got != want {
			t.Errorf("answered %q, want %q", got, want)
		}
	}
}

// A cancel withdraws them all, and what comes after it.
func TestRequests_CancelWithdrawsThemAll(t *testing.T) {
	s := running(t)
	s.ask("0", executing)
	s.ask("1", executing)
	s.wishes.Cancel = 1
	s.say()
	s.ask("2", executing)
	want := []string{"cancel:1 session/cancel", "withdraw:1:0", "withdraw:2:1", "owed:1:2"}
	if !slices.Equal(s.said, want) {
		t.Errorf("said %q, want %q", s.said, want)
	}
	if got := s.lastResult(); got != "2 cancelled" {
		t.Errorf("answered %q", got)
	}
}

// Answered twice and never asked.
func TestRequests_AnsweredTwiceAndNeverAsked(t *testing.T) {
	s := running(t)
	s.ask("0", executing)
	s.approve("0", true)
	said := len(s.said)
	s.approve("0", false)
	s.approve("99", true)
	if len(s.said) != said {
		t.Errorf("said %q", s.said)
	}
}

// An id used again voids the first text.
func TestRequests_AnIdUsedAgain(t *testing.T) {
	s := running(t)
	s.ask("0", executing)
	s.ask("0", `{"toolCallId":"u","kind":"execute","title":"rm -rf /"}`)
	if want := []agent.FactKind{agent.FactApprovalAsked, agent.FactApprovalClosed, agent.FactApprovalAsked}; !slices.Equal(s.kinds(), want) {
		t.Errorf("facts %v", s.kinds())
	}
}

// The agent takes one back.
func TestRequests_TakenBack(t *testing.T) {
	s := running(t)
	s.ask("0", executing)
	s.out(`{"method":"$/cancel_request","params":{"requestId":0}}`)
	if last := s.facts[len(s.facts)-1]; last.Kind != agent.FactApprovalClosed || last.Status != agent.ClosedVoid {
		t.Errorf("facts %+v", s.facts)
	}
}

// Between turns nobody is asked.
func TestRequests_BetweenTurns(t *testing.T) {
	s := running(t)
	s.answer(`{"stopReason":"end_turn"}`)
	s.ask("0", executing)
	if got := s.lastResult(); got != "0 cancelled" || len(s.approvals()) != 0 {
		t.Errorf("answered %q, asked %v", got, s.approvals())
	}
}

// What SCV does not offer is refused at once.
func TestRequests_NotOffered(t *testing.T) {
	s := running(t)
	for i, method := range []string{"fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/create", "what/ever"} {
		s.out(fmt.Sprintf(`{"id":%d,"method":"%s","params":{"path":"/etc/passwd"}}`, i, method))
		if got, want := s.lastResult(), fmt.Sprintf("%d error -32601", i); got != want {
			t.Errorf("%s is answered %q, want %q", method, got, want)
		}
	}
}

// One that cannot be read is refused.
func TestRequests_Unreadable(t *testing.T) {
	s := running(t)
	s.out(`{"id":5,"method":"session/request_permission","params":[]}`)
	if got := s.lastResult(); !strings.HasPrefix(got, "5 error") {
		t.Errorf("answered %q", got)
	}
}
