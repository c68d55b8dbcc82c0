package hub

import (
	"cmp"
	"maps"
	"slices"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// loader fills a new model.
type loader struct{ m *model }

// rows makes the state of what the ledger had. Live runs are not believed: each is unknown until the launcher has
// found it again, and then goes on from the state that its Pos belongs to.
func (f loader) rows(l row.Loaded) {
	m := f.m
	m.home, m.counters = l.HomeID, l.Counters
	if m.counters.Conversations == nil {
		m.counters.Conversations = map[string]uint64{}
	}
	m.rev = l.Starts << 32
	for _, s := range l.Sessions {
		m.addSession(s)
	}
	for _, c := range l.Conversations {
		m.addConversation(c)
	}
	for _, r := range l.Runs {
		f.run(r)
	}
	m.holds.spent = spending{row.Midnight(m.now()), map[string]float64{}}
	maps.Copy(m.holds.spent.agent, l.SpentToday)
	for _, h := range l.Holds {
		m.holds.rows[h.ID()] = &hold{row: h}
	}
	for _, j := range l.Jobs {
		f.job(j, l.Prompts[j.Job.Job])
	}
	for _, a := range l.Approvals {
		f.approval(a)
	}
	m.asks.rules = l.Rules
	m.holds.renewed()
	slices.SortFunc(m.queued, byPlace)
	slices.SortFunc(m.finished, byNumber)
	slices.SortFunc(m.ended, func(a, b *run) int { return cmp.Compare(a.row.Ended, b.row.Ended) })
	m.requeue = true
}

func (f loader) run(l row.Run) {
	m := f.m
	if l.Conversation == nil {
		return
	}
	c := m.convs[*l.Conversation]
	if c == nil {
		c = m.addConversation(row.Conversation{ID: *l.Conversation, Session: l.Session, Agent: l.Agent, Cwd: l.Cwd})
	}
	r := &run{m: m, row: l, conv: c, launched: true}
	m.runs[l.Handle] = r
	m.rev = max(m.rev, l.Rev)
	if !l.Live {
		m.ended = append(m.ended, r)
		m.mark(&r.entry, entry{run: r})
		return
	}
	m.live++
	m.unread.add(l.Handle)
	if l.Terminal != nil {
		m.takeovers.open++
	}
	if l.Terminal != nil && l.Terminal.Shell {
		c.shell = r
	} else {
		c.run = r
	}
	r.before = l.State
	if !l.State.Final() {
		r.row.State, r.row.Detail = wire.StateUnknown, text(detailLooking)
	}
	m.mark(&r.entry, entry{run: r})
	m.adopt = append(m.adopt, effect{run: r, launch: true, adopt: true})
}

func (f loader) job(l row.Job, p row.Prompt) {
	m := f.m
	id := wire.ConversationID("")
	if l.Conversation != nil {
		id = *l.Conversation
	}
	c := m.convs[id]
	if c == nil {
		c = m.addConversation(row.Conversation{ID: id, Session: l.Session, Agent: l.Agent, Cwd: l.Cwd})
	}
	j := &job{m: m, row: l, conv: c, prompt: p.Text}
	if l.Hidden() && l.State.Final() {
		return
	}
	c.jobs++
	m.jobs[l.Job.Job] = j
	holder{c}.newest(j)
	m.rev = max(m.rev, l.Rev)
	m.counters.Job = max(m.counters.Job, l.Num)
	if l.Key != "" {
		m.keys[l.Key] = j
	}
	if !l.Hidden() {
		m.mark(&j.entry, entry{job: j})
	}
	switch {
	case l.Steer != nil:
		m.open++
		steer{j}.rejoin()
	case l.State.Final():
		j.row.Resumable = l.Resumable || l.State == wire.StateInterrupted && l.ResumedAs == nil && !l.Reviewed
		m.finished = append(m.finished, j)
	case l.Review != nil:
		m.open++
		reviewed{j}.rejoin()
	case l.State == wire.StateQueued:
		m.open++
		m.queued = append(m.queued, j)
	default:
		m.open++
		j.rejoin()
	}
}

// rejoin joins an unfinished turn with its run. Without a live run it cannot be anything but interrupted.
func (j *job) rejoin() {
	m := j.m
	m.active++
	j.conv.session.active++
	j.conv.current = j
	if h := j.row.Run; h != nil {
		j.run = m.runs[*h]
	}
	if j.run == nil || !j.run.row.Live {
		j.end(ending{state: wire.StateInterrupted, class: classLost, detail: "its process was gone when SCV started"}, m.now(), "daemon")
		return
	}
	j.run.current = j
	m.holds.begun(j)
	j.row.State, j.row.Detail = wire.StateUnknown, text(detailLooking)
}

// approval brings a question back: the same id, the same deadline. One whose run is gone went with it.
func (f loader) approval(l row.Approval) {
	m := f.m
	a := &approval{m: m, row: l, hidden: l.Digest != nil && *l.Digest != row.Digest(&l.Approval, l.Operands, false)}
	m.asks.rows[l.ID] = a
	m.rev = max(m.rev, l.Rev)
	m.counters.Approvals = max(m.counters.Approvals, l.Num)
	if l.Over() {
		m.asks.over = slices.Insert(m.asks.over, 0, a)
		return
	}
	if l.Run != nil {
		a.run = m.runs[*l.Run]
	}
	if l.Kind != wire.ApprovalQuestion && (a.run == nil || !a.run.row.Live) {
		a.close(row.ClosedVoid)
		return
	}
	if !l.Waits() {
		return
	}
	if l.ExpiresUnixSeconds != wire.NoDeadline {
		m.asks.expireAt(a)
	}
	m.mark(&a.entry, entry{approval: a})
}
