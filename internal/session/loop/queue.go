package loop

import (
	"fmt"
	"slices"

	"scv/internal/session/provider"
	"scv/internal/wire"
)

// A queuer is a session as far as prompts wait and clients ask.
type queuer struct{ *Core }

// message answers a client.
func (c queuer) message(in Message) {
	switch m := in.Text.(type) {
	case wire.TurnStart:
		c.turnStart(in, m)
	case wire.QueueUpdate:
		c.queueUpdate(in.From, m)
	case wire.QueueMove:
		c.queueMove(in.From, m)
	case wire.QueueRemove:
		if i := c.entry(in.From, m.RequestID, m.QueueID, m.Revision); i >= 0 {
			c.drop(i)
			c.save()
			c.say(wire.QueueRemoved{SessionFields: c.fields(m.RequestID), QueueID: m.QueueID, Revision: m.Revision})
		}
	case wire.SessionPause:
		c.pause(m.RequestID, m.Paused)
	case wire.TurnCancel:
		turner(c).turnCancel(in.From, m)
	case wire.ApprovalResolve:
		caller(c).resolve(in.From, m)
	case wire.SessionClear:
		c.clear(in.From, m)
	case wire.SessionPin:
		c.talk.Pins = slices.Clone(m.Pins)
		c.save()
		c.say(wire.SessionPinned{SessionFields: c.fields(m.RequestID), Pins: slices.Clone(m.Pins)})
	}
}

// turnStart starts a turn when the session is idle, paused or not, and else lets the prompt wait.
func (c queuer) turnStart(in Message, m wire.TurnStart) {
	if c.turn == nil {
		turner(c).begin(opening{request: m.RequestID, prompt: m.Prompt, attachments: m.Attachments, images: in.Images, schema: m.Schema})
		return
	}
	if !c.fits(in.From, m.RequestID, len(m.Prompt), 1) {
		return
	}
	e := wire.QueueEntry{
		QueueID: wire.QueueID(c.cfg.NewID()), Revision: 1, Prompt: m.Prompt, Submitter: string(m.RequestID), Attachments: m.Attachments,
		Schema: m.Schema,
	}
	c.queue = append(c.queue, e)
	c.changed(e)
	c.save()
	c.say(wire.QueueEnqueued{SessionFields: c.fields(m.RequestID), Entry: e, Position: uint64(len(c.queue) - 1)})
}

// Restore puts prompts of another session into the queue, which is then paused.
func (c *Core) Restore(entries []wire.QueueEntry) {
	for _, e := range entries {
		e.QueueID, e.Revision = wire.QueueID(c.cfg.NewID()), 1
		c.queue = append(c.queue, e)
		queuer{c}.changed(e)
	}
	c.talk.Paused = c.talk.Paused || len(entries) > 0
}

// fits refuses what the queue has no room for: more entries, or more bytes of text.
func (c queuer) fits(to ClientID, id wire.RequestID, bytes, entries int) bool {
	total := bytes
	for _, e := range c.queue {
		total += len(e.Prompt)
	}
	if len(c.queue)+entries <= wire.MaxQueueEntries && total <= wire.MaxQueueBytes {
		return true
	}
	c.refuse(to, id, wire.CodeQueueLimit, wire.ReasonFull,
		fmt.Sprintf("the queue is full: it takes %d prompts of %d MiB together", wire.MaxQueueEntries, wire.MaxQueueBytes>>20),
		"wait for a turn to end, or take a prompt out")
	return false
}

func (c queuer) changed(e wire.QueueEntry) { c.unsaved.entries = append(c.unsaved.entries, e) }

// find is the place of an entry, -1 when there is none.
func (c queuer) find(id wire.QueueID) int {
	return slices.IndexFunc(c.queue, func(e wire.QueueEntry) bool { return e.QueueID == id })
}

// entry is the place of the entry that a client means, -1 after a refusal.
func (c queuer) entry(to ClientID, id wire.RequestID, q wire.QueueID, revision uint64) int {
	i := c.find(q)
	if i < 0 {
		c.refuse(to, id, wire.CodeQueueNotFound, wire.ReasonNotFound, "that prompt no longer waits: it was started or taken out", "look at the queue")
		return -1
	}
	if c.queue[i].Revision != revision {
		c.refuse(to, id, wire.CodeQueueConflict, wire.ReasonConflict,
			fmt.Sprintf("the prompt was changed meanwhile: it has revision %d, and the request is for %d", c.queue[i].Revision, revision),
			"look at it again and repeat what you want")
		return -1
	}
	return i
}

