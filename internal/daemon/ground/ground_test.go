package ground

import (
	"slices"
	"strings"
	"testing"
	"time"

	"scv/internal/repo/work"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// The order to land in puts first what can land without a conflict, and last what conflicts with its own base.
func TestLandingOrder(t *testing.T) {
	for _, tc := range []struct {
		name, order string
		pairs       []string // "a b": they conflict
		base        string   // names in conflict with their base
	}{
		{"nobody meets", "a b c", nil, ""},
		{"a star: all but its middle", "b c d a", []string{"a b", "a c", "a d"}, ""},
		{"a chain: every other", "a c d b", []string{"a b", "b c", "b d"}, ""},
		{"a triangle: one", "a b c", []string{"a b", "b c", "a c"}, ""},
		{"base conflicts come last", "b c a", []string{"b c"}, "a"},
		{"one in the way of nobody clean", "b a", []string{"a b"}, "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &cast{works: map[string]*looked{}, pairs: map[[2]string][]string{}}
			jobs := map[string]*wire.Job{}
			for i, p := range strings.Fields(strings.Join(append(tc.pairs, tc.order), " ")) {
				if c.works[p] != nil {
					continue
				}
				c.works[p] = &looked{work: work.Branch{Head: p, Name: p, Files: []string{"f"}}}
				if strings.Contains(tc.base, p) {
					c.works[p].base = []string{"f"}
				}
				jobs[p] = &wire.Job{Session: "s", Job: wire.NewJobID(uint64(i + 1))}
			}
			for _, pair := range tc.pairs {
				one, other, _ := strings.Cut(pair, " ")
				c.pairs[[2]string{one, other}] = []string{"f"}
			}
			f := c.tell(jobs, time.Unix(5, 0))
			var got []string
			for _, b := range f.Branches {
				got = append(got, b.Branch)
			}
			if strings.Join(got, " ") != tc.order || len(f.Conflicts) != len(tc.pairs) {
				t.Errorf("order %v with %d conflicts, want %s with %d", got, len(f.Conflicts), tc.order, len(tc.pairs))
			}
		})
	}
}

// Runs of tests are counted as the log tells them: of their own turn, with the code of those that failed.
func TestTestsOfATurn(t *testing.T) {
	job := row.Job{Job: wire.Job{Job: "job-2"}, Turn: 2}
	one, two := wire.JobID("job-1"), wire.JobID("job-2")
	var c tally
	for _, e := range []wire.RunEvent{
		{Kind: wire.EventTurnStarted, Job: &one},
		{Kind: wire.EventTool, Text: "$ go test ./other"},
		{Kind: wire.EventTurnEnded},
		{Kind: wire.EventTurnStarted, Job: &two},
		{Kind: wire.EventTool, Text: "$ go test ./..."},
		{Kind: wire.EventToolFailed, Text: "exit 2: go test ./..."},
		{Kind: wire.EventTool, Text: "read a_test.go"},
		{Kind: wire.EventTool, Text: "$ cat go.test.txt"},
		{Kind: wire.EventTool, Text: "$ cd x && npm test -- --watch=false"},
		{Kind: wire.EventToolFailed, Text: "cd x && npm test -- --watch=false failed"},
		{Kind: wire.EventTool, Text: "$ pytest -q"},
		{Kind: wire.EventText, Text: "done"},
		{Kind: wire.EventTool, Text: "$ go test ./..."},
	} {
		c.take(e, job)
	}
	want := []wire.TestRun{{Command: "go test ./...", Exit: new(uint32(2))}, {Command: "cd x && npm test -- --watch=false"}, {Command: "pytest -q", Passed: true}, {Command: "go test ./...", Passed: true}}
	same := func(a, b wire.TestRun) bool {
		return a.Command == b.Command && a.Passed == b.Passed && (a.Exit == nil) == (b.Exit == nil) && (a.Exit == nil || *a.Exit == *b.Exit)
	}
	if !slices.EqualFunc(c.runs, want, same) {
		t.Errorf("got %+v", c.runs)
	}
	if c.open != 3 {
		t.Errorf("the run of tests that nothing came after is %d", c.open)
	}
}

func TestWhatLooksLikeTests(t *testing.T) {
	for command, want := range map[string]bool{
		"go test ./...": true, "cd a && pytest": true, "make test": true, "FOO=1 npm test": true, "python3 -m unittest -v": true, "timeout 60 go test -run X": true,
		"cat jest.config.js": false, "make tests-of-old": false, "ls pytest-cache": false, "echo contest": false, "go build": false, "": false,
	} {
		if got := runsTests(command); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
}
