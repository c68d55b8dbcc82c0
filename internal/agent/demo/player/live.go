package player

import (
	"fmt"
	"slices"
	"time"

	"scv/internal/agent/demo"
)

// hearing is what a live process is told during its turn.
type hearing struct {
	inbox     <-chan demo.Message // closed when the input has ended; nil in a process with one turn
	broken    error               // of the input, once inbox is closed
	ended     bool                // the input has
	running   bool                // a turn does
	deaf      bool                // the turn takes no notice of anything but answers
	cancelled bool
	steers    int        // taken by the turn
	asked     int        // questions so far, which their ids are made of
	open      []question // in the order in which they were asked
	next      []demo.Message
}

type question struct{ id, command string }

// serve plays one turn after the other until the input ends, and hears what is said meanwhile.
func (v *voice) serve() int {
	inbox := make(chan demo.Message)
	v.inbox = inbox
	leave := make(chan struct{})
	defer close(leave)
	go func() { // ends with the input, or with the process
		defer close(inbox)
		for m, err := range v.messages() {
			if err != nil {
				v.broken = err
				return
			}
			select {
			case inbox <- m:
			case <-leave:
				return
			}
		}
	}()
	for v.attend(nil, func() bool { return len(v.next) > 0 }) {
		m := v.next[0]
		v.next = v.next[1:]
		v.running, v.deaf, v.steers = true, false, 0
		code, left := v.take(m)
		if left {
			return code
		}
		v.running, v.cancelled, v.open = false, false, nil
	}
	if v.broken != nil {
		fmt.Fprintln(v.Err, "demo agent:", v.broken)
		return 1
	}
	return 0
}

// attend hears what is said until the timer fires, if there is one, or it is enough. False means that it cannot be
// waited for any longer: the turn was cancelled, or the input has ended and only the input could bring it.
func (v *voice) attend(timer <-chan time.Time, enough func() bool) bool {
	for enough == nil || !enough() {
		if v.cancelled || v.ended && timer == nil {
			return false
		}
		select {
		case <-timer:
			return true
		case m, ok := <-v.inbox:
			if !ok {
				v.inbox, v.ended = nil, true
				continue
			}
			v.hear(m)
		}
	}
	return true
}

func (v *voice) hear(m demo.Message) {
	switch m.Type {
	case demo.Steer:
		v.steer(m)
	case demo.Answer:
		v.answer(m)
	case demo.Cancel:
		v.cancelled = v.running && !v.deaf
	default:
		v.next = append(v.next, m)
	}
}

func (v *voice) steer(m demo.Message) {
	switch {
	case v.deaf:
	case !v.running:
		v.emit(demo.Event{Type: demo.Unsteered, Key: m.Key, Text: "no turn runs"})
	default:
		v.steers++
		v.emit(demo.Event{Type: demo.Steered, Key: m.Key, Text: m.Text})
		v.emit(demo.Event{Type: demo.Text, Text: "I was told: " + m.Text})
	}
}

// ask puts a question and goes on.
func (v *voice) ask(id string, e demo.Event) {
	e.Type, e.ID = demo.Ask, id
	v.open = append(v.open, question{id, e.Text})
	v.emit(e)
}

func (v *voice) freshID() string {
	v.asked++
	return fmt.Sprintf("ask-%d", v.asked)
}

// answer does what was allowed and says so; what was asked by an id that is not open is told as well, so that an answer
// that comes twice is seen.
func (v *voice) answer(m demo.Message) {
	i := slices.IndexFunc(v.open, func(q question) bool { return q.id == m.ID })
	if i < 0 && m.Verdict != demo.Revoke {
		v.emit(demo.Event{Type: demo.Text, Text: "An answer came to " + m.ID + ", which is not asked."})
	}
	if i < 0 {
		return
	}
	q := v.open[i]
	v.open = slices.Delete(v.open, i, i+1)
	switch m.Verdict {
	case demo.Allow:
		v.tool(q.command, 0, 0)
		v.emit(demo.Event{Type: demo.Text, Text: "Allowed: " + q.command})
	case demo.Deny:
		text := "Denied: " + q.command
		if m.Text != "" {
			text += " (" + m.Text + ")"
		}
		v.emit(demo.Event{Type: demo.Text, Text: text})
	}
}

// liveStep plays a step that only a process with several turns knows; known is false when it is none.
func (v *voice) liveStep(verb, arg string) (known bool) {
	if !v.live {
		return false
	}
	shell := demo.Event{Text: arg, Tool: "shell", Risk: "process"}
	answered := func() bool { return len(v.open) == 0 }
	switch verb {
	case "ask":
		v.ask(v.freshID(), shell)
		v.attend(nil, answered)
	case "edit":
		v.ask(v.freshID(), demo.Event{Text: "edit " + arg, Tool: "edit", Risk: "filesystem", Paths: []string{arg}})
		v.attend(nil, answered)
	case "open":
		v.ask(v.freshID(), shell)
	case "again":
		v.ask(fmt.Sprintf("ask-%d", v.asked), shell)
	case "await":
		v.attend(nil, answered)
	case "withdraw":
		for _, q := range v.open {
			v.emit(demo.Event{Type: demo.Withdrawn, ID: q.id})
		}
		v.open = nil
	case "steer":
		v.attend(nil, func() bool { return v.steers > 0 })
	case "deaf":
		v.deaf = true
	default:
		return false
	}
	return true
}
