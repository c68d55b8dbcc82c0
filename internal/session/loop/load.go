package loop

import (
	"encoding/json"
	"fmt"

	"scv/internal/session/provider"
	"scv/internal/workbench/row"
)

// Load is a session as an earlier daemon left it: idle. A prompt that ran then was cut off and is not sent again, what
// waits is paused, and calls that were under way are answered with that, so that the history is whole.
func Load(cfg Config, kept row.LoadedTalk) (*Core, error) {
	c := New(cfg, kept.Talk)
	h := &c.past
	h.first, h.from, h.summary = kept.Talk.Next, kept.Talk.From, kept.Talk.Summary
	for i, m := range kept.Messages {
		if i == 0 {
			h.first = m.Num
		}
		if m.Num != h.next() {
			return nil, fmt.Errorf("the history of session %s lacks message %d", kept.Talk.ID, h.next())
		}
		var message provider.Message
		if err := json.Unmarshal(m.Body, &message); err != nil {
			return nil, fmt.Errorf("read message %d of session %s: %w", m.Num, kept.Talk.ID, err)
		}
		h.add(message)
	}
	h.saved = h.next()
	h.from = min(max(h.from, h.first), h.next())
	c.queue = kept.Queue
	c.reports.open = kept.Talk.Jobs
	if n := len(h.messages); n > 0 && len(h.messages[n-1].Calls) > 0 {
		h.answer(refusedAll(h.messages[n-1].Calls, "SCV was stopped meanwhile; whether it did anything is not known"))
	}
	if kept.Talk.Running != "" {
		c.talk.Running, c.talk.Interrupted = "", kept.Talk.Running
		h.add(provider.Message{Role: provider.User, Text: "[The turn above was cut off: SCV was stopped. What its tools did until then stands.]"})
	}
	c.talk.Paused = c.talk.Paused || len(c.queue) > 0
	return c, nil
}

// Queue is what waits, in order.
func (c *Core) Queue() int { return len(c.queue) }
