package model

import (
	"fmt"
	"strings"
	"testing"

	"scv/internal/wire"
)

func TestE12_FilterOfAThousandJobs(t *testing.T) {
	var jobs []wire.Job
	for n := range 1000 {
		j := job(n+1, wire.StateCompleted, fmt.Sprintf("Task number %d 修复 flaky test", n))
		if n%10 == 0 {
			j.State, j.Agent = wire.StateFailed, "claude"
		}
		jobs = append(jobs, j)
	}
	d := newDesk(t, jobs...)
	d.press("/")
	for query, want := range map[string]int{
		"state:failed": 100, "agent:claude": 100, "state:failed|completed": 1000, "state:compl": 900, "修复": 1000,
		"FLAKY task": 1000, "nothing-like-it": 0, "state:failed agent:codex": 0, "age>soon": 0, "job-1000": 1,
	} {
		d.m.Field.Editor.Press("ctrl-u", "")
		d.press("type:" + query)
		if got := len(d.m.List.Items); got != want {
			t.Errorf("%q leaves %d, want %d", query, got, want)
		}
	}
	d.press("enter")
	if d.m.Focus != OnList || d.m.List.Filter == "" {
		t.Error("enter does not keep the filter")
	}
	d.press("esc")
	if len(d.m.List.Items) != 1000 || d.m.List.Hidden() != 0 {
		t.Error("esc does not show all again")
	}
}

func TestFilterByAge(t *testing.T) {
	now := uint64(1_800_000_000)
	at := func(n int, ago uint64) wire.Job {
		j := job(n, wire.StateCompleted, "x")
		j.UpdatedUnixSeconds = now - ago
		return j
	}
	d := newDesk(t, at(1, 30), at(2, 3600), at(3, 90_000))
	for query, want := range map[string]string{"age>1m": "job-2 job-3", "age<2h": "job-1 job-2", "age>1d": "job-3", "age>40s age<2h": "job-2", "age>": ""} {
		d.m.List.Filter = query
		d.send(Told{})
		var names []string
		for _, it := range d.m.List.Items {
			names = append(names, string(it.Job.Job))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q leaves %q, want %q", query, got, want)
		}
	}
}

func TestE13_SelectionStaysOnItsJobWhenRowsReorder(t *testing.T) {
	jobs := []wire.Job{job(3, wire.StateWorking, "three"), job(2, wire.StateWorking, "two"), job(1, wire.StateWorking, "one")}
	d := newDesk(t, jobs...)
	d.press("j")
	name := func() string { return d.m.Name(d.m.List.Selected()) }
	if name() != "job-2" {
		t.Fatalf("selected %s", name())
	}
	for _, change := range [][]wire.Job{
		{job(4, wire.StateWorking, "new"), jobs[0], jobs[1], jobs[2]},
		{jobs[0], job(2, wire.StateFailed, "two"), jobs[2]},
		{job(1, wire.StateAwaitingInput, "one"), job(2, wire.StateAwaitingInput, "two"), job(3, wire.StateQueued, "three")},
		{jobs[1]},
	} {
		d.list(&wire.Snapshot{Jobs: change})
		if name() != "job-2" {
			t.Errorf("after a change %s is selected", name())
		}
	}
	d.press("2", "1")
	if name() != "job-2" {
		t.Errorf("after another view %s is selected", name())
	}
}

func TestOrderIsByWhatAPersonLooksFor(t *testing.T) {
	old := job(9, wire.StateCompleted, "x")
	old.UpdatedUnixSeconds = 5
	d := newDesk(t, old, job(8, wire.StateFailed, "x"), job(7, wire.StateUnknown, "x"), job(6, wire.StateQueued, "x"), job(5, wire.StateWorking, "x"), job(4, wire.StateAwaitingInput, "x"))
	var got []string
	for _, it := range d.m.List.Items {
		got = append(got, it.Job.State.String())
	}
	if want := "awaiting_input working queued unknown failed completed"; strings.Join(got, " ") != want {
		t.Errorf("order %v", got)
	}
}

func TestMarksAndBatch(t *testing.T) {
	d := newDesk(t, job(3, wire.StateWorking, "three"), job(2, wire.StateWorking, "two"), job(1, wire.StateCompleted, "one"))
	d.press("space", "space", "space", "x")
	if want := "Stop 2 jobs (job-3, job-2)? What it did stays."; d.m.Ask.Text != want {
		t.Fatalf("asks %q", d.m.Ask.Text)
	}
	d.press("y")
	if c := d.commands(); len(c) != 2 || len(d.m.List.Marks) != 0 {
		t.Errorf("did %v, marks %v", c, d.m.List.Marks)
	}
	d.press("g", "space")
	d.list(&wire.Snapshot{Jobs: []wire.Job{job(1, wire.StateCompleted, "one")}})
	if len(d.m.List.Marks) != 0 {
		t.Error("the mark of a job that is gone stays")
	}
}

func TestOnlyMine(t *testing.T) {
	d := newDesk(t)
	view := asking()
	view.Approvals = append(view.Approvals, approval(2, "job-2"))
	view.Jobs = append(view.Jobs, job(3, wire.StateWorking, "three"))
	d.list(view)
	d.press("!")
	if n := len(d.m.List.Items); n != 2 {
		t.Errorf("%d need me, want the one that waits and the one whose request has not reached its state", n)
	}
	if got := d.m.Tally(); got.Need != 2 || got.Working != 1 {
		t.Errorf("header counts %+v", got)
	}
}
