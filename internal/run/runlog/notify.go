package runlog

import (
	"sync"

	"scv/internal/wire"
)

// A Notifier tells the readers of a run's log that there is more to read. It carries no data and keeps no queue: a
// wake says "read on from your position", wakes that pile up are one, so a slow reader costs nothing and loses
// nothing. Any goroutine may call it.
type Notifier struct {
	mu   sync.Mutex
	subs map[wire.RunHandle]map[*Subscription]struct{}
}

// NewNotifier returns a Notifier without subscribers.
func NewNotifier() *Notifier {
	return &Notifier{subs: make(map[wire.RunHandle]map[*Subscription]struct{})}
}

// Notify wakes all who follow the log of a run. It never blocks.
func (n *Notifier) Notify(handle wire.RunHandle) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for s := range n.subs[handle] {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// Subscribe begins to follow the log of a run. Whoever subscribes first and reads then misses nothing.
func (n *Notifier) Subscribe(handle wire.RunHandle) *Subscription {
	s := &Subscription{owner: n, handle: handle, wake: make(chan struct{}, 1)}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subs[handle] == nil {
		n.subs[handle] = make(map[*Subscription]struct{})
	}
	n.subs[handle][s] = struct{}{}
	return s
}

// A Subscription is one reader's wake. Close ends it.
type Subscription struct {
	owner  *Notifier
	handle wire.RunHandle
	wake   chan struct{}
}

// Wake holds one signal when the log has grown since the last one was taken.
func (s *Subscription) Wake() <-chan struct{} { return s.wake }

// Close ends the subscription; closing it again does nothing.
func (s *Subscription) Close() {
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	delete(s.owner.subs[s.handle], s)
	if len(s.owner.subs[s.handle]) == 0 {
		delete(s.owner.subs, s.handle)
	}
}
