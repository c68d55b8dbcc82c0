//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/failpoint"
	"scv/internal/wire"
)

// A dialogue is an owner with one conversation of a live agent, whose process serves turn after turn, asks and is steered.
// It keeps what was acknowledged. One goroutine owns it.
type dialogue struct {
	l      *lab
	name   string
	random *rand.Rand
	said   func(ack)
	acks   map[string]int
	number int

	session      wire.SessionID
	conversation wire.ConversationID
	turns        []*turn
	steers       []*steered
	answers      map[string]bool // by tag: approved
	speaker
}

// A speaker is the agent of a dialogue.
type speaker struct {
	agent  string
	first  string                          // what the first numbered line of a turn begins with
	script func(tag string, ms int) string // of a turn, see turn
	ran    func(tag string, h heard) int   // how often what it asked for was run
	acts   []string                        // what can be done with it
}

// demo is the agent of this program: it is asked, steered and cancelled.
func demo() speaker {
	return speaker{
		agent: "demo-live", first: "n 1. ", script: script, acts: []string{"prompt", "answer", "steer", "edit", "drop", "cancel"},
		ran: func(tag string, h heard) int { return h.count("Allowed: run " + tag + "\n") },
	}
}

// A turn is a prompt of a dialogue and what was acknowledged of it. Every turn says two numbered lines around a question.
type turn struct {
	tag       string
	job       wire.JobID
	cancelled bool
	dropped   bool
	edits     []string // tags that it had before
	maybe     []string // tags of edits that were refused, perhaps because an attempt without an answer had been in time
}

// A steered is a prompt for the running turn.
type steered struct {
	text string
	job  wire.JobID // that it became; empty when the turn took it
}

// An act is something that the owner of a dialogue does. It returns errSkip when there is nothing to do it to.
type act struct {
	name   string
	weight int
	do     func(context.Context) error
}

// script is what a turn does. Its first line names it.
func script(tag string, ms int) string {
	return fmt.Sprintf("%s\n@@say:n 1. %s|sleep:%d|ask:run %s|sleep:%d|say:n 2. %s", tag, tag, ms, tag, ms, tag)
}

// talk goes on until ctx ends; what it has begun to ask it asks until finish ends.
func (d *dialogue) talk(ctx, finish context.Context) error {
	acts := []act{
		{"prompt", 3, d.prompt},
		{"answer", 8, d.answer},
		{"steer", 3, d.steer},
		{"edit", 1, d.edit},
		{"drop", 1, d.drop},
		{"cancel", 1, d.cancel},
	}
	acts = slices.DeleteFunc(acts, func(a act) bool { return !slices.Contains(d.acts, a.name) })
	total := 0
	for _, a := range acts {
		total += a.weight
	}
	for ctx.Err() == nil {
		pick := d.random.IntN(total)
		i := slices.IndexFunc(acts, func(a act) bool { pick -= a.weight; return pick < 0 })
		err := acts[i].do(finish)
		switch {
		case errors.Is(err, errSkip):
			select {
			case <-ctx.Done():
			case <-time.After(3 * time.Millisecond):
			}
		case err != nil:
			return fmt.Errorf("%s, %s: %w", d.name, acts[i].name, err)
		default:
			d.acks[acts[i].name]++
			d.said(ack{op: acts[i].name})
		}
	}
	return nil
}

func (d *dialogue) tag() string {
	d.number++
	return fmt.Sprintf("%s-%d", d.name, d.number)
}

// jobs are those of the conversation that are not over, as the workbench has them.
func (d *dialogue) jobs(ctx context.Context) (map[wire.JobID]*wire.Job, *wire.Snapshot, error) {
	st, err := d.l.insist(ctx, wire.WorkbenchCommand{})
	if err != nil {
		return nil, nil, err
	}
	out := map[wire.JobID]*wire.Job{}
	for i := range st.Workbench.Jobs {
		if j := &st.Workbench.Jobs[i]; j.Conversation != nil && *j.Conversation == d.conversation {
			out[j.Job] = j
		}
	}
	return out, st.Workbench, nil
}

