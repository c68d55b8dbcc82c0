package referee_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// expect plays a review and looks at its outcome, its reason and the turns that agents were given.
func (s *stage) expect(outcome wire.ReviewOutcome, reason string, given ...string) row.Job {
	s.t.Helper()
	j := s.play()
	if j.Review.Outcome == nil {
		s.t.Fatalf("it is %s without an outcome: %v", j.State, j.Detail)
	}
	r := j.Review.Outcome.Review
	got := ""
	if r.Reason != nil {
		got = *r.Reason
	}
	if r.Outcome != outcome || got != reason {
		s.t.Errorf("it is %s (%s), want %s (%s)", r.Outcome, got, outcome, reason)
	}
	slices.Sort(s.given)
	if slices.Sort(given); len(given) > 0 && !slices.Equal(s.given, given) {
		s.t.Errorf("agents were given\n%s\nwant\n%s", strings.Join(s.given, "\n"), strings.Join(given, "\n"))
	}
	return j
}

func named(agents ...string) wire.ReviewRequest {
	q := wire.ReviewRequest{Quorum: 1}
	for _, a := range agents {
		q.Reviewers = append(q.Reviewers, wire.ReviewSeat{Agent: a})
	}
	return q
}

// The daemon dies at each commit of a review, once before that is on disk and once after. The next one goes on: each turn
// is given to one agent, and what came of it is the same.
func TestM3_B2_ReviewGoesOnFromEveryCommit(t *testing.T) {
	for _, written := range []bool{false, true} {
		cuts := 0
		for ; ; cuts++ {
			s := newStage(t, named("claude"))
			l := s.live(cuts, written)
			begun := l.begin() == nil
			if begun {
				l.until(over)
			}
			cut := false
			select {
			case <-l.disk.cut:
				cut = true
			default:
			}
			l.close()
			if cut {
				again := s.live(1<<30, false)
				if err := again.begin(); err != nil { // with the same key it is the same job
					t.Fatalf("cut %d: %v", cuts, err)
				}
				again.until(over)
				again.close()
			}
			last := s.live(1<<30, false)
			j, _ := last.until(over)
			last.close()
			s.whole(cuts, j)
			if !cut {
				break
			}
		}
		if cuts < 10 {
			t.Errorf("the review has %d commits, which is too few to show anything", cuts)
		}
	}
}

// whole fails the test unless a review has two rounds in which nothing was given twice.
func (s *stage) whole(cut int, j row.Job) {
	s.t.Helper()
	if o := j.Review.Outcome; j.State != wire.StateCompleted || o == nil || o.Review.Outcome != wire.ReviewApproved || o.Review.Round != 2 {
		s.t.Fatalf("cut %d: it is %s: %+v", cut, j.State, o)
	}
	want := []string{"1 builder 0 codex", "1 reviewer 1 claude", "2 builder 0 codex", "2 reviewer 1 claude"}
	if !slices.Equal(s.given, want) {
		s.t.Errorf("cut %d: agents were given %q", cut, s.given)
	}
	records := 0
	for _, f := range j.Review.Facts {
		if f.What == wire.ReviewRecorded {
			records++
		}
	}
	if records != 2 {
		s.t.Errorf("cut %d: %d commits are recorded", cut, records)
	}
	for _, tree := range []string{"/trees/claude-job-1-1111", "/trees/claude-job-1-2222"} {
		if s.ground.swept[tree] == 0 {
			s.t.Errorf("cut %d: %s was not swept", cut, tree)
		}
	}
}

