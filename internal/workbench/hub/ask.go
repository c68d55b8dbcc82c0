package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
	"scv/internal/workbench/rules"
)

// An ApprovalArchive finds questions that the hub no longer holds. A Journal that is one is asked outside the loop.
type ApprovalArchive interface {
	Approval(ctx context.Context, id wire.ApprovalID) (row.Approval, bool, error)
}

// Approvals are the commands on questions to the owner and on the rules that answer them. Whether the caller may answer
// is decided at the server's edge.
type Approvals struct{ h *Hub }

// Approvals returns the commands on questions.
func (h *Hub) Approvals() Approvals { return Approvals{h} }

// An AnswerRequest answers a question. Reason is masked.
type AnswerRequest struct {
	ID        wire.ApprovalID
	Approved  bool
	Digest    string // of what was shown; empty for a client that does not know it
	Key       string
	Reason    string
	Equal     bool           // all that wait and have the same digest
	Remember  *wire.Remember // makes a rule of it
	Principal row.Principal
}

// Answer answers a question that waits. The first answer wins: after one, wire.ReasonConflict tells who gave it, after a
// deadline wire.ReasonExpired, and so for a question that ended with its turn or run. Repeating a key repeats its note.
func (as Approvals) Answer(q AnswerRequest) (note string, t *Ticket, err error) {
	note, t, err = as.tryAnswer(q)
	if err != errArchive {
		return note, t, err
	}
	if err := as.late(q.ID); !notKnown(err) || !as.reread() {
		return "", nil, err
	}
	if note, t, err = as.tryAnswer(q); err == errArchive {
		err = as.late(q.ID)
	}
	return note, t, err
}

func notKnown(err error) bool {
	refused, is := errors.AsType[*wire.Error](err)
	return is && refused.Reason == wire.ReasonNotFound
}

// tryAnswer is errArchive for a question that is not in memory.
func (as Approvals) tryAnswer(q AnswerRequest) (note string, t *Ticket, err error) {
	err = as.h.ask(func() error {
		m := as.h.m
		if err := m.readOnly(); err != nil {
			return err
		}
		a := m.asks.rows[q.ID]
		if a == nil {
			return errArchive
		}
		if q.Key != "" && a.row.Key == q.Key && a.row.Approved != nil && *a.row.Approved == q.Approved {
			note, t = answerNote(q, 1), m.ticketOf(a.answered, nil)
			return nil
		}
		note, t, err = m.asks.answer(a, q)
		return err
	})
	return note, t, err
}

func answerNote(q AnswerRequest, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s and %d like it were %s.", q.ID, n-1, answerWord(q.Approved))
	}
	return fmt.Sprintf("%s was %s.", q.ID, answerWord(q.Approved))
}

func (k *asks) answer(a *approval, q AnswerRequest) (string, *Ticket, error) {
	m := k.m
	if !a.row.Waits() {
		return "", nil, tooLate(&a.row)
	}
	if q.Digest != "" && q.Digest != *a.row.Digest {
		return "", nil, wire.Refuse(wire.ReasonConflict, "scv approvals show "+string(q.ID),
			"What %s asks is not what was shown when this answer was given. Nothing was answered.", q.ID)
	}
	all := []*approval{a}
	if q.Equal {
		all = k.equal(a)
	}
	var rule *row.Rule
	if q.Remember != nil {
		learnt, err := rules.Learn(a.ask(), q.Approved, *q.Remember, m.now())
		if err != nil {
			return "", nil, err
		}
		learnt.From = &a.row.ID
		rule = k.addRule(learnt, q.Principal)
	}
	d := decision{approved: q.Approved, by: q.Principal.Who + " by " + q.Principal.Way, reason: q.Reason, key: q.Key, principal: q.Principal}
	asked := make([]*run, len(all))
	for i, x := range all {
		asked[i] = x.run
		x.decide(d)
	}
	for _, r := range asked {
		if r != nil {
			asking{r}.weigh(m.now(), "it was answered")
		}
	}
	note := answerNote(q, len(all))
	if rule != nil {
		note += fmt.Sprintf(" Rule %s was made of it.", rule.ID)
	}
	t := m.undoable(func() {
		for i, x := range all {
			x.reopen(asked[i])
		}
		if rule != nil {
			k.dropRule(rule.ID)
		}
	})
	return note, t, nil
}

