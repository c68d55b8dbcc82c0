package hub

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
	"scv/internal/workbench/state"
)

// memory is what is known of the machine's free memory.
type memory struct {
	known bool
	free  uint64
	timer *time.Timer // asks again while a job waits for memory
}

const memoryInterval = 5 * time.Second

// shownPositions bounds the places of a line that are counted out: a change at its head else rewrites every waiting row.
const shownPositions = 50

func (y *memory) tell(free uint64) { y.known, y.free = true, free }

// settle lets the queues go on after whatever happened: jobs whose conversation is free start in the order of their
// numbers while there is room, and the others say what they wait for.
func (m *model) settle() {
	m.asks.arm()
	if m.requeue {
		m.requeue = false
		m.takeovers.proceed()
		m.advance()
	}
	m.takeovers.offer()
	announce(m)
	if len(m.rests) > 0 && !m.performing && !m.inFlight() && len(m.effects) == 0 {
		for _, c := range m.rests {
			close(c)
		}
		m.rests = nil
	}
	if len(m.idlers) > 0 && m.live == 0 {
		for _, c := range m.idlers {
			close(c)
		}
		m.idlers = nil
	}
}

func (m *model) advance() {
	var started []*job
	place := 0                       // in the line for room
	ahead := map[*conversation]int{} // jobs of a conversation that wait before this one
	short := false
	for _, j := range m.queued {
		c := j.conv
		before := ahead[c]
		ahead[c]++
		switch {
		case before > 0 || c.current != nil || c.row.Paused != "" || !c.free():
			j.say(j.behind(before))
		case m.storage != "":
			j.say("waits until the ledger can be written")
		case m.draining:
			j.say("waits for SCV to start again")
		case m.holds.waits(j) != "":
			j.say(m.holds.waits(j))
		case m.active >= m.h.o.Limits.Running:
			place++
			j.say(fmt.Sprintf("waits for room: %d of %d turns run, %s", m.active, m.h.o.Limits.Running, position(place)))
		case m.memory.below(m.h.o.Limits.MemoryFloor):
			place++
			short = true
			j.say(fmt.Sprintf("waits for memory: %s free, %s wanted, %s", mib(m.memory.free), mib(m.h.o.Limits.MemoryFloor), position(place)))
		case m.lack != "" && c.run == nil:
			place++
			j.say(fmt.Sprintf("waits until it can be started: %s, %s", m.lack, position(place)))
		default:
			j.begin()
			started = append(started, j)
		}
	}
	if len(started) > 0 {
		m.queued = slices.DeleteFunc(m.queued, func(j *job) bool { return j.row.State != wire.StateQueued })
		m.h.askMemory()
	}
	if short {
		resting{m}.makeRoom()
	}
	m.askAgain(short)
}

// free reports whether a turn may begin as far as processes go: none holds the conversation, or one that takes turns.
func (c *conversation) free() bool {
	r := c.run
	return c.taking == nil && (r == nil || r.waits() && len(r.steers) == 0)
}

// waits reports whether a run is a live one between turns that may be given another.
func (r *run) waits() bool {
	return r.row.Live && r.current == nil && r.row.Transport != wire.TransportCLI && r.row.Terminal == nil && !r.row.Stop && !r.closing && r.row.State == wire.StateIdle
}

func (y *memory) below(floor uint64) bool { return floor > 0 && y.known && y.free < floor }

// askAgain keeps one timer while a job waits for memory.
func (m *model) askAgain(short bool) {
	switch t := m.memory.timer; {
	case !short && t != nil:
		t.Stop()
		m.memory.timer = nil
	case short && t == nil:
		m.memory.timer = time.AfterFunc(memoryInterval, func() {
			m.h.do(func() {
				m.memory.timer, m.requeue = nil, true
				m.h.askMemory()
			})
		})
	}
}

func (j *job) behind(before int) string {
	c := j.conv
	switch {
	case c.row.Paused != "":
		return "is paused: " + c.row.Paused
	case before > 0 && c.current != nil:
		return fmt.Sprintf("waits for %s and %s before it in %s", c.current.row.Job.Job, prompts(before), c.row.ID)
	case before > 0:
		return fmt.Sprintf("waits for %s before it in %s", prompts(before), c.row.ID)
	case c.current != nil:
		return fmt.Sprintf("waits for %s in %s", c.current.row.Job.Job, c.row.ID)
	case (holder{c}).held():
		return fmt.Sprintf("waits until you are done in the terminal of %s", c.row.ID)
	case len(c.run.steers) > 0:
		return fmt.Sprintf("waits for the word of %s on a prompt that was sent into its last turn", c.run.row.Handle)
	default:
		return fmt.Sprintf("waits until the process %s of %s has left", c.run.row.Handle, c.row.ID)
	}
}

