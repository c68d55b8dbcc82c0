package loop

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A reporter is a session as far as it tells what became of jobs.
type reporter struct{ *Core }

// Report turns that fail are tried again after these times; after the last one the reports go out without the model.
func reportWaits() []uint64 { return []uint64{30, 120} }

// maxReported bounds the reply of a job as the model is told of it, in bytes; agent_status has the rest.
const maxReported = 16 << 10

// reports are the session's jobs until their ends were told.
type reports struct {
	open  []row.TalkJob    // running, or ended and not told
	ended []wire.JobReport // of open ones
	wait  uint64           // a failed report turn is not repeated before the alarm of this number, or a turn that ends well
	waits uint64           // alarms set
}

func (r *reports) kept() []row.TalkJob { return slices.Clone(r.open) }

func (r *reports) index(id wire.JobID) int {
	return slices.IndexFunc(r.open, func(j row.TalkJob) bool { return j.Job == id })
}

func (r *reports) settle(id wire.JobID) {
	r.open = slices.DeleteFunc(r.open, func(j row.TalkJob) bool { return j.Job == id })
	r.ended = slices.DeleteFunc(r.ended, func(e wire.JobReport) bool { return e.Job == id })
}

// jobsChanged follows what a tool call started or saw the end of.
func (c reporter) jobsChanged(all []wire.JobChange) {
	for i := range all {
		j := &all[i]
		switch {
		case j.Status != wire.JobRunning:
			c.reports.settle(j.Job)
		case c.reports.index(j.Job) < 0:
			c.reports.open = append(c.reports.open, row.TalkJob{Job: j.Job, Agent: j.AgentName(), Task: j.Task})
		}
	}
}

// jobEnded remembers the end of a job until the model was told. A job that is none of the session's, or that was told
// already, is nothing: its end arrives once.
func (c reporter) jobEnded(r wire.JobReport) {
	if c.reports.index(r.Job) < 0 || slices.ContainsFunc(c.reports.ended, func(e wire.JobReport) bool { return e.Job == r.Job }) {
		return
	}
	c.reports.ended = append(c.reports.ended, r)
}

// Open lists the jobs whose ends were not told yet.
func (c *Core) Open() []row.TalkJob { return c.reports.kept() }

// report begins a turn of the session's own that tells the model what its jobs came to.
func (c reporter) report() {
	if len(c.reports.ended) == 0 || c.reports.wait != 0 {
		return
	}
	origin := &wire.TurnOrigin{Kind: wire.OriginKindBackground}
	var b strings.Builder
	b.WriteString("[Jobs that you started have ended. Tell the owner what matters, and go on if something is to be done.]\n")
	for _, r := range c.reports.ended {
		origin.Jobs = append(origin.Jobs, r.Job)
		if r.Outcome != nil {
			origin.Outcomes = append(origin.Outcomes, *r.Outcome)
		}
		fmt.Fprintf(&b, "\n%s (%s) is %s. Its task: %s\nWhat it said:\n%s\n", r.Job, r.Agent, r.Status, r.Task, cut(r.Reply, maxReported))
	}
	turner(c).begin(opening{request: wire.RequestID("background:" + c.cfg.NewID()), prompt: b.String(), origin: origin})
}

// settleReports looks at what a turn that ends means for reports. It returns after how many seconds a report turn that
// failed is repeated; 0 when it is not.
func (c reporter) settleReports(origin *wire.TurnOrigin, e ended) (retry uint64) {
	if e.code == "" && !e.cancelled {
		c.reports.wait = 0 // the model answers again
	}
	if origin == nil {
		return 0
	}
	if e.code == "" {
		for _, id := range origin.Jobs {
			c.reports.settle(id)
		}
		return 0
	}
	var attempts uint32
	for _, id := range origin.Jobs {
		if i := c.reports.index(id); i >= 0 {
			c.reports.open[i].Attempts++
			attempts = max(attempts, c.reports.open[i].Attempts)
		}
	}
	if waits := reportWaits(); int(attempts) <= len(waits) {
		retry = waits[attempts-1]
		c.reports.waits++
		c.reports.wait = c.reports.waits
		c.do(Alarm{After: time.Duration(retry) * time.Second, Input: Again{c.reports.wait}})
		return retry
	}
	c.giveUp(origin.Jobs, attempts, e)
	return 0
}

// giveUp tells the clients what the model could not be told.
func (c reporter) giveUp(jobs []wire.JobID, attempts uint32, e ended) {
	var told wire.List[wire.JobReport]
	for _, r := range slices.Clone(c.reports.ended) {
		if slices.Contains(jobs, r.Job) {
			told = append(told, r)
			c.reports.settle(r.Job)
		}
	}
	c.say(wire.BackgroundReported{SessionID: c.talk.ID, Seq: c.next(), Code: e.code, Message: e.message, Attempts: attempts, Reports: told})
}

func (c reporter) reportAgain(in Again) {
	if c.reports.wait == in.Wait {
		c.reports.wait = 0
	}
}
