package review

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// Bounds of what agents answer: bytes of a block, counts, and characters of a text. Longer texts are cut: that they are
// long costs nobody a turn.
const (
	verdictBytes = 16 << 10
	landingBytes = 4 << 10
	maxFindings  = 20
	maxEvidence  = 20
	maxCommits   = 20
	maxSummary   = 1000
	maxTitle     = 200
	maxDetail    = 2000
	maxLocation  = 300
	maxURL       = 300
)

// The words of a verdict.
const (
	approve  = "approve"
	changes  = "changes"
	escalate = "escalate"
)

// The weights of a finding, and what becomes of it.
const (
	blocking  = "blocking"
	minor     = "minor"
	resolved  = "resolved"
	stillOpen = "open"
	withdrawn = "withdrawn"
)

// What a landing comes to, as a builder and as a reviewer say it.
const (
	landed       = "landed"
	notLanded    = "not_landed"
	landFailed   = "failed"
	confirmed    = "confirmed"
	notFound     = "not_found"
	mismatch     = "mismatch"
	unverifiable = "unverifiable"
)

// Asked is what a reviewer was asked, which its verdict has to fit.
type Asked struct {
	Open       []string // ids of the findings that were open
	Base, Head string   // the commits that it was shown
	Exact      bool     // an approval must name them, because it lets the builder land
}

// ParseVerdict reads the verdict of a reply. The error says, for the reviewer, what is wrong with it. A finding of before
// that it does not speak of stays open; what it says of one that is not open is passed over.
func ParseVerdict(reply string, asked Asked) (*wire.ReviewVerdict, error) {
	body, err := lastBlock(reply, verdictBlock, verdictBytes)
	if errors.Is(err, errNone) {
		return nil, fmt.Errorf("the reply has no block %s", verdictBlock)
	}
	if err != nil {
		return nil, err
	}
	var v wire.ReviewVerdict
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		return nil, fmt.Errorf("the block %s is not the JSON that was asked for: %w", verdictBlock, err)
	}
	if v.Summary = text(v.Summary, maxSummary); v.Summary == "" {
		return nil, errors.New("the summary is missing")
	}
	if err := findings(&v); err != nil {
		return nil, err
	}
	prior(&v, asked.Open)
	v.Evidence = texts(v.Evidence, maxEvidence, maxLocation)
	if v.Check != nil {
		if err := check(v.Check); err != nil {
			return nil, err
		}
	}
	return &v, consistent(&v, asked)
}

func findings(v *wire.ReviewVerdict) error {
	if len(v.Findings) > maxFindings {
		return fmt.Errorf("there are %d findings, and at most %d are read: put the gravest first and leave the others out", len(v.Findings), maxFindings)
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		f.ID, f.By = "", nil
		if f.Severity != blocking && f.Severity != minor {
			return fmt.Errorf("finding %d has the severity %q: it is blocking or minor", i+1, text(f.Severity, 40))
		}
		if f.Title = text(f.Title, maxTitle); f.Title == "" {
			return fmt.Errorf("finding %d has no title", i+1)
		}
		f.Detail, f.Location = block(f.Detail, maxDetail), text(f.Location, maxLocation)
	}
	return nil
}

// prior keeps one word on each finding that was open. Of two words the graver counts.
func prior(v *wire.ReviewVerdict, open []string) {
	said := v.Prior
	v.Prior = nil
	for _, id := range open {
		p := wire.PriorFinding{ID: id, Status: stillOpen}
		for i, s := range said {
			first := !slices.ContainsFunc(said[:i], func(o wire.PriorFinding) bool { return o.ID == id })
			switch {
			case s.ID != id:
			case s.Status == resolved && first, s.Status == withdrawn && first && strings.TrimSpace(s.Note) != "":
				p.Status, p.Note = s.Status, text(s.Note, maxLocation)
			case s.Status != resolved && s.Status != withdrawn:
				p.Status, p.Note = stillOpen, text(s.Note, maxLocation)
			}
		}
		v.Prior = append(v.Prior, p)
	}
}

// consistent refuses a verdict whose parts contradict each other.
func consistent(v *wire.ReviewVerdict, asked Asked) error {
	found := slices.ContainsFunc(v.Findings, func(f wire.ReviewFinding) bool { return f.Severity == blocking })
	left := slices.IndexFunc(v.Prior, func(p wire.PriorFinding) bool { return p.Status == stillOpen })
	switch v.Verdict {
	case approve:
		switch {
		case found:
			return errors.New("it approves and has a blocking finding")
		case left >= 0:
			return fmt.Errorf("it approves and leaves finding %s open: say in prior what became of each", v.Prior[left].ID)
		case len(v.Evidence) == 0:
			return errors.New("it approves without evidence: say what was looked at or run")
		}
		if asked.Exact && v.Approved == nil || v.Approved != nil && !(names(v.Approved.Base, asked.Base) && names(v.Approved.Head, asked.Head)) {
			return fmt.Errorf("approved must name base %.12s and head %.12s, which is what was to be reviewed", asked.Base, asked.Head)
		}
	case changes:
		if !found && left < 0 {
			return errors.New("it asks for changes and has no blocking finding")
		}
	case escalate:
	default:
		return fmt.Errorf("the verdict is %q: it is approve, changes or escalate", text(v.Verdict, 40))
	}
	return nil
}