// A verdict that is malformed, huge, hostile or missing is asked for once more, and then counts for nothing.
func TestReview_VerdictThatCannotBeReadIsAskedForOnceMore(t *testing.T) {
	for name, reply := range map[string]string{
		"missing": "looks good to me", "empty": "", "malformed": "```scv-verdict\n{\"verdict\": approve}\n```", "open": "```scv-verdict\n{",
		"huge":        "```scv-verdict\n{\"verdict\":\"approve\",\"summary\":\"" + strings.Repeat("x", 20<<10) + "\"}\n```",
		"a long talk": strings.Repeat("approve ", 100<<10),
		"no evidence": "```scv-verdict\n{\"verdict\":\"approve\",\"summary\":\"trust me\"}\n```",
		"quoted":      "~~~\n```scv-verdict\n{\"verdict\":\"approve\",\"summary\":\"s\",\"evidence\":[\"e\"]}\n```\n~~~",
		"hostile":     "\x1b]52;c;aGk=\x07 " + secret + "\n```scv-verdict\nnull\n```",
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, named("claude"))
			s.answer = func(j row.Job, _ string) *row.End {
				if j.Part.Phase == wire.PhaseReviewer || j.Part.Phase == wire.PhaseRepair {
					return &row.End{State: wire.StateCompleted, Reply: reply}
				}
				return fine(j)
			}
			j := s.expect(wire.ReviewNoVerdict, "malformed_verdict", "1 builder 0 codex", "1 reviewer 1 claude", "1 repair 1 claude")
			if !strings.HasPrefix(s.heard["1 repair 1 claude"], "Your review could not be used: ") {
				t.Errorf("it is asked again with %.60q", s.heard["1 repair 1 claude"])
			}
			for _, f := range j.Review.Facts {
				if strings.ContainsAny(f.Text+f.Reply, "\x1b\x07") || strings.Contains(f.Text+f.Reply, secret) || len(f.Text)+len(f.Reply) > 4<<10 {
					t.Errorf("the record holds %.200q %.200q", f.Text, f.Reply)
				}
			}
		})
	}
}

// What a verdict says is masked and has no control characters, and what it approves of a turn that failed does not count.
func TestReview_HostileVerdict(t *testing.T) {
	s := newStage(t, named("claude"))
	s.ground.touched = "3 files were changed in its own worktree, which nobody takes over"
	s.answer = func(j row.Job, _ string) *row.End {
		if j.Part.Phase == wire.PhaseReviewer && j.Part.Round == 1 {
			return &row.End{State: wire.StateCompleted, Reply: changes("\u001b[31m\u202e " + secret)}
		}
		if j.Part.Phase == wire.PhaseReviewer {
			return &row.End{State: wire.StateFailed, Class: "agent", Reply: approval}
		}
		return fine(j)
	}
	j := s.expect(wire.ReviewNoVerdict, "reviewer_failed")
	for _, f := range j.Review.Facts {
		if f.Verdict == nil {
			continue
		}
		if title := f.Verdict.Findings[0].Title; strings.ContainsAny(title, "\x1b\u202e") || strings.Contains(title, secret) {
			t.Errorf("the finding is kept as %q", title)
		}
		if f.Text != s.ground.touched {
			t.Errorf("what the reviewer touched is kept as %q", f.Text)
		}
	}
}

// Where nobody was named the next one takes over from who cannot review, is not signed in or declines.
func TestReview_NextReviewerTakesOver(t *testing.T) {
	for name, end := range map[string]row.End{
		"without a sign-in": {State: wire.StateFailed, Class: "auth"}, "over its limit": {State: wire.StateFailed, Class: "quota"},
		"not to be started": {State: wire.StateFailed, Class: "start"}, "declines": {State: wire.StateDeclined, Reply: "I would rather not"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, wire.ReviewRequest{Quorum: 1}, "claude", "gemini", "codex")
			s.answer = func(j row.Job, _ string) *row.End {
				if j.Agent == "claude" {
					return &end
				}
				return fine(j)
			}
			j := s.expect(wire.ReviewApproved, "")
			o := j.Review.Outcome.Review
			if o.Reviewer != "gemini" || len(o.Tried) == 0 || o.Tried[0].Agent != "claude" || o.Fallback == nil {
				t.Errorf("it was reviewed by %s, tried %v, fallback %v", o.Reviewer, o.Tried, o.Fallback)
			}
		})
	}
}

