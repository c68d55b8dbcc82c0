package hub

import (
	"cmp"
	"container/list"
	"fmt"
	"slices"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
	"scv/internal/workbench/rules"
	"scv/internal/workbench/state"
)

// maxAsks bounds the requests of one run that wait at the same time; more are denied, so that an agent which floods
// buries nobody.
const maxAsks = 64

// maxOver is how many questions that are over stay in memory, for those who answer late.
const maxOver = 200

// The words for who decided, where it was nobody. A person is named with the way.
const (
	byDeadline = "deadline"
	byPolicy   = "policy"
	byRule     = "rule"
	byCancel   = "cancel" // the agent asks while its job is being cancelled
)

// asks are the questions to the owner and the rules that answer some of them. The loop's goroutine owns them.
type asks struct {
	m     *model
	rows  map[wire.ApprovalID]*approval
	over  []*approval // that are over, oldest first
	rules []row.Rule  // that hold, by number
	timer *time.Timer // rings at the soonest deadline
	moved bool        // a deadline came or went
}

// An approval is a question as the loop has it.
type approval struct {
	m        *model
	row      row.Approval
	run      *run      // that asks; nil for a question, and for one that is over
	hidden   bool      // something of it is not shown
	answered uint64    // batch that holds the answer; 0: loaded
	due      time.Time // monotonic; zero for no deadline
	entry    *list.Element
}

func (a *approval) touch() {
	m := a.m
	m.rev++
	a.row.Rev = m.rev
	m.dirty.approvals[a] = struct{}{}
	m.asks.moved = true
	if a.row.Waits() {
		m.mark(&a.entry, entry{approval: a})
		return
	}
	m.unlist(&a.entry)
	if a.row.Over() {
		a.finish()
	}
}

// finish keeps the newest that are over.
func (a *approval) finish() {
	k := &a.m.asks
	a.run = nil
	if !slices.Contains(k.over, a) {
		k.over = append(k.over, a)
	}
	if len(k.over) > maxOver {
		if old := k.over[0]; !a.m.asks.unsaved(old) {
			k.over = k.over[1:]
			delete(k.rows, old.row.ID)
		}
	}
}

func (k *asks) unsaved(a *approval) bool {
	m := k.m
	_, unsaved := m.dirty.approvals[a]
	return unsaved || m.inFlight()
}

// asking is a run as one that asks.
type asking struct{ *run }

// waiting is the oldest question of a run that waits.
func (r asking) waiting() (first *approval, n int) {
	for _, a := range r.m.asks.rows {
		if a.run == r.run && a.row.Waits() {
			n++
			if first == nil || a.row.Num < first.row.Num {
				first = a
			}
		}
	}
	return first, n
}

// asked takes a request of a run's agent: it is recorded, and answered at once where the rules or the mode do so.
func (r asking) asked(j *job, s row.Step) {
	m := r.m
	if s.Asked == nil || m.asks.rows[s.Asked.ID] != nil {
		return
	}
	a := &approval{m: m, run: r.run, hidden: s.Asked.Hidden}
	a.row = r.question(j, s)
	a.row.Digest = new(row.Digest(&a.row.Approval, a.row.Operands, a.hidden))
	_, before := r.waiting()
	m.asks.rows[a.row.ID] = a
	v := a.verdict(j)
	if before >= maxAsks && v.Decision == wire.DecideAsk {
		v = rules.Verdict{Decision: wire.DecideDeny, Why: fmt.Sprintf("%d requests of this run wait already", before)}
	}
	if v.Decision == wire.DecideAsk {
		m.asks.expireAfter(a, m.h.o.ApprovalWait)
		a.touch()
	} else {
		a.decide(decision{approved: v.Decision == wire.DecideAllow, by: decider(v, a.cancelled(j)), rule: v.Rule, reason: v.Why})
	}
	r.weigh(s.At, "the agent asks: "+str(text(a.row.Summary)))
	m.commit()
}

// decider is the word for who decided: a rule, the end that its owner asked for, or what holds for all.
func decider(v rules.Verdict, cancelled bool) string {
	switch {
	case v.Rule != "":
		return byRule
	case cancelled:
		return byCancel
	}
	return byPolicy
}

// cancelled reports whether the owner wants the end of what asks.
func (a *approval) cancelled(j *job) bool { return j != nil && (j.row.Cancelled || a.run.row.Stop) }

