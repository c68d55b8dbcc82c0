package hub

import (
	"fmt"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A ledger of today: what agents said that their turns cost, in US dollars.
type spending struct {
	day   time.Time // its midnight
	agent map[string]float64
}

// of is what an agent spent today; of the empty name, all of them.
func (s *spending) of(agent string) (sum float64) {
	if agent != "" {
		return s.agent[agent]
	}
	for _, usd := range s.agent {
		sum += usd
	}
	return sum
}

// budgets are holds as far as money goes.
type budgets struct{ *holds }

// spend counts what a turn cost. At the limit of a day new turns wait, and the owner is asked once whether they may go on.
// What runs goes on: its cost is only known when it is over.
func (k budgets) spend(j *job, usd float64) {
	now := k.m.now()
	k.day(now)
	k.spent.agent[j.row.Agent] += usd
	for _, agent := range []string{j.row.Agent, ""} {
		limit, spent := k.m.h.o.Budget(agent), k.spent.of(agent)
		if limit > 0 && spent >= limit && k.rows[row.HoldID(agent, classBudget)] == nil {
			k.reached(j, agent, limit, spent)
		}
	}
}

// day begins a new count when another day has begun.
func (k budgets) day(now time.Time) {
	if today := row.Midnight(now); !today.Equal(k.spent.day) {
		k.spent = spending{today, map[string]float64{}}
	}
}

func (k budgets) reached(j *job, agent string, limit, spent float64) {
	m := k.m
	until := row.Midnight(m.now()).AddDate(0, 0, 1)
	who := agent
	if who == "" {
		who = "All agents together"
	}
	a := m.asks.question(QuestionRequest{
		Question: fmt.Sprintf("%s spent $%.2f today, and the budget of a day is $%.2f. May new turns begin today all the same?", who, spent, limit),
		Wait:     until.Sub(m.now()),
	})
	h := &hold{row: row.Hold{
		Agent: agent, Class: classBudget, Job: j.row.Ref(), SinceUnixSeconds: unix(m.now()), UntilUnixSeconds: unix(until),
		LimitUSD: limit, SpentUSD: spent, Question: a.row.ID,
	}}
	k.rows[h.row.ID()] = h
	k.changed(h)
	m.h.o.Log.Warn("a budget is used up", "agent", agent, "limit", limit, "spent", spent)
}

// answered takes the owner's word on a budget, or its withdrawal.
func (k budgets) answered(a *approval) {
	for _, h := range k.rows {
		if h.row.Class == classBudget && h.row.Question == a.row.ID {
			h.row.Open = a.row.Approved != nil && *a.row.Approved
			k.changed(h)
		}
	}
}

// sentence is why a job waits for a budget.
func (k budgets) sentence(h *hold) string {
	who := h.row.Agent
	if who == "" {
		who = "all agents"
	}
	tail := "; allow it: scv approvals approve " + string(h.row.Question)
	if a := k.m.asks.rows[h.row.Question]; a == nil || !a.row.Waits() {
		tail = ""
	}
	return fmt.Sprintf("waits until midnight: $%.2f of the $%.2f a day for %s are spent%s", h.row.SpentUSD, h.row.LimitUSD, who, tail)
}

// usage keeps what the turn itself cost. Sums over the agent's session are turned into differences; a value below the
// last one starts a new base (agents.md section 5).
func (j *job) usage(e row.End) {
	c := &j.conv.row
	u := wire.JobUsage{}
	if in, out := e.InputTokens, e.OutputTokens; in > 0 || out > 0 {
		if e.CumulativeTokens {
			if in >= c.InputTokens && out >= c.OutputTokens {
				in, out = in-c.InputTokens, out-c.OutputTokens
			}
			c.InputTokens, c.OutputTokens = e.InputTokens, e.OutputTokens
		}
		u.InputTokens, u.OutputTokens = &in, &out
	}
	if e.CostUSD != nil {
		cost := *e.CostUSD
		if e.CumulativeCost {
			if cost >= c.CostUSD {
				cost -= c.CostUSD
			}
			c.CostUSD = *e.CostUSD
		}
		u.CostUSD = &cost
	}
	if u != (wire.JobUsage{}) {
		j.row.Usage = &u
		j.conv.touch()
		if u.CostUSD != nil {
			budgets{&j.m.holds}.spend(j, *u.CostUSD)
		}
	}
}

// context keeps how full the model's context is.
func (r *run) context(e row.End) {
	if e.ContextTokens > 0 {
		r.row.ContextTokens, r.row.ContextWindow = new(e.ContextTokens), nil
	}
	if e.ContextWindow > 0 {
		r.row.ContextWindow = new(e.ContextWindow)
	}
}
