package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// TestFewerEndedJobs: a list that shows a few is told a few, and how many there are besides; what lives is always in it.
func TestFewerEndedJobs(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	var names []string
	for i := range 4 {
		_, job := b.start(c, fmt.Sprint("number ", i))
		names = append(names, job)
		if o := <-b.orders; i > 0 {
			b.finish(o, "done")
		}
	}
	for asked, want := range map[string]struct {
		jobs    []string
		omitted any
	}{
		``:               {[]string{names[3], names[2], names[1], names[0]}, nil},
		`,"finished":0`:  {[]string{names[0]}, json.Number("3")},
		`,"finished":2`:  {[]string{names[3], names[2], names[0]}, json.Number("1")},
		`,"finished":99`: {[]string{names[3], names[2], names[1], names[0]}, nil},
	} {
		view := c.status(`{"action":"workbench"` + asked + `}`)["workbench"].(map[string]any)
		var got []string
		for _, job := range view["jobs"].([]any) {
			got = append(got, job.(map[string]any)["job"].(string))
		}
		if !slices.Equal(got, want.jobs) || view["omitted"] != want.omitted || len(view["runs"].([]any)) != len(got) {
			t.Errorf("asked %s: jobs %v, %v omitted, %d runs", asked, got, view["omitted"], len(view["runs"].([]any)))
		}
		if view["generated_unix_seconds"] == nil || view["epoch"] == nil || view["generation"] == nil {
			t.Errorf("asked %s: %v", asked, view)
		}
	}
}
