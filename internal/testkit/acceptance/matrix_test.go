//go:build linux

package acceptance

import (
	"errors"
	"fmt"
	"strings"

	"scv/internal/client"
	"scv/internal/wire"
)

// A column of the matrix is something that an owner does. It is done twice in each row: as it is, and with the daemon
// killed in the middle of it. What comes back is the cell: "yes", or what happens instead, in words. What must not
// happen, such as a command that runs twice, fails the test.
type column struct {
	name string
	do   func(m *row, crash func()) string
}

func columns() []column {
	return []column{
		{"start", (*row).starts},
		{"resume", (*row).resumes},
		{"steer", (*row).steers},
		{"queue", (*row).queues},
		{"cancel", (*row).cancels},
		{"approve", (*row).approves},
		{"deny", (*row).denies},
	}
}

// A row is a subject that is tried. Its turns in the mode auto are one conversation, those that ask another one.
type row struct {
	*stage
	last  wire.JobID // of the conversation in the mode auto
	asks  wire.JobID // of the one in the mode always
	turns int
}

// yes is the cell of what works.
const yes = "yes"

// turn is the next turn in the mode auto.
func (m *row) turn(prompt string) wire.JobID {
	m.t.Helper()
	if m.last == "" {
		m.last = m.begin("auto", prompt)
	} else {
		m.last = m.next(m.last, prompt)
	}
	return m.last
}

// word is a reply that no other turn has.
func (m *row) word() string {
	m.turns++
	return fmt.Sprintf("word-%d", m.turns)
}

func (m *row) replied(id wire.JobID, want string) {
	m.t.Helper()
	if got := m.ended(id, wire.StateCompleted); got != want {
		m.t.Errorf("%s replied %q, want %q", id, got, want)
	}
}

func (m *row) starts(crash func()) string {
	h, word := m.hold(), m.word()
	id := m.begin("auto", "@@"+h.step+"|say:"+word)
	h.runs(id)
	crash()
	h.letGo()
	m.replied(id, word)
	h.once(id)
	if log := m.ok("jobs", "log", string(id)); strings.Contains(log, " listens on ") { // T9
		m.t.Errorf("a process of %s listens where nobody was told that it would:\n%s", m.kind, log)
	}
	if m.last == "" {
		m.last = id
	} else {
		m.closes(id)
	}
	return yes
}

func (m *row) resumes(crash func()) string {
	before := m.last
	m.closes(before)
	h, word := m.hold(), m.word()
	remembers := "|hist"
	if m.a == nil {
		remembers = "|say:" + word
	}
	id := m.turn("@@" + h.step + remembers)
	if !h.begins(id) {
		m.t.Fatalf("%s did not go on: %s", id, m.ok("jobs", "log", string(id)))
	}
	crash()
	h.letGo()
	reply := m.ended(id, wire.StateCompleted)
	h.once(id)
	if m.run(before) == m.run(id) {
		m.t.Errorf("%s was served by the process that %s had", id, before)
	}
	if m.forgets && !strings.Contains(reply, "word-1") && strings.Contains(m.ok("jobs", "log", string(id)), "it does not know the earlier prompts") {
		return "it begins anew, and says so"
	}
	if m.a != nil && (!strings.Contains(reply, "word-1") || !strings.Contains(reply, "hist")) {
		m.t.Errorf("the conversation holds %q", reply)
	}
	return yes
}

func (m *row) steers(crash func()) string {
	h, straight, steered := m.hold(), m.word(), m.word()
	id := m.turn("@@" + h.step + "|say:" + straight)
	h.runs(id)
	text, key := "rather @@say:"+steered, client.NewKey()
	into := m.reaches(id, wire.StateWorking)
	type told struct {
		st  *wire.DaemonStatus
		err error
	}
	answer := make(chan told, 1)
	go func() {
		st, err := m.send(into, wire.SendSteer, text, key)
		answer <- told{st, err}
	}()
	given(m.stage, *into.Run, text, answer)
	before := m.daemon()
	crash()
	if m.daemon() == before { // who sent it hears of it while the tool still runs
		select {
		case said := <-answer:
			answer <- said
		case <-m.ctx.Done():
			m.t.Fatalf("%s said nothing of the prompt as long as its tool ran", m.kind)
		}
	}
	h.letGo()
	reply := m.ended(id, wire.StateCompleted)
	h.once(id)
	var st *wire.DaemonStatus
	var err error
	select {
	case first := <-answer:
		st, err = first.st, first.err
	default:
	}
	if _, is := errors.AsType[*wire.Error](err); st == nil && !is { // the same key tells what became of it
		st, err = m.send(into, wire.SendSteer, text, key)
	}
	n := strings.Count(m.ok("jobs", "log", string(id)), "\tsteered\t")
	refused, is := errors.AsType[*wire.Error](err)
	switch {
	case err == nil && *st.Delivery == wire.DeliverySteered && n == 1 && (reply == steered || m.a == nil):
		return yes
	case is && refused.Reason == wire.ReasonNotSteerable && n == 0 && reply == straight:
		return "refused"
	}
	m.t.Errorf("%+v, %v; %d in the log, reply %q", st, err, n, reply)
	return "broken"
}

