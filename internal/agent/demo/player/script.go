package player

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"scv/internal/agent/demo"
)

// script plays steps divided by "|", as in "@@say:hello|tool:ls|fail:no luck". It is for tests:
//
//	say:TEXT   a message             think:MS   thinks             sleep:MS  waits
//	plan:TEXT  a plan step           tool:CMD   a tool call        toolfail:N:CMD  one that ends with exit code N
//	bytes:N    a message of N bytes  lines:N    N numbered messages
//	retry:TEXT a retry notice        stderr:TEXT a line on standard error
//	fail:TEXT  the turn fails        auth, quota, network, model: it fails for that reason
//	refuse     the turn is declined  exit:N     leaves at once, without a final event
//	hang       says nothing for ever raw:TEXT   a line that is no event
//	line:N     an unfinished line of N bytes    spawn:S    starts a process that lives S seconds
//	scv:ARGS   runs this program and says what it printed and its exit code
//	write:NAME:TEXT  writes a file with a line of text where it works
//	verdict:WORD:TITLE  says a reviewer's verdict: approve, changes or escalate; changes with a finding of that title
//
// A live process knows these too:
//
//	ask:CMD    asks to run a command and waits for the answer         edit:PATH  the same for a change of a file
//	open:CMD   asks and goes on            again:CMD  asks under the id of the last question
//	await      waits until all is answered withdraw   takes back all that is asked
//	steer      waits until it is steered   deaf       takes no notice of steers and of a cancel from here on
//
// A script without an end of its own completes, and one whose turn is cancelled plays no further step.
func (v *voice) script(prompt, script string) (code int, left bool) {
	for part := range strings.SplitSeq(script, "|") {
		if v.cancelled {
			break
		}
		verb, arg, _ := strings.Cut(strings.TrimSpace(part), ":")
		n, _ := strconv.Atoi(arg)
		switch verb {
		case "fail":
			v.end(prompt, demo.Event{Status: demo.Failed, Text: arg})
			return 0, false
		case "auth", "quota", "network", "model":
			v.end(prompt, demo.Event{Status: demo.Failed, Class: verb, Text: reason(verb)})
			return 0, false
		case "refuse":
			v.end(prompt, demo.Event{Status: demo.Declined, Text: "the demo agent refused the request"})
			return 0, false
		case "exit":
			return n, true
		default:
			if err := v.step(verb, arg, n); err != nil {
				fmt.Fprintln(v.Err, "demo agent:", err)
				return 1, true
			}
		}
	}
	v.end(prompt, demo.Event{Status: demo.Completed})
	return 0, false
}

// step plays one step that does not end the turn.
func (v *voice) step(verb, arg string, n int) error {
	switch verb {
	case "say":
		v.emit(demo.Event{Type: demo.Text, Text: arg})
	case "think":
		v.emit(demo.Event{Type: demo.Think})
		v.pause(time.Duration(n) * time.Millisecond)
	case "sleep":
		v.pause(time.Duration(n) * time.Millisecond)
	case "plan":
		v.emit(demo.Event{Type: demo.Plan, Text: arg})
	case "tool":
		v.tool(arg, 0, 0)
	case "toolfail":
		exit, command, _ := strings.Cut(arg, ":")
		code, err := strconv.Atoi(exit)
		if err != nil {
			return fmt.Errorf("toolfail needs an exit code and a command: %w", err)
		}
		v.tool(command, 0, code)
	case "bytes":
		v.emit(demo.Event{Type: demo.Text, Text: digits(n)})
	case "lines":
		for i := range n {
			v.emit(demo.Event{Type: demo.Text, Text: "line " + strconv.Itoa(i+1)})
		}
	case "retry":
		v.emit(demo.Event{Type: demo.Retry, Text: arg, Class: "network"})
	case "stderr":
		fmt.Fprintln(v.Err, arg)
	case "raw":
		fmt.Fprintln(v.Out, arg)
	case "line":
		for left := n; left > 0; left -= 1 << 16 {
			fmt.Fprint(v.Out, digits(min(left, 1<<16)))
		}
	case "hang":
		for !v.cancelled && (v.deaf || !v.ended) {
			v.attend(v.After(time.Hour), func() bool { return v.ended && !v.deaf })
		}
	case "spawn":
		return v.spawn(n)
	case "verdict", "write":
		return v.reviewStep(verb, arg)
	case "scv":
		if v.Self == nil {
			return fmt.Errorf("this demo agent runs no program")
		}
		output, exit := v.Self(strings.Fields(arg))
		v.tool("scv "+arg, 0, exit)
		v.emit(demo.Event{Type: demo.Text, Text: fmt.Sprintf("exit %d: %s", exit, strings.TrimSpace(output))})
	default:
		if !v.liveStep(verb, arg) {
			return fmt.Errorf("unknown step %q", verb)
		}
	}
	return nil
}

func (v *voice) spawn(seconds int) error {
	if v.Spawn == nil {
		return fmt.Errorf("this demo agent starts no process")
	}
	return v.Spawn(seconds)
}

func reason(class string) string {
	switch class {
	case "auth":
		return "the demo agent is not signed in"
	case "quota":
		return "the demo agent's usage limit was reached"
	case "network":
		return "the demo model could not be reached"
	}
	return "the demo model failed"
}

// digits returns a text of n bytes.
func digits(n int) string { return strings.Repeat("0123456789", n/10+1)[:max(n, 0)] }
