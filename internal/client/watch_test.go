package client

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/wire"
)

var errEnough = errors.New("enough")

func job(n uint64, state wire.AgentState) wire.Job {
	return wire.Job{Session: "s", Job: wire.NewJobID(n), Agent: "codex", State: state, StartedBy: wire.OriginOwner, CreatedUnixSeconds: n}
}

func states(view *wire.Snapshot) []string {
	out := []string{}
	for _, j := range view.Jobs {
		out = append(out, string(j.Job)+" "+j.State.String())
	}
	return out
}

// twoLives plays a daemon that loses its client once, and then another daemon in its place.
func twoLives(t *testing.T) func(n int, l *link) {
	return func(n int, l *link) {
		if !l.hello(wire.FeatureWatch) {
			return
		}
		id, cmd := l.command()
		ask, ok := cmd.(wire.WorkbenchWatch)
		switch {
		case !ok:
			t.Errorf("connection %d: %T", n, cmd)
		case n == 0:
			if ask.Epoch != nil || ask.After != nil {
				t.Errorf("first connection asked for %+v", ask)
			}
			l.status(id, wire.DaemonStatus{Workbench: &wire.Snapshot{Epoch: "e1", Generation: 4, Jobs: []wire.Job{job(2, wire.StateQueued), job(1, wire.StateWorking)}}})
			l.send(wire.WatchPage{RequestID: id, Epoch: "e1", Generation: 5, Workbench: &wire.WorkbenchDelta{
				Jobs: []wire.Job{job(1, wire.StateCompleted), job(3, wire.StateStarting)},
			}})
		case n == 1: // lost, came back
			if *ask.Epoch != "e1" || *ask.After != 5 {
				t.Errorf("resumed from %q, %d", *ask.Epoch, *ask.After)
			}
			l.status(id, wire.DaemonStatus{})
			l.send(wire.WatchPage{RequestID: id, Epoch: "e1", Generation: 7, Workbench: &wire.WorkbenchDelta{
				Removed: wire.RemovedIDs{Jobs: []wire.JobRef{"s/job-1"}}, Storage: new("full"),
			}})
		default: // another daemon
			if *ask.Epoch != "e1" || *ask.After != 7 {
				t.Errorf("resumed from %q, %d", *ask.Epoch, *ask.After)
			}
			l.status(id, wire.DaemonStatus{})
			l.send(wire.WatchPage{RequestID: id, Epoch: "e2", Generation: 1, Full: true, Workbench: &wire.WorkbenchDelta{Jobs: []wire.Job{job(9, wire.StateIdle)}}})
			l.drain()
		}
	}
}

