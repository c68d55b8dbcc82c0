package review

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"scv/internal/wire"
)

// A finding is a blocking finding of a review and what became of it.
type finding struct {
	wire.ReviewFinding
	status string // stillOpen, resolved or withdrawn
}

// ledger are the blocking findings of a review, in the order in which they were found, and the minor ones of the last
// round.
type ledger struct {
	all   []*finding
	known map[string]*finding // by identity, of all
	minor []wire.ReviewFinding
}

// identity is by what a finding is known again when another reviewer, or another round, words it anew: its place without
// line numbers, and the words of its title.
func identity(f wire.ReviewFinding) string {
	place, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(f.Location), "./"), ":")
	place, _, _ = strings.Cut(place, "#")
	return strings.ToLower(strings.TrimSpace(place)) + "\x00" + strings.Join(words(f.Title), " ")
}

func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// open are the findings that are not settled.
func (l *ledger) open() (open []wire.ReviewFinding) {
	for _, f := range l.all {
		if f.status == stillOpen {
			open = append(open, f.ReviewFinding)
		}
	}
	return open
}

func (l *ledger) openIDs() (ids []string) {
	for _, f := range l.open() {
		ids = append(ids, f.ID)
	}
	return ids
}

// A voice is one reviewer's verdict in a round.
type voice struct {
	agent   string
	verdict *wire.ReviewVerdict
}

// close settles a round: a finding of before is settled when every reviewer of the round says so, and what is found
// again goes on under its old id.
func (l *ledger) close(round uint32, voices []voice) {
	l.minor = nil
	for _, f := range l.all {
		if f.status != stillOpen {
			continue
		}
		word := ""
		for _, v := range voices {
			i := slices.IndexFunc(v.verdict.Prior, func(p wire.PriorFinding) bool { return p.ID == f.ID })
			if i < 0 || v.verdict.Prior[i].Status == stillOpen {
				word = stillOpen
				break
			}
			word = v.verdict.Prior[i].Status
		}
		if word != "" {
			f.status = word
		}
	}
	n := 0
	for _, v := range voices {
		for _, found := range v.verdict.Findings {
			if found.Severity != blocking {
				found.By = []string{v.agent}
				l.minor = append(l.minor, found)
				continue
			}
			n = l.take(round, n, v.agent, found)
		}
	}
}

// take adds a blocking finding, or knows it again. It returns how many of the round have a number.
func (l *ledger) take(round uint32, n int, agent string, found wire.ReviewFinding) int {
	key := identity(found)
	if f := l.known[key]; f != nil {
		f.status = stillOpen
		f.Detail, f.Location = found.Detail, found.Location
		if !slices.Contains(f.By, agent) {
			f.By = append(f.By, agent)
		}
		return n
	}
	n++
	found.ID, found.By = fmt.Sprintf("%d.%d", round, n), []string{agent}
	f := &finding{found, stillOpen}
	l.all = append(l.all, f)
	if l.known == nil {
		l.known = map[string]*finding{}
	}
	l.known[key] = f
	return n
}