// names reports whether a commit is named by 7 to 40 of its first hex digits.
func names(short, commit string) bool {
	return len(short) >= 7 && strings.HasPrefix(commit, short)
}

// ParseLanding reads what a builder says about a landing; nil where it says nothing.
func ParseLanding(reply string) (*wire.LandingReport, error) {
	body, err := lastBlock(reply, landingBlock, landingBytes)
	if errors.Is(err, errNone) {
		return nil, nil
	}
	var l wire.LandingReport
	if err == nil {
		err = json.Unmarshal([]byte(body), &l)
	}
	if err != nil {
		return nil, fmt.Errorf("the block %s cannot be read: %w", landingBlock, err)
	}
	l.Ref, l.Detail, l.Commits = text(l.Ref, maxLocation), text(l.Detail, maxLocation), commits(l.Commits)
	if !strings.HasPrefix(l.URL, "https://") || len(l.URL) > maxURL || plain.Line(l.URL) != l.URL {
		l.URL = ""
	}
	switch l.Status {
	case landed:
		if l.Ref == "" || len(l.Commits) == 0 {
			return nil, errors.New("it says landed and names no ref or no commits")
		}
	case notLanded, landFailed:
	default:
		return nil, fmt.Errorf("the landing is %q: it is landed, not_landed or failed", text(l.Status, 40))
	}
	return &l, nil
}

// ParseCheck reads what a reviewer found of a landing; nil where it says nothing.
func ParseCheck(reply string) (*wire.LandingCheck, error) {
	body, err := lastBlock(reply, checkBlock, landingBytes)
	if errors.Is(err, errNone) {
		return nil, nil
	}
	var c wire.LandingCheck
	if err == nil {
		err = json.Unmarshal([]byte(body), &c)
	}
	if err != nil {
		return nil, fmt.Errorf("the block %s cannot be read: %w", checkBlock, err)
	}
	return &c, check(&c)
}

func check(c *wire.LandingCheck) error {
	c.Ref, c.Note, c.Commits = text(c.Ref, maxLocation), text(c.Note, maxLocation), commits(c.Commits)
	c.Evidence = texts(c.Evidence, 5, maxLocation)
	switch c.Status {
	case confirmed:
		if c.Ref == "" || len(c.Commits) == 0 || len(c.Evidence) == 0 {
			return errors.New("it confirms the landing without ref, commits and evidence")
		}
	case unverifiable:
		if c.Note == "" {
			return errors.New("it cannot verify the landing and does not say why")
		}
	case notFound, mismatch:
	default:
		return fmt.Errorf("the check of the landing is %q: it is confirmed, not_found, mismatch or unverifiable", text(c.Status, 40))
	}
	return nil
}

// commits keeps what looks like the name of a commit.
func commits(said []string) (kept []string) {
	for _, c := range said {
		if len(c) >= 7 && len(c) <= 64 && strings.Trim(c, "0123456789abcdef") == "" && len(kept) < maxCommits {
			kept = append(kept, c)
		}
	}
	return kept
}

func text(s string, limit int) string { return plain.Truncate(plain.Line(strings.TrimSpace(s)), limit) }

// block is a text of several lines, cut at its bound.
func block(s string, limit int) string {
	s = strings.TrimSpace(plain.Block(s))
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}

func texts(said []string, most, limit int) (kept []string) {
	for _, s := range said {
		if s = text(s, limit); s != "" && len(kept) < most {
			kept = append(kept, s)
		}
	}
	return kept
}

// Change puts each text of a fact that an agent wrote through a function, such as the mask: what was masked as a reply may
// read otherwise once its JSON is read.
func Change(f *wire.ReviewFact, change func(string) string) {
	all := []*string{&f.Text, &f.Reply}
	list := func(texts []string) {
		for i := range texts {
			all = append(all, &texts[i])
		}
	}
	look := func(c *wire.LandingCheck) {
		if c != nil {
			all = append(all, &c.Ref, &c.Note)
			list(c.Evidence)
		}
	}
	look(f.Check)
	if l := f.Landing; l != nil {
		all = append(all, &l.Ref, &l.Detail, &l.URL)
	}
	if v := f.Verdict; v != nil {
		all = append(all, &v.Summary)
		list(v.Evidence)
		look(v.Check)
		for i := range v.Findings {
			x := &v.Findings[i]
			all = append(all, &x.Title, &x.Detail, &x.Location)
		}
		for i := range v.Prior {
			all = append(all, &v.Prior[i].Note)
		}
	}
	for _, text := range all {
		*text = change(*text)
	}
}