// prompt gives the next turn. What waits may be two turns.
func (d *dialogue) prompt(ctx context.Context) error {
	t := &turn{tag: d.tag()}
	text := d.script(t.tag, d.random.IntN(15))
	var cmd wire.Command = wire.WorkbenchStart{Workspace: d.l.work, Agent: d.agent, Prompt: text, Mode: new(wire.ModeAlways), Key: client.NewKey()}
	if d.conversation != "" {
		jobs, _, err := d.jobs(ctx)
		if err != nil {
			return err
		}
		waiting := 0
		for _, j := range jobs {
			if !j.State.Final() {
				waiting++
			}
		}
		if waiting > 2 {
			return errSkip
		}
		cmd = wire.WorkbenchSend{Session: d.session, Conversation: d.conversation, Prompt: text, Mode: wire.SendQueue, Key: client.NewKey()}
	}
	st, err := d.l.insist(ctx, cmd)
	if err != nil {
		return err
	}
	again, err := d.l.insist(ctx, cmd)
	if err != nil || *again.WorkbenchJob != *st.WorkbenchJob {
		return fmt.Errorf("the same key gave %v and %v, %w", st.WorkbenchJob, again.WorkbenchJob, err)
	}
	session, id, _ := st.WorkbenchJob.Split()
	t.job = id
	d.turns = append(d.turns, t)
	if d.conversation == "" {
		d.session = session
		return d.named(ctx, id)
	}
	return nil
}

// named learns the name of the conversation.
func (d *dialogue) named(ctx context.Context, id wire.JobID) error {
	st, err := d.l.insist(ctx, wire.WorkbenchCommand{})
	if err != nil {
		return err
	}
	j := jobOf(st.Workbench, d.session.Ref(id))
	if j == nil || j.Conversation == nil {
		return fmt.Errorf("%s is acknowledged and has no conversation: %+v", id, j)
	}
	d.conversation = *j.Conversation
	return nil
}

func (d *dialogue) answer(ctx context.Context) error {
	_, view, err := d.jobs(ctx)
	if err != nil {
		return err
	}
	var a *wire.Approval
	var of *turn
	for i := range view.Approvals {
		for _, t := range d.turns {
			if t.job == view.Approvals[i].Job {
				a, of = &view.Approvals[i], t
			}
		}
	}
	if a == nil {
		return errSkip
	}
	yes := d.random.IntN(3) > 0
	_, err = d.l.insist(ctx, wire.WorkbenchApprove{ID: a.ID, Approved: yes, Digest: a.Digest, Key: client.NewKey()})
	if refused(err, wire.ReasonExpired) { // it went with its turn
		return errSkip
	}
	if refused(err, wire.ReasonNotFound) {
		return fmt.Errorf("%s, which asks %q, was shown and is not known: %w", a.ID, a.Command, err)
	}
	if before, is := d.answers[of.tag]; is && err == nil {
		return fmt.Errorf("%q was answered twice: %v, %v", a.Command, before, yes)
	}
	if err == nil && !strings.Contains(a.Command, of.tag) {
		return fmt.Errorf("the turn %s asked %q", of.tag, a.Command)
	}
	if err == nil {
		d.answers[of.tag] = yes
	}
	return err
}

func (d *dialogue) steer(ctx context.Context) error {
	jobs, _, err := d.jobs(ctx)
	if err != nil {
		return err
	}
	runs := false
	for _, j := range jobs {
		runs = runs || j.State == wire.StateWorking || j.State == wire.StateAwaitingInput
	}
	if !runs {
		return errSkip
	}
	text := d.tag() + "."
	cmd := wire.WorkbenchSend{
		Session: d.session, Conversation: d.conversation, Prompt: text + "\n@@say:a turn of its own", Mode: wire.SendAuto, Key: client.NewKey(),
	}
	st, err := d.l.insist(ctx, cmd)
	if err != nil {
		return err
	}
	s := &steered{text: text}
	if *st.Delivery != wire.DeliverySteered {
		_, s.job, _ = st.WorkbenchJob.Split()
	}
	d.steers = append(d.steers, s)
	return nil
}

