package hub

import (
	"container/list"
	"strings"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// model is the state. The loop's goroutine owns all of it; New fills it before the loop begins. Rows are handed out as
// copies: what a pointer or slice inside a row shows is never changed, only replaced.
type model struct {
	h        *Hub
	home     string
	counters row.Counters
	sessions map[wire.SessionID]*session
	convs    map[wire.ConversationID]*conversation
	jobs     map[wire.JobID]*job
	runs     map[wire.RunHandle]*run
	keys     map[string]*job

	queued   []*job // every queued job, by place
	decided  []*job // steers of which it is known what became of them, and not told
	finished []*job // listed ones, by number
	ended    []*run // in the order in which they ended
	active   int    // jobs whose turn runs, or may run
	open     int    // jobs that are not finished
	live     int    // runs whose process may be alive

	requeue   bool            // the queues have to be looked at
	draining  bool            // nothing more is started
	rests     []chan struct{} // who waits until all that was begun is with the launcher
	idlers    []chan struct{}
	memory    memory
	scarce    alarm  // set while nothing is started for want of what comes back by itself
	lack      string // of what
	idling    alarm  // rings when the longest idle run has been so for too long
	asks      asks
	unread    unread
	takeovers takeovers
	holds     holds

	rev uint64
	feed
	pending
	storage    string // why the ledger cannot be written; empty when it can
	storageGen uint64
	forecast   forecast
	restorable restorable
}

type session struct {
	m        *model
	row      row.Session
	convs    int             // in memory
	active   int             // jobs whose turn runs
	awaiting int             // jobs that wait for the owner
	shown    wire.AgentState // what the model loop does, of one of its sessions; unknown for any other
	entry    *list.Element
}

type conversation struct {
	m       *model
	row     row.Conversation
	session *session
	jobs    int     // in memory
	current *job    // whose turn runs
	run     *run    // that is alive and holds the conversation
	shell   *run    // of the owner's, that is alive
	taking  *Taking // for which the conversation is kept free
	last    *job    // the newest one in memory
}

type job struct {
	m         *model
	row       row.Job
	conv      *conversation
	steering  *Steering // while it is not known whether the running turn takes it
	run       *run      // that serves it, while it is not finished
	prompt    string
	begun     time.Time // its turn, in this daemon
	retrying  bool      // the detail is what the agent tries again
	born      uint64    // batch that first holds it; 0: loaded
	assigned  uint64    // batch that holds its turn
	cancelled uint64    // batch that holds the wish to cancel it
	result    *row.Result
	entry     *list.Element
}

type run struct {
	m        *model
	row      row.Run
	conv     *conversation
	current  *job
	launched bool
	steers   []*job          // on their way into its turn, in their order
	word     alarm           // ends the wait for the agent's word on them
	closing  bool            // it was idle for long and is to leave
	idle     time.Time       // since when, while it is
	stop     uint64          // batch that holds the wish to stop it
	before   wire.AgentState // as loaded, until it is seen again
	born     uint64          // of a terminal: batch that first holds it; 0: loaded
	yielded  wire.JobID      // of a terminal: whose turn was stopped for it
	entry    *list.Element
}

func newModel(h *Hub) *model {
	m := &model{
		h: h, sessions: map[wire.SessionID]*session{}, convs: map[wire.ConversationID]*conversation{},
		jobs: map[wire.JobID]*job{}, runs: map[wire.RunHandle]*run{}, keys: map[string]*job{},
	}
	m.asks.m, m.asks.rows = m, map[wire.ApprovalID]*approval{}
	m.holds.m, m.holds.rows, m.holds.lifted = m, map[string]*hold{}, map[string]time.Time{}
	m.takeovers.m, m.takeovers.stale = m, map[*conversation]struct{}{}
	m.feed.watchers = map[*Watcher]struct{}{}
	m.pending = newPending(h.do)
	return m
}

func (m *model) now() time.Time { return m.h.o.Now() }

func unix(t time.Time) uint64 { return uint64(max(t.Unix(), 0)) }

func millis(t time.Time) uint64 { return uint64(max(t.UnixMilli(), 0)) }

// maxText bounds the sentences of a row in bytes, so that a snapshot stays far below a frame.
const maxText = 500

// text is an optional text of a row: nil when empty, cut at a character when too long.
func text(s string) *string {
	if s == "" {
		return nil
	}
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return &s
}

func str(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func (s *session) touch() {
	m := s.m
	m.rev++
	s.row.Rev = m.rev
	m.dirty.sessions[s] = struct{}{}
	m.mark(&s.entry, entry{session: s})
}

func (c *conversation) touch() {
	m := c.m
	m.rev++
	c.row.Rev = m.rev
	m.dirty.convs[c] = struct{}{}
	m.takeovers.stale[c] = struct{}{}
}

func (j *job) touch() {
	m := j.m
	m.rev++
	j.row.Rev = m.rev
	m.dirty.jobs[j] = struct{}{}
	m.takeovers.stale[j.conv] = struct{}{}
	if !j.row.Hidden() {
		m.mark(&j.entry, entry{job: j})
	}
}

func (r *run) touch() {
	m := r.m
	m.rev++
	r.row.Rev = m.rev
	r.row.Steerable = r.steerable()
	m.dirty.runs[r] = struct{}{}
	m.takeovers.stale[r.conv] = struct{}{}
	m.mark(&r.entry, entry{run: r})
}

// forget drops finished jobs and ended runs beyond the limits from memory, once they are on disk.
func (m *model) forget() {
	for len(m.finished) > m.h.o.Limits.FinishedListed {
		j := m.finished[0]
		if _, unsaved := m.dirty.jobs[j]; unsaved || j.result != nil || m.inFlight() {
			break
		}
		m.finished = m.finished[1:]
		m.unlist(&j.entry)
		j.drop()
	}
	for len(m.ended) > m.h.o.Limits.EndedListed {
		r := m.ended[0]
		if _, unsaved := m.dirty.runs[r]; unsaved || m.inFlight() {
			break
		}
		m.ended = m.ended[1:]
		m.unlist(&r.entry)
		delete(m.runs, r.row.Handle)
		r.conv.drop()
	}
}

// drop takes a job, and what only it kept, out of memory.
func (j *job) drop() {
	m := j.m
	delete(m.jobs, j.row.Job.Job)
	if m.keys[j.row.Key] == j {
		delete(m.keys, j.row.Key)
	}
	j.conv.jobs--
	j.conv.drop()
}

func (c *conversation) drop() {
	m := c.m
	if c.jobs > 0 || c.run != nil || c.shell != nil || c.taking != nil || m.convs[c.row.ID] != c {
		return
	}
	if _, unsaved := m.dirty.convs[c]; unsaved {
		return // the next commit tries again
	}
	delete(m.convs, c.row.ID)
	s := c.session
	if s.convs--; s.convs == 0 && s.shown == wire.StateUnknown {
		if _, unsaved := m.dirty.sessions[s]; !unsaved {
			m.unlist(&s.entry)
			delete(m.sessions, s.row.ID)
		}
	}
}