func (m *row) queues(crash func()) string {
	h, first, second := m.hold(), m.word(), m.word()
	id := m.turn("@@" + h.step + "|say:" + first)
	h.runs(id)
	behind := m.turn("@@say:" + second)
	crash()
	view := m.until("both are known", func(v *wire.Snapshot) bool { return job(v, behind) != nil })
	if state := job(view, behind).State; state != wire.StateQueued && m.a != nil {
		m.t.Errorf("%s is %s while %s runs", behind, state, id)
	}
	h.letGo()
	m.replied(id, first)
	m.replied(behind, second)
	h.once(id)
	return yes
}

func (m *row) cancels(crash func()) string {
	h, word := m.hold(), m.word()
	id := m.turn("@@" + h.step + "|say:never")
	h.runs(id)
	m.ok("jobs", "cancel", string(id))
	crash()
	m.ended(id, wire.StateCancelled)
	h.once(id)
	m.replied(m.turn("@@say:"+word), word)
	return yes
}

// request begins a turn that needs leave, waits until it asks and looks at what it asks; nil when it does not.
func (m *row) request(then string) (id wire.JobID, a *wire.Approval, ran func() int) {
	m.t.Helper()
	step, command, file := m.ask()
	prompt := "@@" + step + "|say:" + then
	if m.asks == "" {
		m.asks = m.begin("always", prompt)
	} else {
		m.asks = m.next(m.asks, prompt)
	}
	id = m.asks
	ran = func() int { return m.ran(id, command, file) }
	if a = m.asked(id); a == nil {
		return id, nil, ran
	}
	if a.Command != command || a.Risk != "process" || a.Cwd != m.work && a.Cwd != "" {
		m.t.Errorf("it asks for %q, risk %q, in %q; want %q in %q", a.Command, a.Risk, a.Cwd, command, m.work)
	}
	if n := ran(); n != 0 {
		m.t.Errorf("%q ran %d times before it was answered", command, n)
	}
	return id, a, ran
}

// unasked is the cell of a transport that cannot ask: its agent refuses what it would have to ask for, or runs it.
func unasked(ran int) string {
	if ran > 0 {
		return "not asked: it runs"
	}
	return "not asked: it is refused"
}

func (m *row) approves(crash func()) string {
	word := m.word()
	id, a, ran := m.request(word)
	if a == nil {
		return unasked(ran())
	}
	crash()
	if again := m.asked(id); again == nil || again.ID != a.ID {
		m.t.Fatalf("%s asks as %+v, before as %s", id, again, a.ID)
	}
	m.ok("approvals", "approve", string(a.ID))
	crash()
	m.replied(id, word)
	if n := ran(); n != 1 {
		m.t.Errorf("%q was approved and ran %d times", a.Command, n)
	}
	return yes
}

func (m *row) denies(crash func()) string {
	id, a, ran := m.request(m.word())
	if a == nil {
		return unasked(ran())
	}
	crash()
	m.ok("approvals", "deny", string(a.ID), "--reason", "not today")
	crash()
	view := m.until("its turn ends", func(v *wire.Snapshot) bool { return job(v, id).State.Final() })
	if n := ran(); n != 0 {
		m.t.Errorf("%q was denied and ran %d times", a.Command, n)
	}
	if state := job(view, id).State; state != wire.StateCompleted {
		return fmt.Sprintf("%s, and its turn is %s", yes, state)
	}
	return yes
}
