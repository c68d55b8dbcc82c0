package review

import (
	"fmt"
	"strings"

	"scv/internal/wire"
)

// Bounds of what the row of one review holds; it is written whole with each fact.
const (
	// MaxFacts is how many facts let a review go on. One that has more ends, once the turns that run for it have.
	MaxFacts = 1000
	// MaxFindings is how many findings are kept of all verdicts together.
	MaxFindings = 400
	// maxWords is how many bytes the verdicts may take together before later ones lose all but their titles.
	maxWords = 512 << 10
)

// Bound cuts what a verdict adds to a record of so many facts, and says in the fact what was left out. A verdict keeps
// its word, its summary and what it says of open findings in any case.
func Bound(f *wire.ReviewFact, before []wire.ReviewFact) {
	v := f.Verdict
	if v == nil {
		return
	}
	findings, bytes := 0, 0
	for i := range before {
		if b := before[i].Verdict; b != nil {
			findings += len(b.Findings)
			bytes += wordsOf(b)
		}
	}
	if left := max(0, MaxFindings-findings); len(v.Findings) > left {
		f.Text = strings.TrimPrefix(f.Text+"; ", "; ") + fmt.Sprintf("%d of its %d findings were left out, since the record of a review has at most %d", len(v.Findings)-left, len(v.Findings), MaxFindings)
		v.Findings = v.Findings[:left]
	}
	if bytes+wordsOf(v) <= maxWords {
		return
	}
	v.Evidence = nil
	for i := range v.Findings {
		v.Findings[i].Detail = ""
	}
}

func wordsOf(v *wire.ReviewVerdict) (n int) {
	for i := range v.Findings {
		n += len(v.Findings[i].Detail)
	}
	for _, e := range v.Evidence {
		n += len(e)
	}
	return n
}

// full ends a review whose record has as many facts as it may.
func (s folding) full() {
	if len(s.Review.Facts) < MaxFacts || s.word != nil || s.decision != nil || s.broken() {
		return
	}
	s.word = &wire.ReviewFact{What: wire.ReviewFailed, Text: fmt.Sprintf("its record has %d facts, which is as many as a review may have", len(s.Review.Facts))}
}