// waiting draws one of the turns that wait.
func (d *dialogue) waiting(ctx context.Context) (*turn, error) {
	jobs, _, err := d.jobs(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range d.turns {
		if j := jobs[t.job]; j != nil && j.State == wire.StateQueued && !t.dropped {
			return t, nil
		}
	}
	return nil, errSkip
}

func (d *dialogue) edit(ctx context.Context) error {
	t, err := d.waiting(ctx)
	if err != nil {
		return err
	}
	fresh := d.tag()
	_, err = d.l.insist(ctx, wire.JobEdit{Session: d.session, Job: t.job, Prompt: d.script(fresh, 1), Key: client.NewKey()})
	if refused(err, wire.ReasonConflict, wire.ReasonBusy) { // it began meanwhile
		t.maybe = append(t.maybe, fresh)
		return errSkip
	}
	if err == nil {
		t.edits, t.tag = append(t.edits, t.tag), fresh
	}
	return err
}

func (d *dialogue) drop(ctx context.Context) error {
	t, err := d.waiting(ctx)
	if err != nil {
		return err
	}
	_, err = d.l.insist(ctx, wire.WorkbenchCancel{Session: d.session, Job: t.job, Waiting: true, Key: client.NewKey()})
	if refused(err, wire.ReasonConflict, wire.ReasonBusy) {
		t.cancelled = true // by an attempt that got no answer, or it began
		return errSkip
	}
	t.dropped = err == nil
	return err
}

func (d *dialogue) cancel(ctx context.Context) error {
	jobs, _, err := d.jobs(ctx)
	if err != nil {
		return err
	}
	for _, t := range d.turns {
		if j := jobs[t.job]; j != nil && !j.State.Final() && j.State != wire.StateQueued && d.random.IntN(3) == 0 {
			t.cancelled = true // it is asked for: whether it was in time is seen at the end
			_, err := d.l.insist(ctx, wire.WorkbenchCancel{Session: d.session, Job: t.job, Key: client.NewKey()})
			if refused(err, wire.ReasonConflict) {
				return errSkip
			}
			return err
		}
	}
	return errSkip
}

// TestS1_S3_LiveAgentsUnderKills: live agents serve turn after turn, with requests open, steers on their way and turns
// that wait, while a hundred daemons are killed at random and at each failpoint, also between turns. What was
// acknowledged, an answer, a steer, an edit, a drop, holds and happened once; nothing ran that nobody approved.
func TestS1_S3_LiveAgentsUnderKills(t *testing.T) {
	seed := seed(t)
	k := newLab(t).loop()
	finish := k.talkers(seed, []speaker{demo(), demo(), demo(), demo(), demo()})
	places := slices.DeleteFunc(failpoint.OfDaemon(), turnsTail)
	for _, s := range schedule(seed, places, 100**longFlag, small) {
		k.live(s)
	}
	finish()
}

// talkers let owners talk to agents. The function that it returns starts a daemon that stays, waits until each has the
// answer to what it asked, and judges.
func (k *loop) talkers(seed uint64, speakers []speaker) (finish func()) {
	var all []*dialogue
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(k.ctx)
	var mu sync.Mutex
	var failed error
	for i, s := range speakers {
		d := &dialogue{
			l: k.lab, name: fmt.Sprintf("d%d", i), random: random(seed, uint64(300+i)), said: k.said, acks: map[string]int{},
			answers: map[string]bool{}, speaker: s,
		}
		all = append(all, d)
		wg.Go(func() {
			if err := d.talk(ctx, k.ctx); err != nil && k.ctx.Err() == nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			}
		})
	}
	return func() {
		k.t.Helper()
		k.start("", "")
		stop()
		wg.Wait()
		if failed != nil {
			k.t.Error(failed)
		}
		k.allow()
		k.judgeAll(all)
	}
}
