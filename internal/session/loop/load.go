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
	if len(kept.Old) > 0 {
		h.first = kept.Old[0].Num
	} else if len(kept.Messages) > 0 {
		h.first = kept.Messages[0].Num
	}
	lacks := func(num uint64) error {
		if num == h.next() {
			return nil
		}
		return fmt.Errorf("the history of session %s lacks message %d", kept.Talk.ID, h.next())
	}
	for _, m := range kept.Old {
		if err := lacks(m.Num); err != nil {
			return nil, err
		}
		h.addOld(provider.Message{Role: roleOf(m.Head)}, m.Bytes)
	}
	for _, m := range kept.Messages {
		if err := lacks(m.Num); err != nil {
			return nil, err
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
	c.asKept = true
	if n := len(h.messages); n > 0 && len(h.messages[n-1].Calls) > 0 {
		h.answer(refusedAll(h.messages[n-1].Calls, "SCV was stopped meanwhile; whether it did anything is not known"))
		c.asKept = false
	}
	if kept.Talk.Running != "" {
		c.talk.Running, c.talk.Interrupted, c.asKept = "", kept.Talk.Running, false
		h.add(provider.Message{Role: provider.User, Text: "[The turn above was cut off: SCV was stopped. What its tools did until then stands.]"})
	}
	if len(c.queue) > 0 && !c.talk.Paused {
		c.talk.Paused, c.asKept = true, false
	}
	return c, nil
}

// Queue is what waits, in order.
func (c *Core) Queue() int { return len(c.queue) }
