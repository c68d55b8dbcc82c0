package hub

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A Ticket stands for a change that is not on disk yet. Only when it has resolved may the change be acknowledged.
type Ticket struct {
	done chan struct{}
	err  error // set before done is closed
}

// Wait returns when the change is on disk, or why it will not be. When ctx ends first its error comes back, and the
// change may still become durable: ask again with the same key.
func (t *Ticket) Wait(ctx context.Context) error {
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return fmt.Errorf("wait for the ledger: %w", ctx.Err())
	}
}

func (t *Ticket) resolve(err error) {
	t.err = err
	close(t.done)
}

// rows names the rows of a batch; their values are copied when it is taken.
type rows struct {
	sessions map[*session]struct{}
	convs    map[*conversation]struct{}
	jobs     map[*job]struct{}
	runs     map[*run]struct{}
	prompts  map[wire.JobID]row.Prompt
	results  map[*job]struct{}
	accepted []row.Accepted

	approvals map[*approval]struct{}
	rules     map[string]row.Rule
	holds     map[string]row.Hold
}

func newRows() rows {
	return rows{
		sessions: map[*session]struct{}{}, convs: map[*conversation]struct{}{}, jobs: map[*job]struct{}{},
		runs: map[*run]struct{}{}, prompts: map[wire.JobID]row.Prompt{}, results: map[*job]struct{}{},
		approvals: map[*approval]struct{}{}, rules: map[string]row.Rule{}, holds: map[string]row.Hold{},
	}
}

func (r *rows) empty() bool {
	return len(r.sessions)+len(r.convs)+len(r.jobs)+len(r.runs)+len(r.prompts)+len(r.results)+
		len(r.approvals)+len(r.rules)+len(r.holds)+len(r.accepted) == 0
}

// join puts back what an older batch could not store; the newer values of a row are taken anyway.
func (r *rows) join(old rows) {
	maps.Copy(r.sessions, old.sessions)
	maps.Copy(r.convs, old.convs)
	maps.Copy(r.jobs, old.jobs)
	maps.Copy(r.runs, old.runs)
	maps.Copy(r.prompts, old.prompts)
	maps.Copy(r.results, old.results)
	r.accepted = append(old.accepted, r.accepted...)
	maps.Copy(r.approvals, old.approvals)
	older(r.rules, old.rules)
	older(r.holds, old.holds)
}

// older adds what a map has nothing newer of.
func older[T any](to, from map[string]T) {
	for id, v := range from {
		if _, newer := to[id]; !newer {
			to[id] = v
		}
	}
}

// pending is what waits for the disk. Batches are numbered; what a batch holds becomes true for others (tickets,
// effects, wishes) when committed reaches its number.
type pending struct {
	dirty     rows
	urgent    bool // something must become durable; the rest goes along
	linger    *time.Timer
	do        func(func()) error // the loop's, for the timer
	batch     uint64             // number of the batch that is filled now
	committed uint64
	flying    *rows // at the journal
	tickets   []waiting
	effects   []effect
	adopt     []effect // of runs that were live when the hub began

	performing bool // effects are on their way to the launcher
}

type waiting struct {
	batch uint64
	t     *Ticket
	fresh *job   // is new in that batch
	undo  func() // takes back what the batch holds; nil: it stays
}

// effect is a call of the launcher that waits for its rows.
type effect struct {
	batch  uint64
	run    *run
	launch bool // else wake
	adopt  bool
}

func newPending(do func(func()) error) pending { return pending{dirty: newRows(), batch: 1, do: do} }

func (p *pending) inFlight() bool { return p.flying != nil }

// commit says that the changes so far must become durable.
func (p *pending) commit() { p.urgent = true }

// lingering is how long the end of a turn waits for the end of its process, so that both are one flush. Until then the
// spool holds it, from which it would be folded again.
const lingering = 50 * time.Millisecond

func (p *pending) commitSoon() {
	if p.linger == nil {
		p.linger = time.AfterFunc(lingering, func() { p.do(p.commit) })
	}
}

func (p *pending) stopLingering() {
	if p.linger != nil {
		p.linger.Stop()
		p.linger = nil
	}
}

// ticket stands for the batch that is filled now; fresh is a job that the refusal of the batch undoes.
func (p *pending) ticket(fresh *job) *Ticket {
	return p.ticketOf(p.batch, fresh)
}

func (p *pending) ticketOf(batch uint64, fresh *job) *Ticket {
	t := &Ticket{done: make(chan struct{})}
	if batch <= p.committed {
		t.resolve(nil)
		return t
	}
	p.tickets = append(p.tickets, waiting{batch: batch, t: t, fresh: fresh})
	return t
}

// kept stands for what an earlier request changed, which may be in any batch so far.
func (p *pending) kept() *Ticket {
	p.commit()
	return p.ticket(nil)
}

// undoable stands for a change in the batch that is filled now, which the refusal of the batch takes back.
func (p *pending) undoable(undo func()) *Ticket {
	t := p.ticket(nil)
	p.tickets[len(p.tickets)-1].undo = undo
	return t
}

// due takes out the tickets of the batches up to one.
func (p *pending) due(batch uint64) (due []waiting) {
	p.tickets = slices.DeleteFunc(p.tickets, func(w waiting) bool {
		if w.batch <= batch {
			due = append(due, w)
		}
		return w.batch <= batch
	})
	return due
}

func (p *pending) after(e effect) {
	e.batch = p.batch
	p.effects = append(p.effects, e)
}

