package service

import (
	"slices"

	"scv/internal/session/provider"
)

// Tidy returns the messages as every service takes them: each call has exactly one result in the message behind it,
// no result stands without its call, and nothing is empty. A turn that was cut off leaves calls without results, and
// services refuse such a conversation for ever.
func Tidy(messages []provider.Message) []provider.Message {
	out := make([]provider.Message, 0, len(messages))
	var open []provider.Call
	settle := func(results []provider.Result) {
		if len(open) == 0 {
			return
		}
		m := provider.Message{Role: provider.ToolRole}
		for _, c := range open {
			at := slices.IndexFunc(results, func(r provider.Result) bool { return r.ID == c.ID })
			if at < 0 {
				m.Results = append(m.Results, provider.Result{ID: c.ID, Name: c.Name, Text: "The call was cut off; what it did is not known.", Failed: true})
				continue
			}
			m.Results = append(m.Results, results[at])
		}
		out, open = append(out, m), nil
	}
	for _, m := range messages {
		if m.Role == provider.ToolRole {
			settle(m.Results)
			continue
		}
		settle(nil)
		if m.Text == "" && len(m.Images) == 0 && len(m.Calls) == 0 {
			continue
		}
		out, open = append(out, m), m.Calls
	}
	settle(nil)
	return out
}
