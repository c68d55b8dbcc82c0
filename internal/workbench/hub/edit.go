package hub

import (
	"cmp"
	"fmt"
	"slices"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// An EditRequest gives a queued job another prompt. Revision, when given, must be the job's: a stale edit is refused.
type EditRequest struct {
	Key       string
	Principal row.Principal
	Session   wire.SessionID
	Job       wire.JobID
	Revision  *uint64
	Prompt    row.Prompt
	Task      string
}

// A MoveRequest puts a queued job before or after another one of its conversation, or without either at the end.
type MoveRequest struct {
	Key           string
	Principal     row.Principal
	Session       wire.SessionID
	Job           wire.JobID
	Revision      *uint64
	Before, After *wire.JobID
}

// Edit changes the prompt of a queued job. One that is not queued, or has another revision, is wire.ReasonConflict.
func (js Jobs) Edit(q EditRequest) (note string, t *Ticket, err error) {
	err = js.h.ask(func() error {
		j, err := editable(js.h.m, q.Session, q.Job, q.Key, q.Revision)
		if err != nil {
			return err
		}
		if q.Key == "" || j.row.EditKey != q.Key {
			t = js.h.m.undoable(queuedJob{j}.edit(q))
		} else {
			t = js.h.m.kept()
		}
		note = fmt.Sprintf("%s has its new prompt.", q.Job)
		return nil
	})
	return note, t, err
}

// Move changes the order in which queued jobs of a conversation run.
func (js Jobs) Move(q MoveRequest) (note string, t *Ticket, err error) {
	err = js.h.ask(func() error {
		m := js.h.m
		j, err := editable(m, q.Session, q.Job, q.Key, q.Revision)
		if err != nil {
			return err
		}
		note = fmt.Sprintf("%s was moved.", q.Job)
		if q.Key != "" && j.row.EditKey == q.Key {
			t = m.kept()
			return nil
		}
		at, err := queuedJob{j}.destination(q)
		if err != nil {
			return err
		}
		undo := queuedJob{j}.moveTo(at)
		queuedJob{j}.changed(q.Key)
		j.note(m.now(), "owner", fmt.Sprintf("moved in the queue by %s through %s", orNobody(q.Principal.Who), orNobody(q.Principal.Way)))
		j.accept("move", "")
		t = m.undoable(undo)
		return nil
	})
	return note, t, err
}

// Drop cancels a queued job, and none that runs.
func (js Jobs) Drop(session wire.SessionID, id wire.JobID, p row.Principal) (note string, t *Ticket, err error) {
	err = js.h.ask(func() error {
		j, err := editable(js.h.m, session, id, "", nil)
		if err != nil {
			return err
		}
		note, err = j.cancel(p)
		t = js.h.m.ticketOf(j.cancelled, nil)
		return err
	})
	return note, t, err
}

// editable finds a queued job that a request of this revision may change. A repeated key is always let through.
func editable(m *model, session wire.SessionID, id wire.JobID, key string, revision *uint64) (*job, error) {
	if err := m.readOnly(); err != nil {
		return nil, err
	}
	j := m.job(session, id)
	switch {
	case j == nil:
		return nil, notFound(session.Ref(id))
	case key != "" && j.row.EditKey == key: // done before, also when the job began since
	case j.row.State != wire.StateQueued:
		return nil, wire.Refuse(wire.ReasonConflict, "scv jobs send "+string(id)+" PROMPT",
			"%s waits no longer: it is %s, so its prompt and place stay as they are.", id, j.row.State)
	case revision != nil && *revision != j.row.Revision:
		return nil, wire.Refuse(wire.ReasonConflict, "look at it again: scv jobs queue",
			"%s was changed meanwhile: it has revision %d, and not %d.", id, j.row.Revision, *revision)
	}
	return j, nil
}

// A queuedJob is a job that waits.
type queuedJob struct{ *job }

// changed counts a change of a queued job.
func (j queuedJob) changed(key string) {
	j.row.Revision++
	j.row.EditKey = key
	j.row.UpdatedUnixSeconds = unix(j.m.now())
	j.touch()
	j.m.requeue = true
	j.m.commit()
}

func (j queuedJob) edit(q EditRequest) (undo func()) {
	m, old, oldPrompt := j.m, j.row, j.prompt
	j.row.Task, j.row.Private, j.prompt = q.Task, q.Prompt.Original != "", q.Prompt.Text
	j.changed(q.Key)
	q.Prompt.Revision, j.row.PromptRevision = j.row.Revision, j.row.Revision
	m.dirty.prompts[q.Job] = q.Prompt
	j.note(m.now(), "owner", fmt.Sprintf("its prompt was changed by %s through %s", orNobody(q.Principal.Who), orNobody(q.Principal.Way)))
	j.accept("edit", q.Prompt.Text)
	return func() {
		if j.row.Revision != q.Prompt.Revision || j.row.State != wire.StateQueued {
			return
		}
		j.row.Task, j.row.Private, j.prompt = old.Task, old.Private, oldPrompt
		j.row.Revision, j.row.PromptRevision, j.row.EditKey = old.Revision, old.PromptRevision, old.EditKey
		m.dirty.prompts[q.Job] = row.Prompt{Text: oldPrompt, Revision: old.PromptRevision}
		j.touch()
	}
}

// place is where a job stands among the queued ones of the home: its number, or that of one which it changed places
// with. So a conversation's queue can be put in any order, and keeps its turn among the others.
func (j *job) place() uint64 { return cmp.Or(j.row.Place, j.row.Num) }

func byPlace(a, b *job) int { return cmp.Compare(a.place(), b.place()) }

func (j queuedJob) setPlace(n uint64) {
	if n == j.place() {
		return
	}
	if j.row.Place = n; n == j.row.Num {
		j.row.Place = 0
	}
	j.touch()
}

// enqueue puts a job where its place is.
func (j queuedJob) enqueue() {
	m := j.m
	i, _ := slices.BinarySearchFunc(m.queued, j.job, byPlace)
	m.queued = slices.Insert(m.queued, i, j.job)
	m.requeue = true
}

// waiting are the queued jobs of a conversation in their order.
func (c *conversation) waiting() (all []*job) {
	for _, j := range c.m.queued {
		if j.conv == c {
			all = append(all, j)
		}
	}
	return all
}

// destination is the index that a moved job should have among those of its conversation. Beside one that began meanwhile
// it is the first place, before that one or behind it.
func (j queuedJob) destination(q MoveRequest) (int, error) {
	all := deleteOne(j.conv.waiting(), j.job)
	named := q.Before
	if named == nil {
		named = q.After
	}
	if named == nil {
		return len(all), nil
	}
	i := slices.IndexFunc(all, func(o *job) bool { return o.row.Job.Job == *named })
	o := j.m.jobs[*named]
	switch {
	case o != nil && o.conv == j.conv && o.row.Turn > 0 && i < 0: // it began, so what waits is behind it in any case
		return 0, nil
	case *named == q.Job:
		return slices.Index(j.conv.waiting(), j.job), nil
	case i < 0:
		return 0, wire.Refuse(wire.ReasonNotFound, "scv jobs queue "+string(j.conv.row.ID),
			"%s does not wait in %s, so %s cannot be moved beside it.", *named, j.conv.row.ID, q.Job)
	case q.Before == nil:
		i++
	}
	return i, nil
}

// moveTo gives a job an index in its conversation's queue: those between change places.
func (j queuedJob) moveTo(index int) (undo func()) {
	m, order := j.m, j.conv.waiting()
	places := make([]uint64, len(order))
	for i, o := range order {
		places[i] = o.place()
	}
	put := func(order []*job) {
		for i, o := range order {
			queuedJob{o}.setPlace(places[i])
		}
		slices.SortFunc(m.queued, byPlace)
		m.requeue = true
	}
	put(slices.Insert(deleteOne(slices.Clone(order), j.job), index, j.job))
	return func() {
		if slices.Equal(sorted(order), sorted(j.conv.waiting())) { // none left the queue or joined it since
			put(order)
		}
	}
}

func sorted(all []*job) []*job { return slices.SortedFunc(slices.Values(all), byNumber) }

// Conversations are the commands on conversations.
type Conversations struct{ h *Hub }

// Conversations returns the commands on conversations.
func (h *Hub) Conversations() Conversations { return Conversations{h} }

// Pause holds a conversation's queue until GoOn; a turn that runs goes on.
func (cs Conversations) Pause(session wire.SessionID, id wire.ConversationID, p row.Principal) (string, *Ticket, error) {
	by := fmt.Sprintf("%s paused it through %s; to go on: scv jobs queue resume %s", orNobody(p.Who), orNobody(p.Way), id)
	return cs.change(session, id, func(c *conversation) (string, string) {
		return by, fmt.Sprintf("The queue of %s is paused; %s in it.", id, wait(len(c.waiting())))
	})
}

// GoOn lets a paused queue go on, and one of those that its agent's sign-in or usage limit holds try.
func (cs Conversations) GoOn(session wire.SessionID, id wire.ConversationID, p row.Principal) (string, *Ticket, error) {
	return cs.change(session, id, func(c *conversation) (string, string) {
		if p.Who != "model" { // only a person knows that he signed in
			c.m.holds.try(c.row.Agent)
		}
		return "", fmt.Sprintf("The queue of %s goes on; %s in it.", id, wait(len(c.waiting())))
	})
}

func wait(n int) string {
	switch n {
	case 0:
		return "nothing waits"
	case 1:
		return "one prompt waits"
	}
	return fmt.Sprintf("%d prompts wait", n)
}

// change gives a conversation another reason to be paused, or none.
func (cs Conversations) change(session wire.SessionID, id wire.ConversationID, to func(*conversation) (why, note string)) (note string, t *Ticket, err error) {
	if err := cs.h.bring(session, id); err != nil {
		return "", nil, err
	}
	err = cs.h.ask(func() error {
		m := cs.h.m
		if err := m.readOnly(); err != nil {
			return err
		}
		c := m.conversation(session, id)
		if c == nil {
			return noConversation(session, id)
		}
		old, why := c.row.Paused, ""
		if why, note = to(c); (why == "") == (old == "") {
			t = m.kept()
			return nil
		}
		c.setPaused(why)
		what := "pause"
		if why == "" {
			what = "go-on"
		}
		m.dirty.accepted = append(m.dirty.accepted, row.Accepted{At: m.now(), What: what, Conversation: &c.row})
		m.commit()
		t = m.undoable(func() { c.setPaused(old) })
		return nil
	})
	return note, t, err
}

func (c *conversation) setPaused(why string) {
	c.row.Paused = why
	c.touch()
	c.m.requeue = true
}

// pauseFor holds the queue for a reason of ours and says how it goes on.
func (c *conversation) pauseFor(why string) {
	c.setPaused(fmt.Sprintf("%s; to go on: scv jobs queue resume %s", why, c.row.ID))
}

// resumeIfEmpty lets a conversation go on that was paused by the end of a turn and in which nothing waits: a further
// prompt is then all that can be meant. What waits is never sent without being asked for.
func (c *conversation) resumeIfEmpty() {
	if c.row.Paused != "" && len(c.waiting()) == 0 {
		c.setPaused("")
	}
}
