package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"scv/internal/safe/redact"
	"scv/internal/session/loop"
	"scv/internal/session/tool"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A Journal keeps sessions. Its methods may be called from any goroutine.
type Journal interface {
	// SaveTalk makes a change durable; on an error nothing of it counts.
	SaveTalk(ctx context.Context, c row.TalkChange) error
	// Talk returns a session with its history and queue; false when there is none.
	Talk(ctx context.Context, id wire.SessionID) (row.LoadedTalk, bool, error)
	// OpenTalks are the sessions that have not ended.
	OpenTalks(ctx context.Context) ([]row.Talk, error)
}

// A Bench is the workbench as far as sessions show in it. Its methods return at once.
type Bench interface {
	Show(s wire.Session)
	Hide(id wire.SessionID)
	Restorable(all []wire.RestorableSession)
}

// Options are what a Host is made of.
type Options struct {
	// Build makes what a session works with: of what it was asked to be, and of the settings of now.
	Build   func(ctx context.Context, t row.Talk) (Setup, error)
	Journal Journal // nil: nothing outlives the process
	Bench   Bench   // nil: nothing is shown
	// Job tells what became of a job that a session's model started; false while it is not over. Nil: there are no jobs.
	Job  func(ctx context.Context, session wire.SessionID, job wire.JobID) (wire.JobReport, bool)
	Mask func() *redact.Masker
	Log  *slog.Logger
	Now  func() time.Time
}

// A Host holds the sessions of a process. Its methods may be called from any goroutine.
type Host struct {
	o    Options
	ctx  context.Context
	open sync.WaitGroup

	mu     sync.Mutex
	closed bool
	live   map[wire.SessionID]*Session
	names  map[string]struct{}              // of sessions that are being started
	taken  map[wire.SessionID]chan struct{} // that are being taken up; closed when that is over
	left   map[wire.SessionID]row.Talk      // of an earlier process, not taken up: kept ones and restorable ones
}

// restorableFor is how long a session that was left can be taken over.
const restorableFor = 7 * 24 * time.Hour

