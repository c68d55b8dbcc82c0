package model

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"scv/internal/wire"
)

// A query is a filter as typed: words that all must be in an item's text, and conditions such as state:failed|queued,
// agent:codex and age>2h. A condition that cannot be read counts as a word.
type query struct {
	words  []string
	states []string
	agents []string
	older  time.Duration
	newer  time.Duration
}

func parseQuery(s string) query {
	var q query
	for word := range strings.FieldsSeq(strings.ToLower(s)) {
		if list, ok := strings.CutPrefix(word, "state:"); ok {
			q.states = append(q.states, strings.Split(list, "|")...)
		} else if list, ok := strings.CutPrefix(word, "agent:"); ok {
			q.agents = append(q.agents, strings.Split(list, "|")...)
		} else if d, ok := age(word, "age>"); ok {
			q.older = d
		} else if d, ok := age(word, "age<"); ok {
			q.newer = d
		} else {
			q.words = append(q.words, word)
		}
	}
	return q
}

// age reads what follows a condition on age: a number and s, m, h or d.
func age(word, condition string) (time.Duration, bool) {
	text, ok := strings.CutPrefix(word, condition)
	if !ok || len(text) < 2 {
		return 0, false
	}
	unit, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 20)
	return time.Duration(n) * unit, ok && err == nil
}

func (q *query) matches(m *Model, it *Item) bool {
	f := m.facts(it)
	if len(q.states) > 0 && !slices.ContainsFunc(q.states, f.is) {
		return false
	}
	if len(q.agents) > 0 && !slices.ContainsFunc(q.agents, func(a string) bool { return strings.HasPrefix(f.agent, a) }) {
		return false
	}
	if q.older > 0 || q.newer > 0 {
		old := m.at.Sub(time.Unix(int64(f.since), 0))
		if f.since == 0 || q.older > 0 && old <= q.older || q.newer > 0 && old >= q.newer {
			return false
		}
	}
	for _, word := range q.words {
		if !slices.ContainsFunc(f.texts, func(t string) bool { return contains(t, word) }) {
			return false
		}
	}
	return true
}

// Holds reports whether a text holds words, in either case of letters.
func Holds(text, words string) bool { return contains(text, strings.ToLower(words)) }

// contains reports whether a text holds a lower-case word, in either case of letters.
func contains(text, word string) bool {
	return strings.Contains(text, word) || strings.Contains(strings.ToLower(text), word)
}

// facts are what a filter can ask of an item.
type facts struct {
	state string
	agent string
	since uint64 // when it came to its state
	texts []string
}

// is reports whether a state's word begins with what was typed; waits is what the list shows for awaiting_input.
func (f facts) is(word string) bool {
	return word != "" && strings.HasPrefix(f.state, word) ||
		f.state == wire.StateAwaitingInput.String() && word != "" && strings.HasPrefix("waits", word)
}

func (m *Model) facts(it *Item) facts {
	switch {
	case it.Job != nil:
		j := it.Job
		return facts{j.State.String(), j.Agent, j.UpdatedUnixSeconds, []string{string(j.Job), j.Task, j.Agent, j.State.String(), text(j.Detail), j.Cwd, text(j.Conversation)}}
	case it.Run != nil:
		r := it.Run
		return facts{r.State.String(), r.Agent, r.StartedUnixSeconds, []string{string(r.Handle), r.State.String(), r.Cwd, text(r.Detail), text(r.Job), text(r.Conversation)}}
	case it.Session != nil:
		s := it.Session
		return facts{s.State.String(), "", 0, []string{string(s.ID), s.Label, s.Workspace, s.State.String()}}
	case it.Waiting != nil:
		w := it.Waiting
		return facts{"restorable", "", w.SavedUnixSeconds, []string{string(w.ID), w.Label, w.Workspace, text(w.Interrupted)}}
	case it.Tree != nil:
		return facts{"", "", 0, []string{it.Tree.Path, it.Tree.Branch, it.Tree.Repo}}
	case it.Agent != nil:
		return facts{"", it.Agent.Name, 0, []string{it.Agent.Name, it.Agent.Path}}
	}
	return facts{}
}

// text is an optional text or id, empty when it is absent.
func text[T ~string](s *T) string {
	if s == nil {
		return ""
	}
	return string(*s)
}