func prompts(n int) string {
	switch {
	case n == 1:
		return "one prompt"
	case n > shownPositions:
		return fmt.Sprintf("more than %d prompts", shownPositions)
	}
	return fmt.Sprintf("%d prompts", n)
}

func position(n int) string {
	if n > shownPositions {
		return fmt.Sprintf("more than %d before it", shownPositions)
	}
	return fmt.Sprintf("position %d", n)
}

func mib(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }

// say tells what a job does or waits for, when that is news.
func (j *job) say(s string) {
	if str(j.row.Detail) != s {
		j.row.Detail = text(s)
		j.touch()
	}
}

// begin gives a job its turn: on the live process of its conversation, or on a new run that is launched once its row is
// on disk.
func (j *job) begin() {
	m := j.m
	c := j.conv
	c.row.Turns++
	c.current = j
	j.row.Handback, c.row.Worked = c.row.Worked, false
	c.touch()
	j.row.Turn, j.row.Assigned, j.assigned = c.row.Turns, j.row.Assigned+1, m.batch
	j.row.Detail, j.row.Class = nil, nil
	r := c.run
	if r == nil && c.elsewhere() {
		j.note(m.now(), "daemon", fmt.Sprintf("%s began its conversation %s on another machine, from which this home was copied or moved: here it begins a new one",
			c.row.Agent, c.row.Vendor))
	}
	if r == nil {
		r = c.newRun(c.row.Agent, m.h.o.Transport(c.row.Agent, c.row.Transport))
		c.run = r
		m.after(effect{run: r, launch: true})
	} else {
		r.step(state.Start)
		m.after(effect{run: r})
	}
	m.holds.begun(j)
	j.run, r.current = r, j
	j.row.Run = &r.row.Handle
	r.row.Job = &j.row.Job.Job
	r.row.Turn = new(j.row.Turn)
	r.row.Jobs = slices.Concat(r.row.Jobs, []wire.JobID{j.row.Job.Job})
	j.step(state.Start, m.now(), "daemon", fmt.Sprintf("turn %d of %s was given to %s", j.row.Turn, c.row.ID, r.row.Handle))
	r.touch()
	m.commit()
}

// newRun makes a live run with a handle of its own.
func (c *conversation) newRun(agent, transport string) *run {
	m := c.m
	now := unix(m.now())
	r := &run{m: m, conv: c}
	r.row = row.Run{
		Run: wire.Run{
			Handle: c.drawHandle(agent), Agent: agent, Session: c.row.Session, Transport: transport,
			Conversation: &c.row.ID, Cwd: c.row.Cwd, State: wire.StateStarting, StartedUnixSeconds: now, LastActivityUnixSeconds: now, Live: true,
		},
		NewID: m.h.o.UUID(),
	}
	m.runs[r.row.Handle] = r
	m.live++
	return r
}

// drawHandle makes the digits of a handle from the home's count of runs, scattered by a fixed odd factor and the home's
// id: a one-to-one map of 24 bits, so no digits come twice in 16 million runs, and none has to be looked up.
func (c *conversation) drawHandle(agent string) wire.RunHandle {
	m := c.m
	f := fnv.New32a()
	f.Write([]byte(m.home))
	for {
		m.counters.Runs++
		n := (uint32(m.counters.Runs)*0x9e3779 + f.Sum32()) & 0xffffff
		h := wire.NewRunHandle(agent, fmt.Sprintf("%06x", n))
		if m.runs[h] == nil && (m.h.o.Known == nil || !m.h.o.Known(h)) {
			return h
		}
	}
}

func byNumber(a, b *job) int { return cmp.Compare(a.row.Num, b.row.Num) }

// finish puts a job among the finished ones, in the order of its number.
func (j *job) finish() {
	m := j.m
	i, _ := slices.BinarySearchFunc(m.finished, j, byNumber)
	m.finished = slices.Insert(m.finished, i, j)
}

func deleteOne[T comparable](all []T, one T) []T {
	if i := slices.Index(all, one); i >= 0 {
		return slices.Delete(all, i, i+1)
	}
	return all
}
