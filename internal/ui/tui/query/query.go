// Package query is the filter of the dashboard's lists: words, and conditions on state, agent and age. It is pure.
package query

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"scv/internal/wire"
)

// A Query is a filter as typed: words that all must be in an item's text, and conditions such as state:failed|queued,
// agent:codex and age>2h. A condition that cannot be read counts as a word.
type Query struct {
	words  []string
	states []string
	agents []string
	older  time.Duration
	newer  time.Duration
}

// Parse reads a filter; it never fails.
func Parse(s string) Query {
	var q Query
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

// Facts are what a filter can ask of a row.
type Facts struct {
	State string
	Agent string
	Since time.Time // when it came to its state
	Texts []string
}

// Matches reports whether a row fits at a moment.
func (q *Query) Matches(f Facts, now time.Time) bool {
	if len(q.states) > 0 && !slices.ContainsFunc(q.states, f.is) {
		return false
	}
	if len(q.agents) > 0 && !slices.ContainsFunc(q.agents, func(a string) bool { return strings.HasPrefix(f.Agent, a) }) {
		return false
	}
	if q.older > 0 || q.newer > 0 {
		old := now.Sub(f.Since)
		if f.Since.IsZero() || q.older > 0 && old <= q.older || q.newer > 0 && old >= q.newer {
			return false
		}
	}
	for _, word := range q.words {
		if !slices.ContainsFunc(f.Texts, func(t string) bool { return contains(t, word) }) {
			return false
		}
	}
	return true
}

// is reports whether a state's word begins with what was typed; waits is what the list shows for awaiting_input.
func (f Facts) is(word string) bool {
	return word != "" && (strings.HasPrefix(f.State, word) || f.State == wire.StateAwaitingInput.String() && strings.HasPrefix("waits", word))
}

// Holds reports whether a text holds words, in either case of letters.
func Holds(text, words string) bool { return contains(text, strings.ToLower(words)) }

// contains reports whether a text holds a lower-case word, in either case of letters.
func contains(text, word string) bool {
	return strings.Contains(text, word) || strings.Contains(strings.ToLower(text), word)
}