func (c queuer) queueUpdate(to ClientID, m wire.QueueUpdate) {
	i := c.entry(to, m.RequestID, m.QueueID, m.Revision)
	if i < 0 || !c.fits(to, m.RequestID, len(m.Prompt)-len(c.queue[i].Prompt), 0) {
		return
	}
	e := &c.queue[i]
	e.Prompt, e.Revision = m.Prompt, e.Revision+1
	c.changed(*e)
	c.save()
	c.say(wire.QueueUpdated{SessionFields: c.fields(m.RequestID), Entry: *e})
}

func (c queuer) queueMove(to ClientID, m wire.QueueMove) {
	i := c.entry(to, m.RequestID, m.QueueID, m.Revision)
	if i < 0 {
		return
	}
	at := len(c.queue)
	if before := m.BeforeQueueID; before != nil {
		if at = c.find(*before); at < 0 {
			c.refuse(to, m.RequestID, wire.CodeQueueNotFound, wire.ReasonNotFound,
				"the prompt to move it before no longer waits", "look at the queue")
			return
		}
	}
	e := c.queue[i]
	if m.BeforeQueueID != nil && *m.BeforeQueueID == m.QueueID { // onto itself: nothing changes, and it is told all the same
		c.say(wire.QueueMoved{SessionFields: c.fields(m.RequestID), QueueID: e.QueueID, Position: uint64(i), Revision: e.Revision})
		return
	}
	if at > i {
		at--
	}
	e.Revision++
	c.queue = slices.Insert(slices.Delete(c.queue, i, i+1), at, e)
	c.changed(e)
	c.save()
	c.say(wire.QueueMoved{SessionFields: c.fields(m.RequestID), QueueID: e.QueueID, Position: uint64(at), Revision: e.Revision})
}

// drop takes an entry out.
func (c queuer) drop(i int) wire.QueueEntry {
	e := c.queue[i]
	c.queue = slices.Delete(c.queue, i, i+1)
	c.unsaved.gone = append(c.unsaved.gone, e.QueueID)
	c.unsaved.entries = slices.DeleteFunc(c.unsaved.entries, func(x wire.QueueEntry) bool { return x.QueueID == e.QueueID })
	return e
}

// dequeue starts the first prompt that waits. Its row goes in the same commit in which its turn begins.
func (c queuer) dequeue() {
	e := c.drop(0)
	turner(c).begin(opening{request: wire.RequestID(e.Submitter), prompt: e.Prompt, attachments: e.Attachments, schema: e.Schema, images: pictures(e.Attachments), queue: e.QueueID})
}

// pictures are the attachments that the model can see. Whether the files are still there and fit is looked at when they
// are read.
func pictures(all []wire.Attachment) []provider.Image {
	var out []provider.Image
	for _, a := range all {
		if a.Kind == "image" {
			out = append(out, provider.Image{Path: a.Path, MIME: a.Mime})
		}
	}
	return out
}

func (c queuer) pause(id wire.RequestID, paused bool) {
	if c.talk.Paused != paused {
		c.talk.Paused = paused
		c.save()
	}
	c.say(wire.SessionPaused{SessionFields: c.fields(id), Paused: paused})
}

// clear forgets history, usage and queue of an idle session; its jobs stay.
func (c queuer) clear(to ClientID, m wire.SessionClear) {
	if c.turn != nil {
		c.refuse(to, m.RequestID, wire.CodeTurnActive, wire.ReasonBusy, "a turn runs, and a session is cleared while it is idle", "cancel the turn first")
		return
	}
	for len(c.queue) > 0 {
		c.drop(0)
	}
	c.past.forget()
	c.unsaved.below = c.past.next()
	c.talk.Input, c.talk.Output, c.talk.First, c.talk.Interrupted = 0, 0, "", ""
	c.save()
	c.say(wire.SessionCleared{SessionFields: c.fields(m.RequestID)})
	c.say(c.queueSnapshot(c.next()))
}
