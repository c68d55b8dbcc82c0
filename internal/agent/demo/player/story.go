package player

import (
	"fmt"
	"strings"
	"time"

	"scv/internal/agent/demo"
)

// story plays a prompt that holds no script: about ten seconds, a handful of events. Words in the prompt choose how
// it goes: "fail", "refuse", "sign in", "long reply", "quick", and for the live agent "clean up", which asks.
func (v *voice) story(prompt string) {
	lower := strings.ToLower(prompt)
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(lower, word) {
				return true
			}
		}
		return false
	}
	subject := subject(prompt)
	if has("quick") {
		v.emit(demo.Event{Type: demo.Text, Text: "Done at once: " + subject + "."})
		v.end(prompt, demo.Event{Status: demo.Completed})
		return
	}
	v.emit(demo.Event{Type: demo.Think})
	v.pause(800 * time.Millisecond)
	switch {
	case has("sign in", "sign-in"):
		v.end(prompt, demo.Event{Status: demo.Failed, Class: "auth", Text: reason("auth")})
		return
	case has("refuse", "decline"):
		v.emit(demo.Event{Type: demo.Text, Text: "I would rather not do that."})
		v.end(prompt, demo.Event{Status: demo.Declined, Text: "the demo agent refused the request"})
		return
	}
	if has("clean up") {
		v.emit(demo.Event{Type: demo.Text, Text: "I clean up, and ask before I remove anything."})
		v.liveStep("ask", "rm -rf build && make test")
	}
	v.work(subject)
	switch {
	case has("fail"):
		v.tool("make test", 1500*time.Millisecond, 2)
		v.emit(demo.Event{Type: demo.Text, Text: "The tests do not pass, and I could not find out why."})
		v.end(prompt, demo.Event{Status: demo.Failed, Text: "the demo agent gave up: make test ended with exit code 2"})
		return
	case has("long reply", "long answer"):
		v.emit(demo.Event{Type: demo.Text, Text: long(subject)})
	default:
		v.tool("make test", 1500*time.Millisecond, 0)
		v.pause(700 * time.Millisecond)
		v.emit(demo.Event{Type: demo.Text, Text: fmt.Sprintf(
			"Finished: %s.\n\nI read three files, changed one and ran the tests; all of them pass. (The demo agent changed nothing for real.)", subject)})
	}
	v.end(prompt, demo.Event{Status: demo.Completed})
}

// work is the middle of every story.
func (v *voice) work(subject string) {
	if v.turn > 1 {
		v.emit(demo.Event{Type: demo.Text, Text: fmt.Sprintf("Going on from turn %d: %s.", v.turn-1, subject)})
	} else {
		v.emit(demo.Event{Type: demo.Text, Text: fmt.Sprintf("I will take care of this: %s.", subject)})
	}
	v.emit(demo.Event{Type: demo.Plan, Text: "look at what is there"})
	v.pause(1200 * time.Millisecond)
	v.tool("git log --oneline -5", 900*time.Millisecond, 0)
	v.tool("grep -rn TODO --include='*.go' .", 1200*time.Millisecond, 0)
	v.emit(demo.Event{Type: demo.Plan, Text: "make the change"})
	v.pause(1500 * time.Millisecond)
	v.emit(demo.Event{Type: demo.Text, Text: "One place needs a change. I make it and run the tests."})
	v.emit(demo.Event{Type: demo.Plan, Text: "run the tests"})
	v.pause(1200 * time.Millisecond)
}

// subject returns the beginning of a prompt as a part of a sentence.
func subject(prompt string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	line = strings.TrimRight(strings.Join(strings.Fields(line), " "), ".!?")
	runes := []rune(line)
	if len(runes) > 60 {
		line = strings.TrimSpace(string(runes[:60])) + "…"
	}
	if line == "" {
		return "the task"
	}
	return line
}

// long returns a reply of some 40 KiB.
func long(subject string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "A long answer on %s.\n", subject)
	for i := range 600 {
		fmt.Fprintf(&out, "%3d. This is one line of a reply that is longer than a page of the protocol.\n", i+1)
	}
	return out.String()
}
