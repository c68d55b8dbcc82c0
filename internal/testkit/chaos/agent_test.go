//go:build linux

package chaos

import (
	"fmt"
	"strings"

	"scv/internal/wire"
)

// A transport is an agent as the loop makes it talk. One entry here is all that a further one needs.
type transport struct {
	agent string
	// prompt makes an agent say n numbered messages, ms apart and pad bytes longer, and then end. Its first line is the
	// tag, which names the job.
	prompt func(tag string, n, ms, pad int, e ending) string
	// diary tells whether the agent notes its own life, so that it is known how often it ran.
	diary bool
	ends  []ending
}

// An ending is how a job's process goes, and what SCV has to say of it.
type ending struct {
	step   string
	state  wire.AgentState
	detail string // part of what is said of the job
}

func transports() []transport {
	fake := func(tag string, n, ms, pad int, e ending) string {
		return fmt.Sprintf("%s\n@@diary:begin %s|count:%d:%d:%d|diary:end %s%s", tag, tag, n, ms, pad, tag, e.step)
	}
	done := ending{"", wire.StateCompleted, ""}
	seven := ending{"|exit:7", wire.StateFailed, "exit code 7"}
	segv := ending{"|segv", wire.StateFailed, "SIGSEGV"}
	return []transport{
		{"codex", fake, true, []ending{done, done, seven, segv}},
		{"claude", fake, true, []ending{done, done, seven}},
		{"demo", demoPrompt, false, []ending{done}},
	}
}

func demoPrompt(tag string, n, ms, pad int, e ending) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n@@", tag)
	for i := range n {
		fmt.Fprintf(&b, "say:n %d. %s|sleep:%d|", i+1, strings.Repeat("x", pad), ms)
	}
	return strings.TrimSuffix(b.String(), "|") + e.step
}
