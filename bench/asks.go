//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"scv/internal/client"
	"scv/internal/wire"
)

// approvals is how many requests are measured.
const approvals = 200

// approvalLatency compares the time at which an agent asked, as the shim stamped it, with the arrival at a watcher; and
// the moment of the answer with the time at which the agent did what it was allowed to.
func approvalLatency(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 0, func(l *lab) (string, error) { return talks{l}.approvalLatency(ctx) })
}

func (l talks) approvalLatency(ctx context.Context) (string, error) {
	conn, err := l.dial(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	var script strings.Builder
	script.WriteString("@@")
	for n := range approvals {
		script.WriteString(fmt.Sprintf("ask:command %d|", n))
	}
	if _, err := l.jobOf(ctx, conn, "demo-live", script.String()+"say:end"); err != nil {
		return "", err
	}
	seen, answered := map[string]time.Time{}, map[string]time.Time{}
	var handle wire.RunHandle
	err = l.until(ctx, func(s *wire.Snapshot) bool {
		now := time.Now()
		for _, a := range s.Approvals {
			if _, again := seen[a.Command]; again {
				continue
			}
			seen[a.Command], answered[a.Command] = now, time.Now()
			if _, err = conn.Call(ctx, wire.WorkbenchApprove{ID: a.ID, Approved: true, Digest: a.Digest, Key: client.NewKey()}); err != nil {
				return true
			}
		}
		handle = s.Runs[0].Handle
		return s.Jobs[0].State.Final()
	})
	if err != nil {
		return "", err
	}
	shown, told, err := l.stamps(ctx, handle, seen, answered)
	if err != nil || len(shown) != approvals || len(told) != approvals {
		return "", fmt.Errorf("%d of %d requests and %d answers were found: %w", len(shown), approvals, len(told), err)
	}
	return fmt.Sprintf("%.1f / %.1f ms; %.1f / %.1f ms (times of frames are whole ms)", ms(quantile(shown, 0.5)), ms(quantile(shown, 0.95)),
		ms(quantile(told, 0.5)), ms(quantile(told, 0.95))), nil
}

// stamps reads from the log when each request was made and when it was followed.
func (l talks) stamps(ctx context.Context, handle wire.RunHandle, seen, answered map[string]time.Time) (shown, told []time.Duration, err error) {
	err = l.events(ctx, handle, func(e wire.RunEvent) {
		at := time.UnixMilli(int64(e.TsMs))
		if command, ok := strings.CutPrefix(e.Text, "Allowed: "); ok && e.Kind == wire.EventText {
			told = append(told, at.Sub(answered[command]))
		}
		if e.Kind == wire.EventApprovalRequested {
			shown = append(shown, seen[e.Text].Sub(at))
		}
	})
	return shown, told, err
}

// events goes through the log of a run of a live agent up to where it stands.
func (l talks) events(ctx context.Context, handle wire.RunHandle, each func(wire.RunEvent)) error {
	conn, err := l.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for after := uint64(0); ; {
		st, err := conn.Call(ctx, wire.RunLogCommand{Handle: handle, After: after})
		if err != nil {
			return err
		}
		for _, e := range st.RunLog.Events {
			each(e)
		}
		if after = st.RunLog.Next; !st.RunLog.More {
			return nil
		}
	}
}

// burst is 20,000 updates as fast as an agent can write them, and a line of 20 MB: what is in the log of the first, and
// what the daemon's memory grew by at its peak.
func burst(ctx context.Context, exe string) (string, error) {
	const updates, line = 20_000, 20_000_000
	got, err := inLab(ctx, exe, 0, func(l *lab) (string, error) {
		logged := 0
		grown, err := talks{l}.grows(ctx, fmt.Sprintf("@@lines:%d", updates), func(e wire.RunEvent) {
			if e.Kind == wire.EventText {
				logged += strings.Count(e.Text, "line ")
			}
		})
		return fmt.Sprintf("%d of %d logged, + %.1f MB", logged, updates, grown), err
	})
	if err != nil {
		return "", err
	}
	long, err := inLab(ctx, exe, 0, func(l *lab) (string, error) {
		grown, err := talks{l}.grows(ctx, fmt.Sprintf("@@bytes:%d", line), func(wire.RunEvent) {})
		return fmt.Sprintf("%.1fx", grown/(line/1e6)), err
	})
	return got + "; " + long, err
}

// grows plays a script by a live agent and returns by how many MB the daemon's memory was more at its peak.
func (l talks) grows(ctx context.Context, script string, each func(wire.RunEvent)) (float64, error) {
	before, err := newPeak(l.daemon.Process.Pid)
	if err != nil {
		return 0, err
	}
	conn, err := l.dial(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := l.jobOf(ctx, conn, "demo-live", script); err != nil {
		return 0, err
	}
	var handle wire.RunHandle
	if err := l.until(ctx, func(s *wire.Snapshot) bool {
		if len(s.Runs) > 0 {
			handle = s.Runs[0].Handle
		}
		return s.Jobs[0].State.Final()
	}); err != nil {
		return 0, err
	}
	peak, err := status(l.daemon.Process.Pid, "VmHWM")
	if err != nil {
		return 0, err
	}
	return (float64(peak) - float64(before)) / 1e3, l.events(ctx, handle, each)
}