// question is the row of a request. A job that is gone leaves its run's names.
func (r asking) question(j *job, s row.Step) row.Approval {
	m, x := r.m, s.Asked
	m.counters.Approvals++
	cwd := x.Cwd
	if cwd == "" {
		cwd = r.row.Cwd
	}
	out := row.Approval{
		Approval: wire.Approval{
			ID: x.ID, Session: r.row.Session, Name: x.Name, Risk: x.Risk, Cwd: cwd, Summary: x.Summary,
			SinceUnixSeconds: unix(s.At), ExpiresUnixSeconds: wire.NoDeadline, Kind: wire.ApprovalRequest,
			Run: &r.row.Handle, Agent: r.row.Agent, Tool: x.Tool, Command: x.Command, Paths: x.Paths, Diff: x.Diff,
			Options: x.Options, Warnings: x.Warnings, State: wire.ApprovalOpen,
		},
		Num: m.counters.Approvals, Conversation: r.conv.row.ID, Request: x.Request, Operands: x.Operands,
	}
	if j != nil {
		out.Job, out.Workspace, out.Turn = j.row.Job.Job, j.row.Workspace, new(j.row.Turn)
	}
	return out
}

// verdict is what rules and mode say of a request.
func (a *approval) verdict(j *job) rules.Verdict {
	switch {
	case j == nil:
		return rules.Verdict{Decision: wire.DecideDeny, Why: "it was asked outside a turn"}
	case a.cancelled(j):
		return rules.Verdict{Decision: wire.DecideDeny, Why: "its job is being cancelled"}
	}
	mode := wire.ModeOnRisk
	if j.row.Mode != nil {
		mode = *j.row.Mode
	}
	return rules.Decide(mode, a.m.asks.rules, a.ask(), a.m.now())
}

func (a *approval) ask() rules.Ask {
	x := &a.row
	return rules.Ask{
		Tool: x.Tool, Risk: x.Risk, Command: x.Command, Paths: x.Paths, Cwd: x.Cwd, Repo: x.Workspace,
		Hidden: a.hidden || len(x.Warnings) > 0,
	}
}

// A decision is an answer, whoever gives it.
type decision struct {
	approved  bool
	by        string
	rule      string
	reason    string
	key       string
	principal row.Principal
}

// decide answers a question that waits, once. It is told to who asked when it is on disk.
func (a *approval) decide(d decision) {
	m := a.m
	a.row.State, a.row.Approved, a.row.AnsweredUnixSeconds = wire.ApprovalAnswered, &d.approved, new(unix(m.now()))
	a.row.By, a.row.Rule, a.row.Reason, a.row.Key, a.row.Principal = d.by, d.rule, d.reason, d.key, d.principal
	a.answered, a.due = m.batch, time.Time{}
	r := a.run
	a.touch()
	m.dirty.accepted = append(m.dirty.accepted, row.Accepted{At: m.now(), What: "answer", Approval: new(a.row)})
	if r != nil {
		if j := r.current; j != nil {
			j.note(m.now(), "owner", fmt.Sprintf("%s was %s by %s", a.row.ID, answerWord(d.approved), d.by))
		}
		m.after(effect{run: r})
	}
	budgets{&m.holds}.answered(a)
	m.commit()
}

func answerWord(approved bool) string {
	if approved {
		return "approved"
	}
	return "denied"
}

// reopen takes back an answer that never reached the disk.
func (a *approval) reopen(r *run) {
	if a.row.State != wire.ApprovalAnswered {
		return
	}
	a.m.asks.over = deleteOne(a.m.asks.over, a)
	a.row.State, a.row.Approved, a.row.AnsweredUnixSeconds = wire.ApprovalOpen, nil, nil
	a.row.By, a.row.Rule, a.row.Reason, a.row.Key, a.row.Principal = "", "", "", "", row.Principal{}
	a.run = r
	budgets{&a.m.holds}.answered(a)
	if a.row.ExpiresUnixSeconds != wire.NoDeadline {
		a.m.asks.expireAt(a)
	}
	a.touch()
	if r != nil {
		asking{r}.weigh(a.m.now(), "an answer could not be written")
	}
}

// closed takes the end of a request as the run's fold learnt it.
func (r asking) closed(s row.Step) {
	if a := r.m.asks.rows[s.Closed]; a != nil && a.run == r.run {
		a.close(s.Status)
		r.weigh(s.At, "what it asked is answered")
	}
}

