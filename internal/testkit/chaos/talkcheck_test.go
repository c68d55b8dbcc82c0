//go:build linux

package chaos

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"scv/internal/testkit/fakemodel"
	"scv/internal/wire"
)

var (
	promptTag = regexp.MustCompile(`^<([a-z0-9-]+)\.[0-9]+>`)
	toldJob   = regexp.MustCompile(`(?m)^(job-[0-9]+) \(demo\) is `)
	begunJob  = regexp.MustCompile(`job-[0-9]+`)
)

// check lets the session come to rest and compares what was acknowledged with its history and with what the model was
// asked. It returns how many jobs its model began.
func (k *talker) check(model *fakemodel.Server) (jobs int) {
	t := k.l.t
	t.Helper()
	history := k.rests()
	asked := map[string]int{}
	for _, r := range model.Requests() {
		if m := promptTag.FindStringSubmatch(r.Texts[len(r.Texts)-1]); m != nil && len(r.Tools) > 0 && !answered(r) {
			asked[m[1]]++
		}
	}
	inHistory := map[string][]string{}
	for _, m := range history {
		if tag := promptTag.FindStringSubmatch(m.Text); tag != nil && m.Role == "user" {
			inHistory[tag[1]] = append(inHistory[tag[1]], m.Text)
		}
	}
	for tag, s := range k.sayings {
		texts := inHistory[tag]
		switch {
		case len(texts) > 1:
			t.Errorf("%s is in the history %d times", tag, len(texts))
		case s.removed && len(texts) > 0:
			t.Errorf("%s was taken out, and was asked", tag)
		case s.known > 0 && !s.removed && !s.unsure && len(texts) == 0:
			t.Errorf("%s was acknowledged, and is lost", tag)
		case len(texts) == 1 && slices.Index(s.texts, texts[0])+1 < s.known:
			t.Errorf("%s was asked as %q, and was changed to %q", tag, texts[0], s.texts[s.known-1])
		}
		if asked[tag] > 1 {
			t.Errorf("the model was asked %s %d times", tag, asked[tag])
		}
	}
	k.checkTools()
	return k.checkReports(history)
}

// answered reports whether a request already holds results behind the newest text of the user.
func answered(r fakemodel.Request) bool {
	body := string(r.Body)
	return strings.LastIndex(body, `"role":"tool"`) > strings.LastIndex(body, `"role":"user"`)
}

// checkTools looks whether each command ran at most once, and once when its end was told.
func (k *talker) checkTools() {
	data, _ := os.ReadFile(filepath.Join(k.l.work, "traces")) // absent when none ran
	ran := map[string]int{}
	for line := range strings.Lines(string(data)) {
		ran[strings.TrimSpace(line)]++
	}
	for tag := range k.sayings {
		if n := ran[tag+"."]; n > 1 || n == 0 && k.tools[tag] {
			k.l.t.Errorf("the command of %s ran %d times", tag, n)
		}
	}
}

// reports are the jobs that the model was told it started, and how often their ends were told to it: in turns that it
// answered.
func reports(history []wire.SessionMessage) (begun map[string]bool, told map[string]int) {
	begun, told = map[string]bool{}, map[string]int{}
	for i, m := range history {
		for _, r := range m.Results {
			if id := begunJob.FindString(r.Text); r.Name == "agent" && !r.Failed && id != "" {
				begun[id] = true
			}
		}
		if m.Role != "user" || i+1 == len(history) || history[i+1].Role != "assistant" {
			continue
		}
		for _, id := range toldJob.FindAllStringSubmatch(m.Text, -1) {
			told[id[1]]++
		}
	}
	return begun, told
}

// checkReports looks whether the end of each job was told once, and returns how many there are.
func (k *talker) checkReports(history []wire.SessionMessage) int {
	begun, told := reports(history)
	for id := range begun {
		if told[id] != 1 {
			k.l.t.Errorf("the end of %s was told %d times", id, told[id])
		}
	}
	k.l.t.Logf("%s: %d prompts, %d commands, %d jobs, %d messages, acknowledged %v", k.name, len(k.sayings), len(k.tools), len(begun), len(history), k.acks)
	return len(begun)
}

// rests lets the queue run out and all reports be told, and returns the history, oldest first.
func (k *talker) rests() []wire.SessionMessage {
	l := k.l
	l.t.Helper()
	l.ready()
	t, done, err := k.enter(l.ctx)
	l.must(err)
	defer done()
	l.must(t.Send(l.ctx, wire.SessionPause{RequestID: "go on", SessionID: k.id}))
	l.must(k.until(l.ctx, t, "go on"))
	for k.turn || len(k.queue) > 0 || !k.reported() {
		event, err := t.Next(l.ctx)
		l.must(err)
		_, err = k.take(l.ctx, t, event)
		l.must(err)
	}
	return k.history()
}

// reported tells whether the ends of all jobs were told.
func (k *talker) reported() bool {
	begun, told := reports(k.history())
	for id := range begun {
		if told[id] == 0 {
			return false
		}
	}
	return true
}

// history is the session's history, oldest first.
func (k *talker) history() (all []wire.SessionMessage) {
	l := k.l
	l.t.Helper()
	for before := uint64(0); ; {
		st, err := l.insist(l.ctx, wire.SessionHistoryCommand{Session: k.id, Before: before})
		l.must(err)
		all = append(all, st.SessionHistory.Messages...)
		if st.SessionHistory.Before == nil {
			slices.Reverse(all)
			return all
		}
		before = *st.SessionHistory.Before
	}
}
