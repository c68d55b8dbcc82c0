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

// An entry is one part of the conversation that a request carries: a text of the user, or a tool's result (its text
// where the interface is one of those that reviews are tried with).
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
	before     int // earlier requests for the same step
}

// step finds what to do: the step of the newest script that has as many tool results behind it.
func (c call) step() step {
	if len(c.tools) == 0 {
		return step{"say", "ok"}
	}
	for i, e := range slices.Backward(c.entries) {
		script, next, ok := script(e)
		if !ok {
			continue
		}
		rest := c.entries[i+1:]
		if at := landing(rest); next != "" && at >= 0 {
			script, rest = next, rest[at+1:]
		}
		done := 0
		for _, later := range rest {
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
		if text, _, ok := script(e); ok {
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

// script returns what a text of the user plays, and what is played once a landing is asked for.
func script(e entry) (now, next string, ok bool) {
	if e.result {
		return "", "", false
	}
	at := strings.LastIndex(e.text, "@@")
	if at < 0 {
		return "", "", false
	}
	line, below, _ := strings.Cut(e.text[at+2:], "\n")
	return strings.TrimSpace(line), second(below), true
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
	think(text string)
	calls(n int, name string)
	wrong(word string)                    // an error inside the stream
	fail(code int, text, word string) any // the body of an HTTP error
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
		code, word, _ := strings.Cut(s.arg, ":")
		playError(out, v, code, word)
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
	case "verdict":
		v.say([]string{c.verdict(s.arg)}, 0)
	case "landed":
		v.say([]string{c.landed(s.arg)}, 0)
	case "confirm":
		v.say([]string{c.confirm()}, 0)
	default:
		playService(out, v, c, s)
	}
}

// playService does the steps that only the clients of the services need, not the agents.
func playService(out *stream, v voice, c call, s step) {
	switch s.verb {
	case "flaky":
		times, rest, _ := strings.Cut(s.arg, ":")
		if most, _ := strconv.Atoi(times); c.before >= most {
			v.say([]string{"ok"}, 0)
			return
		}
		code, after, _ := strings.Cut(rest, ":")
		if after != "" {
			out.w.Header().Set("Retry-After", after)
		}
		playError(out, v, code, "")
	case "prose":
		v.say(slices.Repeat([]string{"word "}, max(count(s), 0)), 0)
	case "wrong":
		out.open()
		v.wrong(s.arg)
	case "think":
		v.think(s.arg)
	case "calls":
		v.calls(count(s), c.tools[0])
	case "garbage":
		if c.api == "messages" {
			out.open()
			out.write([]byte("event: message_start\n")) // events without a name are passed over there
		}
		out.raw("this { is no JSON")
	case "cut", "end":
		bytes, rest, _ := strings.Cut(s.arg, ":")
		out.bounded, out.abrupt = true, s.verb == "cut"
		out.left, _ = strconv.Atoi(bytes)
		verb, arg, _ := strings.Cut(rest, ":")
		play(out, v, c, step{verb, arg})
	default:
		v.say([]string{"unknown step " + s.verb}, 0)
	}
}

// count is a step's number; 0 for none.
func count(s step) int {
	n, _ := strconv.Atoi(s.arg)
	return n
}

// playError answers an HTTP error of a code, which is at least 400, that may call itself by a word.
func playError(out *stream, v voice, code, word string) {
	n, _ := strconv.Atoi(code)
	n = max(n, 400)
	text := failText(n)
	if word == "" {
		word = failCode(n)
	} else {
		text += ": " + word
	}
	writeJSON(out.w, n, v.fail(n, text, word))
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