// NewHost makes a host. Sessions that an earlier process left are read when they are wanted; ctx ends all that sessions
// do, but Close ends them in order.
func NewHost(ctx context.Context, o Options) (*Host, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Host{o: o, ctx: ctx, live: map[wire.SessionID]*Session{}, names: map[string]struct{}{}, taken: map[wire.SessionID]chan struct{}{}, left: map[wire.SessionID]row.Talk{}}
	if o.Journal == nil {
		return h, nil
	}
	talks, err := o.Journal.OpenTalks(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the sessions: %w", err)
	}
	old := uint64(max(o.Now().Add(-restorableFor).Unix(), 0))
	for _, t := range talks {
		if t.Keep || restorable(t) && t.Updated >= old {
			h.left[t.ID] = t
			continue
		}
		t.Ended = t.Updated
		if err := o.Journal.SaveTalk(ctx, row.TalkChange{Talk: t}); err != nil {
			return nil, fmt.Errorf("end a session that was left: %w", err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.showLeft()
	return h, nil
}

// restorable reports whether something of a session that was left can be taken over.
func restorable(t row.Talk) bool {
	return t.Persist && (len(t.Order) > 0 || t.Running != "" || t.Interrupted != "")
}

// showLeft tells the workbench what was left; the caller holds mu.
func (h *Host) showLeft() {
	if h.o.Bench == nil {
		return
	}
	var all []wire.RestorableSession
	for _, t := range slices.SortedFunc(maps.Values(h.left), func(a, b row.Talk) int { return int(b.Updated) - int(a.Updated) }) {
		if t.Keep {
			h.o.Bench.Show(leftRow(t, h.mask()))
		}
		if restorable(t) && len(all) < wire.MaxRestorable {
			all = append(all, wire.RestorableSession{
				ID: t.ID, Label: t.Label, Workspace: t.Workspace, Queued: uint32(len(t.Order)), Interrupted: optional(cutOff(t)), SavedUnixSeconds: t.Updated,
			})
		}
	}
	h.o.Bench.Restorable(all)
}

func leftRow(t row.Talk, k mask) wire.Session {
	w := wire.Session{ID: t.ID, Label: t.Label, Workspace: t.Workspace, Live: true, State: wire.StateIdle, Kept: true, Name: optional(t.Name)}
	switch {
	case len(t.Order) > 0:
		w.Detail = optional(fmt.Sprintf("%d prompts wait, paused", len(t.Order)))
	case cutOff(t) != "":
		w.Detail = optional(k.text("interrupted: " + cutOff(t)))
	}
	return w
}

// cutOff is the start of the prompt that was cut off when its process ended.
func cutOff(t row.Talk) string {
	if t.Running != "" {
		return t.Running
	}
	return t.Interrupted
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (h *Host) mask() mask { return mask{h.o.Mask()} }

// NewID draws a random uuid, version 4.
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// An Entrance is how a client came in: what it is told first is in its mailbox already.
type Entrance struct {
	Session *Session
	Client  *Client
}

// Start begins a session with one client. restore names a session of an earlier process whose queue is taken over, if it
// still can be; empty for none. A name that another session has, or is being started with, is refused.
func (h *Host) Start(ctx context.Context, request wire.RequestID, t row.Talk, restore wire.SessionID) (Entrance, error) {
	release, err := h.claim(t.Name)
	if err != nil {
		return Entrance{}, err
	}
	defer release()
	t.ID = wire.SessionID(NewID())
	t.Created = uint64(max(h.o.Now().Unix(), 0))
	t.Updated = t.Created
	setup, err := h.o.Build(ctx, t)
	if err != nil {
		return Entrance{}, err
	}
	setup.Loop.NewID = NewID
	core := loop.New(setup.Loop, t)
	s := h.newSession(core, t, setup)
	var restored *wire.RestoredQueue
	if restore != "" {
		restored = h.takeOver(ctx, core, restore, t.Workspace)
	}
	if err := h.enter(s); err != nil {
		return Entrance{}, errors.Join(err, setup.letGo())
	}
	return h.join(s, request, restored, true)
}

// Attach joins a session that is kept, and goes on with one that an earlier process left.
func (h *Host) Attach(ctx context.Context, request wire.RequestID, id wire.SessionID) (Entrance, error) {
	s, restored, err := h.find(ctx, id)
	if err != nil {
		return Entrance{}, err
	}
	return h.join(s, request, restored, false)
}

func noSession(id wire.SessionID) error {
	return &wire.Error{
		Code: wire.CodeSessionNotFound, Reason: wire.ReasonNotFound,
		Message: fmt.Sprintf("there is no session %.80q that goes on", string(id)), Hint: "list them: scv sessions",
	}
}

// takeOver moves what waits in a session that was left into a new one. Two clients that ask for one: the first gets it.
func (h *Host) takeOver(ctx context.Context, core *loop.Core, id wire.SessionID, workspace string) *wire.RestoredQueue {
	h.mu.Lock()
	t, ok := h.left[id]
	ok = ok && restorable(t) && t.Workspace == workspace
	if ok {
		delete(h.left, id)
	}
	h.mu.Unlock()
	if !ok {
		return nil
	}
	kept, found, err := h.o.Journal.Talk(ctx, id)
	if err != nil || !found {
		h.o.Log.Warn("a session cannot be taken over", "session", id, "error", err)
		h.mu.Lock()
		h.left[id] = t // it may be read another time
		h.mu.Unlock()
		return nil
	}
	var good []wire.QueueEntry
	for _, e := range kept.Queue {
		if badPrompt(e.Prompt, len(e.Attachments) > 0) == nil && allThere(e.Attachments) {
			good = append(good, e)
		}
	}
	core.Restore(good)
	change := row.TalkChange{Talk: t}
	change.Talk.Ended = uint64(max(h.o.Now().Unix(), 0))
	change.Talk.Order, change.Talk.Running, change.Talk.Interrupted = nil, "", ""
	for _, e := range kept.Queue {
		change.Gone = append(change.Gone, e.QueueID)
	}
	core.Adopt(change) // one commit takes it from there and puts it here
	h.mu.Lock()
	h.showLeft()
	h.mu.Unlock()
	return &wire.RestoredQueue{From: id, Queued: uint32(len(good)), Interrupted: optional(cutOff(t)), Dropped: uint32(len(kept.Queue) - len(good))}
}

func allThere(all []wire.Attachment) bool {
	return !slices.ContainsFunc(all, func(a wire.Attachment) bool { return badAttachment(&a) != nil })
}

func (h *Host) newSession(core *loop.Core, t row.Talk, setup Setup) *Session {
	ctx, stop := context.WithCancel(h.ctx)
	s := &Session{
		id: t.ID, host: h, setup: setup, tools: map[string]tool.Tool{}, log: h.o.Log, keep: t.Keep, name: t.Name,
		inbox: make(chan func()), gone: make(chan struct{}), ctx: ctx, stop: stop,
		core: core, turns: map[uint64]context.CancelFunc{}, ctxs: map[uint64]context.Context{}, timers: map[*time.Timer]struct{}{},
	}
	for _, one := range setup.Tools {
		s.tools[one.Spec().Name] = one
	}
	return s
}

func (h *Host) enter(s *Session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		s.stop()
		return errGone
	}
	h.started(s)
	return nil
}

// started lets a session run; the caller holds mu.
func (h *Host) started(s *Session) {
	h.live[s.id] = s
	h.open.Add(1)
	go s.run()
	_ = s.post(func() {
		s.perform(s.core.Start(h.o.Now()))
		s.show(wire.StateIdle, "")
		s.seekJobs()
	})
}