// close ends a question whose agent was told, or will never be.
func (a *approval) close(status string) {
	answered := a.row.State == wire.ApprovalAnswered
	switch {
	case status == row.ClosedAnswered && answered && a.row.By == byDeadline:
		a.row.State = wire.ApprovalExpired
	case status == row.ClosedAnswered && answered:
		a.row.State = wire.ApprovalDelivered
	case status == row.ClosedCancelled:
		a.row.State = wire.ApprovalCancelled
	default:
		a.row.State = wire.ApprovalVoid
	}
	a.due = time.Time{}
	a.touch()
}

// closeAsks ends what a run still asks: with its turn, or with its process.
func (r asking) closeAsks(status string) {
	for _, a := range r.m.asks.rows {
		if a.run == r.run && !a.row.Over() {
			a.close(status)
		}
	}
}

// weigh lets a run and its job wait for the owner while a question does, and work when none is left.
func (r asking) weigh(at time.Time, fact string) {
	j := r.current
	if j == nil || j.row.State.Final() || j.row.State == wire.StateUnknown {
		return
	}
	first, n := r.waiting()
	switch {
	case first != nil:
		if j.row.State != wire.StateAwaitingInput {
			j.step(state.Ask, at, "agent", fact)
			r.step(state.Ask)
		}
		detail := firstLine(first.row.Summary)
		if n > 1 {
			detail = fmt.Sprintf("%s (and %d more)", detail, n-1)
		}
		j.say(detail)
		r.row.Detail = text(detail)
		r.touch()
	case j.row.State == wire.StateAwaitingInput:
		j.row.Detail, r.row.Detail = nil, nil
		if j.row.Cancelled {
			j.row.Detail = text("is being cancelled")
		}
		j.step(state.Answer, at, "agent", fact)
		r.step(state.Answer)
	}
}

// expireAfter gives a question a deadline; 0 gives none. It is told in whole seconds, and the whole of the last one
// counts.
func (k *asks) expireAfter(a *approval, wait time.Duration) {
	m := k.m
	if wait > 0 {
		a.row.ExpiresUnixSeconds = unix(m.now().Add(wait + time.Second - 1))
		k.expireAt(a)
	}
}

// expireAt finds the moment of a deadline on the clock that nobody sets.
func (k *asks) expireAt(a *approval) {
	m := k.m
	end := time.Unix(int64(a.row.ExpiresUnixSeconds)+1, 0)
	a.due = time.Now().Add(end.Sub(m.now()))
	k.moved = true
}

// arm keeps one timer for the soonest deadline.
func (k *asks) arm() {
	m := k.m
	if !k.moved {
		return
	}
	k.moved = false
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	var first time.Time
	for _, a := range k.rows {
		if a.row.Waits() && !a.due.IsZero() && (first.IsZero() || a.due.Before(first)) {
			first = a.due
		}
	}
	if !first.IsZero() {
		k.timer = time.AfterFunc(max(time.Until(first), 0), func() { m.h.do(k.expire) })
	}
}

// expire denies what nobody answered in time.
func (k *asks) expire() {
	m := k.m
	now := time.Now()
	k.moved = true
	for _, a := range k.rows {
		if !a.row.Waits() || a.due.IsZero() || now.Before(a.due) {
			continue
		}
		r := a.run
		a.decide(decision{by: byDeadline, reason: "nobody answered in time"})
		if r != nil {
			asking{r}.weigh(m.now(), "its deadline passed")
		}
	}
}

// answers are what was decided on requests of a run and is on disk, until the fold shows that the agent was told.
func (r asking) answers() (out []row.Answer) {
	m := r.m
	var ready []*approval
	for _, a := range m.asks.rows {
		if a.run == r.run && a.row.State == wire.ApprovalAnswered && a.answered <= m.committed {
			ready = append(ready, a)
		}
	}
	slices.SortFunc(ready, func(x, y *approval) int { return cmp.Compare(x.row.Num, y.row.Num) })
	for _, a := range ready {
		by := "owner"
		if slices.Contains([]string{byDeadline, byPolicy, byRule, byCancel}, a.row.By) {
			by = "policy"
		}
		out = append(out, row.Answer{ID: a.row.ID, Request: a.row.Request, Approved: *a.row.Approved, By: by, Reason: a.row.Reason})
	}
	return out
}
