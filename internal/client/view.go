package client

import (
	"cmp"
	"reflect"
	"slices"

	"scv/internal/wire"
)

// apply returns view with a delta's rows put in and the removed ones taken out, in the protocol's order. The view given
// stays as it is.
func apply(view *wire.Snapshot, d *wire.WorkbenchDelta) *wire.Snapshot {
	next := *view
	next.GeneratedUnixSeconds = d.GeneratedUnixSeconds
	next.Sessions = merge(view.Sessions, d.Sessions, d.Removed.Sessions, sessionKey, liveFirst)
	next.Jobs = merge(view.Jobs, d.Jobs, d.Removed.Jobs, jobKey, newestJob)
	next.Runs = merge(view.Runs, d.Runs, d.Removed.Runs, runKey, lastActive)
	next.Approvals = merge(view.Approvals, d.Approvals, d.Removed.Approvals, approvalKey, longestOpen)
	next.Restorable = merge(view.Restorable, d.Restorable, d.Removed.Restorable, restorableKey, newestSaved)
	if d.Storage != nil {
		next.Storage = *d.Storage
	}
	if d.Forecast != nil {
		next.Forecast = d.Forecast
	}
	return &next
}

// merge returns the rows of old that were not removed, each as its newest, and the added ones, in order. What does not
// change is shared with the view before.
func merge[T any, K comparable](old, changed []T, removed []K, key func(T) K, order func(a, b T) int) []T {
	if len(changed)+len(removed) == 0 {
		return old
	}
	fresh := make(map[K]T, len(changed))
	for _, v := range changed {
		fresh[key(v)] = v
	}
	out := make([]T, 0, len(old)+len(changed))
	for _, v := range old {
		k := key(v)
		if now, ok := fresh[k]; ok {
			v = now
			delete(fresh, k)
		} else if slices.Contains(removed, k) {
			continue
		}
		out = append(out, v)
	}
	for _, v := range changed {
		if _, isNew := fresh[key(v)]; isNew {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, order)
	return out
}

func sessionKey(s wire.Session) wire.SessionID              { return s.ID }
func jobKey(j wire.Job) wire.JobRef                         { return j.Session.Ref(j.Job) }
func runKey(r wire.Run) wire.RunHandle                      { return r.Handle }
func approvalKey(a wire.Approval) wire.ApprovalID           { return a.ID }
func restorableKey(r wire.RestorableSession) wire.SessionID { return r.ID }

// The orders are the protocol's (wire.md 14.2).

func liveFirst(a, b wire.Session) int {
	if a.Live != b.Live {
		if a.Live {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.ID, b.ID)
}

func newestJob(a, b wire.Job) int {
	return cmp.Or(cmp.Compare(b.CreatedUnixSeconds, a.CreatedUnixSeconds), cmp.Compare(b.Job.Number(), a.Job.Number()))
}

func lastActive(a, b wire.Run) int {
	return cmp.Or(cmp.Compare(b.LastActivityUnixSeconds, a.LastActivityUnixSeconds), cmp.Compare(a.Handle, b.Handle))
}

func longestOpen(a, b wire.Approval) int {
	return cmp.Or(cmp.Compare(a.SinceUnixSeconds, b.SinceUnixSeconds), cmp.Compare(a.Rev, b.Rev), cmp.Compare(a.ID, b.ID))
}

func newestSaved(a, b wire.RestorableSession) int {
	return cmp.Or(cmp.Compare(b.SavedUnixSeconds, a.SavedUnixSeconds), cmp.Compare(a.ID, b.ID))
}

// whole is the delta that holds every row of a snapshot.
func whole(s *wire.Snapshot) wire.WorkbenchDelta {
	d := wire.WorkbenchDelta{
		GeneratedUnixSeconds: s.GeneratedUnixSeconds, Sessions: s.Sessions, Jobs: s.Jobs,
		Runs: s.Runs, Approvals: s.Approvals, Restorable: s.Restorable, Forecast: s.Forecast,
	}
	if s.Storage != "" {
		d.Storage = &s.Storage
	}
	return d
}

// diff is the delta from one snapshot to a later one, and whether they show the same.
func diff(old, now *wire.Snapshot) (wire.WorkbenchDelta, bool) {
	d := wire.WorkbenchDelta{GeneratedUnixSeconds: now.GeneratedUnixSeconds}
	d.Sessions, d.Removed.Sessions = rows(old.Sessions, now.Sessions, sessionKey)
	d.Jobs, d.Removed.Jobs = rows(old.Jobs, now.Jobs, jobKey)
	d.Runs, d.Removed.Runs = rows(old.Runs, now.Runs, runKey)
	d.Approvals, d.Removed.Approvals = rows(old.Approvals, now.Approvals, approvalKey)
	d.Restorable, d.Removed.Restorable = rows(old.Restorable, now.Restorable, restorableKey)
	if old.Storage != now.Storage {
		d.Storage = &now.Storage
	}
	if !reflect.DeepEqual(old.Forecast, now.Forecast) {
		d.Forecast = now.Forecast
	}
	count := len(d.Sessions) + len(d.Jobs) + len(d.Runs) + len(d.Approvals) + len(d.Restorable)
	return d, count == 0 && d.Removed.IsZero() && d.Storage == nil && d.Forecast == nil
}

func rows[T any, K comparable](old, now []T, key func(T) K) (changed []T, removed []K) {
	before := make(map[K]T, len(old))
	for _, v := range old {
		before[key(v)] = v
	}
	for _, v := range now {
		k := key(v)
		if was, ok := before[k]; !ok || !reflect.DeepEqual(was, v) {
			changed = append(changed, v)
		}
		delete(before, k)
	}
	for _, v := range old {
		if _, gone := before[key(v)]; gone {
			removed = append(removed, key(v))
		}
	}
	return changed, removed
}