// Changed says that a file which a question's command runs is not what was asked about: whoever answers has to look again,
// since the digest is another one now. Operands are the files as they are; name is fit to be shown.
func (as Approvals) Changed(id wire.ApprovalID, name string, operands []row.Operand) {
	as.h.do(func() {
		m := as.h.m
		a := m.asks.rows[id]
		if a == nil || !a.row.Waits() {
			return
		}
		a.row.Operands = operands
		warning := name + " was changed after this was asked"
		if !slices.Contains(a.row.Warnings, warning) {
			a.row.Warnings = append(slices.Clip(a.row.Warnings), warning)
		}
		a.row.Digest = new(row.Digest(&a.row.Approval, operands, a.hidden))
		a.touch()
		m.commit()
	})
}

// equal are all questions that wait and show the same.
func (k *asks) equal(a *approval) (all []*approval) {
	for _, x := range k.rows {
		if x.row.Waits() && *x.row.Digest == *a.row.Digest {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(x, y *approval) int { return cmp.Compare(x.row.Num, y.row.Num) })
	return all
}

// late refuses an answer to a question that is not in memory.
func (as Approvals) late(id wire.ApprovalID) error {
	if old, ok, err := as.archived(id); err != nil {
		return err
	} else if ok {
		return tooLate(&old)
	}
	return wire.Refuse(wire.ReasonNotFound, "scv approvals list", "There is no approval %s.", id)
}

func (as Approvals) archived(id wire.ApprovalID) (row.Approval, bool, error) {
	archive, ok := as.h.o.Journal.(ApprovalArchive)
	if !ok {
		return row.Approval{}, false, nil
	}
	old, found, err := archive.Approval(as.h.ctx, id)
	if err != nil {
		return old, false, fmt.Errorf("look for %s in the ledger: %w", id, err)
	}
	return old, found, nil
}

// tooLate says what became of a question that does not wait.
func tooLate(a *row.Approval) *wire.Error {
	hint := "scv approvals show " + string(a.ID)
	switch {
	case a.By == byDeadline:
		return wire.Refuse(wire.ReasonExpired, hint, "%s was denied by its deadline at %s. Nothing was done.", a.ID, clock(a.ExpiresUnixSeconds))
	case a.State == wire.ApprovalCancelled, a.By == byCancel:
		return wire.Refuse(wire.ReasonExpired, hint, "%s went with its turn, which was cancelled. Nothing was done.", a.ID)
	case a.State == wire.ApprovalVoid && a.Approved == nil:
		return wire.Refuse(wire.ReasonExpired, hint, "%s went with its turn, which is over. Nothing was done.", a.ID)
	}
	return wire.Refuse(wire.ReasonConflict, hint, "%s was already %s by %s.", a.ID, answerWord(a.Approved != nil && *a.Approved), a.By)
}

func clock(seconds uint64) string { return time.Unix(int64(seconds), 0).Local().Format("15:04") }

// Find returns a question of any state.
func (as Approvals) Find(id wire.ApprovalID) (found row.Approval, ok bool, err error) {
	look := func() {
		if a := as.h.m.asks.rows[id]; a != nil {
			found, ok = a.row, true
		}
	}
	if as.h.do(look); ok {
		return found, true, nil
	}
	if found, ok, err = as.archived(id); ok || err != nil || !as.reread() {
		return found, ok, err
	}
	as.h.do(look)
	return found, ok, nil
}

// A QuestionRequest asks the owner for a yes or no. The question is masked; Job and Session are of who asks, if it lies
// inside a run.
type QuestionRequest struct {
	Question string
	Hidden   bool // masking changed it
	Run      wire.RunHandle
	Wait     time.Duration // until silence is a no
}

// maxQuestions bounds the questions that wait at the same time.
const maxQuestions = 100

// Ask puts a question to the owner.
func (as Approvals) Ask(q QuestionRequest) (asked row.Approval, t *Ticket, err error) {
	err = as.h.ask(func() error {
		m := as.h.m
		if err := m.readOnly(); err != nil {
			return err
		}
		n := 0
		for _, a := range m.asks.rows {
			if a.row.Kind == wire.ApprovalQuestion && a.row.Waits() {
				n++
			}
		}
		if n >= maxQuestions {
			return wire.Refuse(wire.ReasonFull, "scv approvals list", "%d questions wait for the owner already.", n)
		}
		a := m.asks.question(q)
		asked, t = a.row, m.ticket(nil)
		return nil
	})
	return asked, t, err
}

func (k *asks) question(q QuestionRequest) *approval {
	m := k.m
	id := k.drawID()
	a := &approval{m: m, hidden: q.Hidden}
	a.row = row.Approval{
		Approval: wire.Approval{
			ID: id, Name: "question", Summary: q.Question, Kind: wire.ApprovalQuestion, State: wire.ApprovalOpen,
			SinceUnixSeconds: unix(m.now()), ExpiresUnixSeconds: wire.NoDeadline,
		},
		Num: m.counters.Approvals,
	}
	if r := m.runs[q.Run]; r != nil {
		a.row.Session, a.row.Run, a.row.Agent, a.row.Cwd = r.row.Session, &r.row.Handle, r.row.Agent, r.row.Cwd
		if j := r.current; j != nil {
			a.row.Job, a.row.Workspace = j.row.Job.Job, j.row.Workspace
		}
	}
	a.row.Digest = new(row.Digest(&a.row.Approval, a.row.Operands, a.hidden))
	k.rows[id] = a
	k.expireAfter(a, q.Wait)
	a.touch()
	m.commit()
	return a
}

// drawID names a question by its number, scattered, since no run's position does.
func (k *asks) drawID() wire.ApprovalID {
	m := k.m
	f := fnv.New64a()
	f.Write([]byte(m.home))
	for {
		m.counters.Approvals++
		id := wire.ApprovalID(fmt.Sprintf("ap-%012x", (m.counters.Approvals*0x9e3779b97f4a7c15+f.Sum64())>>16))
		if k.rows[id] == nil {
			return id
		}
	}
}

// Rules returns the rules that were not removed.
func (as Approvals) Rules() (held []row.Rule) {
	as.h.do(func() { held = slices.Clone(as.h.m.asks.rules) })
	return held
}

// AddRule makes a rule. What waits and is denied by it is answered so; what it would allow still waits for a person.
func (as Approvals) AddRule(r wire.ApprovalRule, p row.Principal) (note string, t *Ticket, err error) {
	if err := rules.Check(r); err != nil {
		return "", nil, err
	}
	err = as.h.ask(func() error {
		m := as.h.m
		if err := m.readOnly(); err != nil {
			return err
		}
		added := m.asks.addRule(r, p)
		note = fmt.Sprintf("Rule %s holds.", added.ID)
		t = m.undoable(func() { m.asks.dropRule(added.ID) })
		return nil
	})
	return note, t, err
}

func (k *asks) addRule(r wire.ApprovalRule, p row.Principal) *row.Rule {
	m := k.m
	m.counters.Rules++
	r.ID, r.Made, r.By = fmt.Sprintf("rule-%d", m.counters.Rules), unix(m.now()), p.Who+" by "+p.Way
	added := row.Rule{ApprovalRule: r, Num: m.counters.Rules}
	k.rules = append(slices.Clip(k.rules), added)
	m.dirty.rules[r.ID] = added
	m.dirty.accepted = append(m.dirty.accepted, row.Accepted{At: m.now(), What: "rule", Rule: &added})
	m.commit()
	k.tighten()
	return &added
}

// tighten answers what waits and is denied by the rules of now.
func (k *asks) tighten() {
	m := k.m
	for _, a := range k.rows {
		r := a.run
		if r == nil || !a.row.Waits() {
			continue
		}
		if v := a.verdict(r.current); v.Decision == wire.DecideDeny {
			a.decide(decision{by: decider(v, false), rule: v.Rule, reason: v.Why})
			asking{r}.weigh(m.now(), "it was denied")
		}
	}
}

// RemoveRule removes a rule; what it answered stays answered.
func (as Approvals) RemoveRule(id string, p row.Principal) (note string, t *Ticket, err error) {
	err = as.h.ask(func() error {
		m := as.h.m
		if err := m.readOnly(); err != nil {
			return err
		}
		removed, ok := m.asks.dropRule(id)
		if !ok {
			return wire.Refuse(wire.ReasonNotFound, "scv approvals rules list", "There is no rule %.40s.", id)
		}
		m.dirty.accepted = append(m.dirty.accepted, row.Accepted{At: m.now(), What: "rule", Rule: &removed})
		as.h.o.Log.Info("rule removed", "rule", id, "who", p.Who, "way", p.Way)
		note, t = fmt.Sprintf("Rule %s was removed.", id), m.ticket(nil)
		return nil
	})
	return note, t, err
}

func (k *asks) dropRule(id string) (row.Rule, bool) {
	m := k.m
	i := slices.IndexFunc(k.rules, func(r row.Rule) bool { return r.ID == id })
	if i < 0 {
		return row.Rule{}, false
	}
	removed := k.rules[i]
	removed.Removed = true
	k.rules = slices.Concat(k.rules[:i], k.rules[i+1:])
	m.dirty.rules[id] = removed
	m.commit()
	return removed, true
}

// Test says what would be decided of a request.
func (as Approvals) Test(mode wire.PermissionMode, a rules.Ask) (v rules.Verdict) {
	as.h.do(func() { v = rules.Decide(mode, as.h.m.asks.rules, a, as.h.m.now()) })
	return v
}