// Of three reviewers two decide; what the third one found stays in the record.
func TestM3_ReviewersDecideByQuorum(t *testing.T) {
	q := named("claude", "gemini", "opencode")
	q.Quorum = 2
	s := newStage(t, q)
	s.answer = func(j row.Job, _ string) *row.End {
		e := fine(j)
		if j.Part.Phase == wire.PhaseReviewer {
			if e.Reply = approval; j.Agent == "gemini" {
				e.Reply = changes("nobody asked for this")
			}
		}
		return e
	}
	j := s.expect(wire.ReviewApproved, "", "1 builder 0 codex", "1 reviewer 1 claude", "1 reviewer 2 gemini", "1 reviewer 3 opencode")
	if n := j.Review.Outcome.Review.OpenCount; n != 1 {
		t.Errorf("%d findings are in the outcome", n)
	}
}

// A reviewer that takes longer than it may is cancelled, and there is no verdict.
func TestReview_ReviewerWhoseTimeIsUp(t *testing.T) {
	q := named("claude")
	q.TimeoutSeconds = 60
	s := newStage(t, q)
	s.answer = func(j row.Job, _ string) *row.End {
		if j.Part.Phase == wire.PhaseReviewer {
			s.late.Add(120)
			return nil
		}
		return fine(j)
	}
	s.expect(wire.ReviewNoVerdict, "reviewer_timeout")
}

// M3: a builder that was interrupted is never reviewed. The owner resumes its turn and the review goes on, or ends it.
func TestM3_InterruptedBuilderWaitsForItsOwner(t *testing.T) {
	for _, ends := range []bool{false, true} {
		s := newStage(t, named("claude"))
		cut := true
		s.answer = func(j row.Job, _ string) *row.End {
			if j.Part.Phase == wire.PhaseBuilder && cut {
				cut = false
				return &row.End{State: wire.StateInterrupted, Class: "lost"}
			}
			return fine(j)
		}
		l := s.live(1<<30, false)
		if err := l.begin(); err != nil {
			t.Fatal(err)
		}
		j, _ := l.until(func(j row.Job) bool { return j.State == wire.StateAwaitingInput })
		if len(s.given) != 1 || !strings.Contains(*j.Detail, "scv jobs resume job-2") {
			t.Errorf("%q were given; it says %q", s.given, *j.Detail)
		}
		turn, _ := l.Jobs().Find(j.Session, "job-2")
		var ticket *hub.Ticket
		var err error
		if ends {
			ticket, err = l.Reviews().Decide(j.Ref(), len(j.Review.Facts), wire.ReviewFact{What: wire.ReviewEnded}, row.Principal{Who: "owner"})
		} else {
			_, ticket, err = l.Jobs().Follow(hub.FollowRequest{How: hub.Resuming, Of: turn, Same: true, Prompt: row.Prompt{Text: "go on"}, Task: "go on"})
		}
		if err == nil {
			err = ticket.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		j, _ = l.until(over)
		l.close()
		if want := map[bool]wire.ReviewOutcome{false: wire.ReviewApproved, true: wire.ReviewStopped}[ends]; j.Review.Outcome.Review.Outcome != want {
			t.Errorf("it is %s, want %s", j.Review.Outcome.Review.Outcome, want)
		}
	}
}

// What git refuses ends the review in git's words.
func TestReview_CannotBeRecorded(t *testing.T) {
	s := newStage(t, named("claude"))
	s.ground.refuses = errors.New("the index is \x1b[31mbroken")
	j := s.expect(wire.ReviewStopped, "failed", "1 builder 0 codex")
	if said := j.Review.Outcome.Review.Summary; said == nil || !strings.Contains(*said, "the index is") || strings.Contains(*said, "\x1b") {
		t.Errorf("it says %v", said)
	}
}
