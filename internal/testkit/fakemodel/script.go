package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A step is one thing that the model does.
type step struct{ verb, arg string }

func (s step) String() string {
	if s.arg == "" {
		return s.verb
	}
	return s.verb + ":" + s.arg
}

// An entry is one part of the conversation that a request carries: a text of the user, or a tool's result.
type entry struct {
	text   string
	result bool
}

// A call is a request as all interfaces share it.
type call struct {
	api, model string
	stream     bool
	tools      []string
	entries    []entry
}

// step finds what to do: the step of the newest script that has as many tool results behind it.
func (c call) step() step {
	if len(c.tools) == 0 {
		return step{"say", "ok"}
	}
	for i, e := range slices.Backward(c.entries) {
		script, ok := script(e)
		if !ok {
			continue
		}
		done := 0
		for _, later := range c.entries[i+1:] {
			if later.result {
				done++
			}
		}
		if steps := parseSteps(script); done < len(steps) {
			return steps[done]
		}
		return step{"say", "done"}
	}
	return step{"say", "ok"}
}

// history returns the scripts of the request, oldest first.
func (c call) history() []string {
	var out []string
	for _, e := range c.entries {
		if text, ok := script(e); ok {
			out = append(out, text)
		}
	}
	return out
}

func (c call) lastTexts(n int) []string {
	var out []string
	for _, e := range c.entries {
		if !e.result {
			out = append(out, e.text)
		}
	}
	return out[max(0, len(out)-n):]
}

func script(e entry) (string, bool) {
	if e.result {
		return "", false
	}
	at := strings.LastIndex(e.text, "@@")
	if at < 0 {
		return "", false
	}
	line, _, _ := strings.Cut(e.text[at+2:], "\n")
	return strings.TrimSpace(line), true
}

func parseSteps(script string) []step {
	var steps []step
	var part strings.Builder
	flush := func() {
		verb, arg, _ := strings.Cut(strings.TrimSpace(part.String()), ":")
		steps = append(steps, step{verb, arg})
		part.Reset()
	}
	for i := 0; i < len(script); i++ {
		switch {
		case script[i] == '\\' && i+1 < len(script) && script[i+1] == '|':
			part.WriteByte('|')
			i++
		case script[i] == '|':
			flush()
		default:
			part.WriteByte(script[i])
		}
	}
	flush()
	return steps
}

// A voice says things in one interface. Each answer is one call of say, tool or refuse.
type voice interface {
	say(parts []string, pause time.Duration)
	tool(name string, args json.RawMessage)
	refuse()
	fail(code int) any // the body of an HTTP error
}

// play does one step.
func play(out *stream, v voice, c call, s step) {
	n, _ := strconv.Atoi(s.arg)
	switch s.verb {
	case "say":
		v.say([]string{s.arg}, 0)
	case "shell":
		name, args := shellTool(c.tools, s.arg)
		v.tool(name, args)
	case "tool":
		name, args, _ := strings.Cut(s.arg, ":")
		if args == "" {
			args = "{}"
		}
		v.tool(name, json.RawMessage(args))
	case "err":
		writeJSON(out.w, max(n, 400), v.fail(max(n, 400)))
	case "hang":
		out.wait(time.Duration(n) * time.Second)
		v.say([]string{"late"}, 0)
	case "slow":
		v.say(words(n), 200*time.Millisecond)
	case "long":
		v.say(chunks(n), 0)
	case "refuse":
		v.refuse()
	case "drop":
		out.open()
		panic(http.ErrAbortHandler)
	case "hist":
		list := c.history()
		v.say([]string{fmt.Sprintf("%d: %s", len(list), strings.Join(list, " ; "))}, 0)
	default:
		v.say([]string{"unknown step " + s.verb}, 0)
	}
}

func words(n int) []string {
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, fmt.Sprintf("word%d ", i))
	}
	return out
}

// chunks cuts a text of n bytes into parts of 5,000.
func chunks(n int) []string {
	var out []string
	for left := n; left > 0; left -= 5000 {
		out = append(out, strings.Repeat("0123456789", 500)[:min(left, 5000)])
	}
	return out
}

// shellTool picks the shell tool that a request offers.
func shellTool(tools []string, command string) (string, json.RawMessage) {
	for _, known := range []struct{ name, field string }{
		{"exec_command", "cmd"},
		{"shell_command", "command"},
		{"Bash", "command"},
		{"bash", "command"},
		{"run_shell_command", "command"},
	} {
		if slices.Contains(tools, known.name) {
			args, _ := json.Marshal(map[string]string{known.field: command})
			if strings.EqualFold(known.name, "bash") {
				args, _ = json.Marshal(map[string]string{known.field: command, "description": "run a command"})
			}
			return known.name, args
		}
	}
	args, _ := json.Marshal(map[string][]string{"command": {"bash", "-lc", command}})
	return "shell", args
}