// take returns the next batch with current values, or false when nothing must be stored; all takes what could wait too.
func (m *model) take(all bool) (row.Batch, bool) {
	if m.flying != nil || !m.urgent && (!all || m.dirty.empty()) {
		return row.Batch{}, false
	}
	m.stopLingering()
	r := m.dirty
	m.flying, m.dirty, m.urgent = &r, newRows(), false
	m.batch++
	b := row.Batch{Prompts: r.prompts, Accepted: r.accepted, Counters: m.counters}
	b.Counters.Conversations = maps.Clone(m.counters.Conversations)
	for s := range r.sessions {
		b.Sessions = append(b.Sessions, s.row)
	}
	for c := range r.convs {
		b.Conversations = append(b.Conversations, c.row)
	}
	for j := range r.jobs {
		b.Jobs = append(b.Jobs, j.row)
		b.Jobs[len(b.Jobs)-1].Attach = nil // of the moment only
	}
	for x := range r.runs {
		b.Runs = append(b.Runs, x.row)
		b.Runs[len(b.Runs)-1].Attach = nil
	}
	for a := range r.approvals {
		b.Approvals = append(b.Approvals, a.row)
	}
	b.Rules = slices.Collect(maps.Values(r.rules))
	b.Holds = slices.Collect(maps.Values(r.holds))
	for j := range r.results {
		if b.Results == nil {
			b.Results = map[wire.JobID]row.Result{}
		}
		b.Results[j.row.Job.Job] = *j.result
	}
	return b, true
}

// stored takes the outcome of the batch at the journal and returns what may be done now.
func (m *model) stored(failed error) (now []effect) {
	r := m.flying
	m.flying = nil
	if failed != nil {
		m.refuse(r, failed)
		return nil
	}
	m.committed = m.batch - 1
	if m.storage != "" {
		m.setStorage("")
		m.requeue = true
	}
	for _, w := range m.due(m.committed) {
		w.t.resolve(nil)
	}
	for j := range r.results {
		j.result = nil
	}
	for j := range r.jobs {
		m.takeovers.stale[j.conv] = struct{}{} // what is on disk can be interrupted
		if _, again := m.dirty.jobs[j]; j.row.Hidden() && j.row.State.Final() && !again {
			j.drop()
		}
	}
	m.forget()
	for c := range r.convs {
		c.drop()
	}
	for len(m.effects) > 0 && m.effects[0].batch <= m.committed {
		e := m.effects[0]
		m.effects = m.effects[1:]
		if !e.run.row.Live || e.launch && e.run.launched {
			continue
		}
		e.run.launched = e.run.launched || e.launch
		now = append(now, e)
	}
	return now
}

// refuse keeps the rows of a batch that could not be stored, turns the hub read-only, and takes back the jobs that
// were new in it: their clients learn that they were not accepted, so they must never run.
func (m *model) refuse(r *rows, failed error) {
	m.dirty.join(*r)
	m.urgent = true
	m.setStorage("SCV cannot write its ledger (" + failed.Error() + "). What runs goes on, and nothing new is taken until it can be written.")
	for _, w := range slices.Backward(m.due(m.batch - 1)) {
		switch {
		case w.fresh != nil:
			w.fresh.takeBack()
		case w.undo != nil:
			w.undo()
		}
		w.t.resolve(m.readOnly())
	}
}

// takeBack ends a job that was never on disk. Its row is written later as cancelled and dismissed: a failed commit may
// have reached the disk all the same, and its number stays used.
func (j *job) takeBack() {
	m := j.m
	if j.row.Dismissed {
		return
	}
	if m.keys[j.row.Key] == j {
		delete(m.keys, j.row.Key)
	}
	j.row.Key = ""
	if x := j.row.Steer; x != nil {
		if !j.row.State.Final() {
			j.row.Steer = &row.Steer{Run: x.Run, Turn: x.Turn, Into: x.Into, Strict: true}
			steer{j}.untaken("the ledger could not be written", false)
		}
		return
	}
	if !j.row.State.Final() {
		r := j.run
		j.note(m.now(), "daemon", "it was not accepted, because the ledger could not be written")
		j.withdraw("not accepted, because the ledger could not be written")
		if r != nil && !r.row.Live {
			m.ended = deleteOne(m.ended, r)
			m.unlist(&r.entry)
			delete(m.runs, r.row.Handle)
		}
	}
	if r := j.row.Resumes; r != nil {
		if _, id, _ := r.Split(); m.jobs[id] != nil {
			old := m.jobs[id]
			old.row.ResumedAs, old.row.Resumable = nil, true
			old.touch()
		}
	}
	j.dismiss(row.Principal{Who: "daemon", Way: "storage"})
}

func (m *model) setStorage(s string) {
	if m.storage == s {
		return
	}
	m.gen++
	m.storage, m.storageGen = s, m.gen
}

// readOnly is the refusal while the ledger cannot be written, nil otherwise.
func (m *model) readOnly() error {
	if m.storage == "" {
		return nil
	}
	return wire.Refuse(wire.ReasonUnavailable, "free some space on the disk, then try again; it is noticed by itself", "%s", m.storage)
}

// close fails what can no longer become durable.
func (m *model) close() {
	for _, w := range m.tickets {
		w.t.resolve(wire.Refuse(wire.ReasonUnavailable, "scv start", "The SCV daemon stopped before this was on disk."))
	}
	m.tickets = nil
	for _, c := range m.idlers {
		close(c)
	}
	m.idlers = nil
	m.takeovers.close()
	m.stopLingering()
	if m.memory.timer != nil {
		m.memory.timer.Stop()
	}
	m.idling.stop()
	m.scarce.stop()
	m.holds.next.stop()
	for _, r := range m.runs {
		r.word.stop()
	}
	if m.asks.timer != nil {
		m.asks.timer.Stop()
	}
	m.closeWatchers()
}