func TestWatchAppliesChangesAndResumes(t *testing.T) {
	f := newFake(t, twoLives(t))
	lost := 0
	f.target.Lost = func(error) error { lost++; return nil }
	var got [][]string
	var storage []string
	err := WatchWorkbench(t.Context(), f.target, func(view *wire.Snapshot, _ wire.WorkbenchDelta) error {
		got, storage = append(got, states(view)), append(storage, view.Storage)
		if view.Epoch == "e2" {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("ended with %v", err)
	}
	want := [][]string{
		{"job-2 queued", "job-1 working"},
		{"job-3 starting", "job-2 queued", "job-1 completed"},
		{"job-3 starting", "job-2 queued"},
		{"job-9 idle"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("views (-want +got):\n%s", diff)
	}
	if !slices.Equal(storage, []string{"", "", "full", ""}) || lost != 2 {
		t.Errorf("storage %q, lost %d times", storage, lost)
	}
}

func TestWatchPollsAnUpstreamDaemon(t *testing.T) {
	answers := []wire.Snapshot{
		{Jobs: []wire.Job{job(1, wire.StateWorking), job(2, wire.StateWorking)}},
		{Jobs: []wire.Job{job(1, wire.StateCompleted)}},
	}
	f := newFake(t, func(_ int, l *link) {
		l.hello()
		for _, a := range answers {
			id, cmd := l.command()
			if _, ok := cmd.(wire.WorkbenchCommand); !ok {
				t.Errorf("got %T", cmd)
				return
			}
			l.status(id, wire.DaemonStatus{Workbench: &a})
		}
		l.drain()
	})
	var deltas []wire.WorkbenchDelta
	err := WatchWorkbench(t.Context(), f.target, func(_ *wire.Snapshot, d wire.WorkbenchDelta) error {
		if deltas = append(deltas, d); len(deltas) == 2 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	if len(deltas[0].Jobs) != 2 || len(deltas[1].Jobs) != 1 || deltas[1].Jobs[0].State != wire.StateCompleted ||
		!slices.Equal(deltas[1].Removed.Jobs, []wire.JobRef{"s/job-2"}) {
		t.Errorf("deltas: %+v", deltas)
	}
}

func TestWatchEnds(t *testing.T) {
	if err := WatchWorkbench(t.Context(), Target{Socket: t.TempDir() + "/none"}, nil); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("no daemon: %v", err)
	}
	refusing := newFake(t, func(_ int, l *link) {
		l.hello(wire.FeatureWatch)
		id, _ := l.command()
		l.send(wire.Refuse(wire.ReasonRefused, "", "no").Event(id))
		l.drain()
	})
	err := WatchWorkbench(t.Context(), refusing.target, nil)
	if we, ok := errors.AsType[*wire.Error](err); !ok || we.Message != "no" {
		t.Errorf("refused: %v", err)
	}
	quiet := newFake(t, func(_ int, l *link) {
		l.hello(wire.FeatureWatch)
		id, _ := l.command()
		l.status(id, wire.DaemonStatus{Workbench: &wire.Snapshot{Epoch: "e"}})
		l.drain()
	})
	ctx, cancel := context.WithCancel(t.Context())
	err = WatchWorkbench(ctx, quiet.target, func(*wire.Snapshot, wire.WorkbenchDelta) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func logPage(next uint64, ended bool, seqs ...uint64) *wire.RunLogPage {
	p := &wire.RunLogPage{Handle: "codex-aaaaaa", Next: next, Ended: ended}
	for _, s := range seqs {
		p.Events = append(p.Events, wire.RunEvent{Seq: s, Kind: wire.EventText})
	}
	return p
}

func collect(got *[]uint64) func(wire.RunLogPage) error {
	return func(p wire.RunLogPage) error {
		for _, e := range p.Events {
			*got = append(*got, e.Seq)
		}
		return nil
	}
}

func TestFollowLogResumesByPosition(t *testing.T) {
	f := newFake(t, func(n int, l *link) {
		l.hello(wire.FeatureWatch)
		id, cmd := l.command()
		ask, ok := cmd.(wire.RunLogWatch)
		if !ok || ask.After != []uint64{7, 20}[min(n, 1)] {
			t.Errorf("connection %d asked %+v", n, cmd)
			return
		}
		if n == 0 {
			l.status(id, wire.DaemonStatus{RunLog: logPage(10, false, 1, 2)})
			l.send(wire.WatchPage{RequestID: id, RunLog: logPage(20, false, 3)})
			return
		}
		l.status(id, wire.DaemonStatus{RunLog: logPage(20, false)})
		l.send(wire.WatchPage{RequestID: id, RunLog: logPage(30, true, 4, 5)})
		l.drain()
	})
	var got []uint64
	if err := FollowLog(t.Context(), f.target, "codex-aaaaaa", LogPosition{After: 7}, collect(&got)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []uint64{1, 2, 3, 4, 5}) {
		t.Errorf("got %d", got)
	}
}

// TestFollowLogTurnsToTheTail: a log that outgrew its bound goes on where the newest activity is, and what lies between
// is told.
func TestFollowLogTurnsToTheTail(t *testing.T) {
	f := newFake(t, func(n int, l *link) {
		l.hello(wire.FeatureWatch, wire.FeatureTail)
		id, cmd := l.command()
		ask, ok := cmd.(wire.RunLogWatch)
		if !ok || ask.After != 0 || ask.Tail != (n > 0) {
			t.Errorf("connection %d asked %+v", n, cmd)
			return
		}
		if n == 0 {
			page := logPage(90, true, 1, 2, 3, 50)
			page.Events[2].Kind = wire.EventTruncated
			l.status(id, wire.DaemonStatus{RunLog: page})
			return
		}
		l.status(id, wire.DaemonStatus{RunLog: logPage(40, false, 44, 45)})
		l.send(wire.WatchPage{RequestID: id, RunLog: logPage(50, true, 46)})
		l.drain()
	})
	f.target.Lost = func(err error) error { t.Errorf("lost: %v", err); return nil }
	var got []uint64
	if err := FollowLog(t.Context(), f.target, "codex-aaaaaa", LogPosition{}, collect(&got)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []uint64{1, 2, 3, 43, 44, 45, 46}) {
		t.Errorf("got %d", got)
	}
}

func TestFollowLogPollsAnUpstreamDaemon(t *testing.T) {
	f := newFake(t, func(_ int, l *link) {
		l.hello()
		for _, p := range []*wire.RunLogPage{{Handle: "codex-aaaaaa", Next: 9, More: true, Events: []wire.RunEvent{{Seq: 1}}}, logPage(20, true, 2)} {
			id, cmd := l.command()
			if _, ok := cmd.(wire.RunLogCommand); !ok {
				t.Errorf("got %T", cmd)
			}
			l.status(id, wire.DaemonStatus{RunLog: p})
		}
		l.drain()
	})
	var got []uint64
	if err := FollowLog(t.Context(), f.target, "codex-aaaaaa", LogPosition{}, collect(&got)); err != nil || !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("got %d, %v", got, err)
	}
}
