//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"scv/internal/client"
	"scv/internal/wire"
)

func idleCost(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 1000, func(l *lab) (string, error) { return l.idleCost(ctx) })
}

func (l *lab) idleCost(ctx context.Context) (string, error) {
	if err := l.live(ctx, 10); err != nil {
		return "", err
	}
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_ = client.WatchWorkbench(watch, l.target(), func(*wire.Snapshot, wire.WorkbenchDelta) error { return nil })
	}()
	pids, err := l.shims()
	if err != nil {
		return "", err
	}
	time.Sleep(90 * time.Second) // until idle connections to the ledger and the collector have had their last round
	before, err := countAll(append(pids, l.daemon.Process.Pid))
	if err != nil {
		return "", err
	}
	time.Sleep(60 * time.Second)
	after, err := countAll(append(pids, l.daemon.Process.Pid))
	if err != nil {
		return "", err
	}
	most := uint64(0)
	for _, p := range pids {
		most = max(most, after[p]-before[p])
	}
	d := l.daemon.Process.Pid
	return fmt.Sprintf("%d; %d (of %d shims)", after[d]-before[d], most, len(pids)), nil
}

func countAll(pids []int) (map[int]uint64, error) {
	all := map[int]uint64{}
	for _, p := range pids {
		n, err := switches(p)
		if err != nil {
			return nil, err
		}
		all[p] = n
	}
	return all, nil
}

// lineLatency compares the time of a frame, as the shim stamped it, with the arrival of its event at a follower.
func lineLatency(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 0, func(l *lab) (string, error) { return l.lineLatency(ctx) })
}

func (l *lab) lineLatency(ctx context.Context) (string, error) {
	conn, err := l.dial(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	script := bytes.Repeat([]byte("say:a line|sleep:20|"), 200)
	if _, err := l.job(ctx, conn, "@@sleep:300|"+string(script)+"say:end"); err != nil {
		return "", err
	}
	var handle wire.RunHandle
	if err := l.until(ctx, func(s *wire.Snapshot) bool {
		if len(s.Runs) > 0 && s.Runs[0].Live {
			handle = s.Runs[0].Handle
		}
		return handle != ""
	}); err != nil {
		return "", err
	}
	var all []time.Duration
	err = client.FollowLog(ctx, l.target(), handle, client.LogPosition{}, func(p wire.RunLogPage) error {
		now := time.Now()
		for _, e := range p.Events {
			if e.Kind == wire.EventText {
				all = append(all, now.Sub(time.UnixMilli(int64(e.TsMs))))
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	// A frame's time is cut to the millisecond, which adds half of one on average.
	return fmt.Sprintf("%.1f / %.1f ms (%d lines; times of frames are whole ms)", ms(quantile(all, 0.5)), ms(quantile(all, 0.95)), len(all)), nil
}

func trivialJob(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 0, func(l *lab) (string, error) { return l.trivialJob(ctx) })
}

func (l *lab) trivialJob(ctx context.Context) (string, error) {
	conn, err := l.dial(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	var all []time.Duration
	for range 40 {
		begin := time.Now()
		ref, err := l.job(ctx, conn, "@@say:ok")
		if err != nil {
			return "", err
		}
		_, id, _ := ref.Split()
		if err := l.until(ctx, func(s *wire.Snapshot) bool {
			for _, j := range s.Jobs {
				if j.Job == id {
					return j.State.Final()
				}
			}
			return false
		}); err != nil {
			return "", err
		}
		all = append(all, time.Since(begin))
	}
	return fmt.Sprintf("%.1f ms (p95 %.1f)", ms(quantile(all, 0.5)), ms(quantile(all, 0.95))), nil
}

func deafClients(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 1000, func(l *lab) (string, error) { return l.deafClients(ctx) })
}

func (l *lab) deafClients(ctx context.Context) (string, error) {
	if _, err := l.snapshots(ctx, 20); err != nil {
		return "", err
	}
	before, err := newPeak(l.daemon.Process.Pid)
	if err != nil {
		return "", err
	}
	for range 20 {
		c, err := l.deaf(ctx)
		if err != nil {
			return "", err
		}
		defer func() { _ = c.Close() }()
	}
	all, err := l.snapshots(ctx, 200)
	if err != nil {
		return "", err
	}
	peak, err := status(l.daemon.Process.Pid, "VmHWM")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.1f MB at the peak; %.2f ms", (float64(peak)-float64(before))/1e3, ms(quantile(all, 0.95))), nil
}

// deaf asks for many snapshots and reads none.
func (l *lab) deaf(ctx context.Context) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "unix", l.target().Socket)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(`{"type":"initialize","request_id":"i","protocol_version":3,"client":{"name":"deaf","version":"1"}}` + "\n")
	for i := range 500 {
		fmt.Fprintf(&b, `{"type":"daemon.control","request_id":"%d","command":{"action":"workbench"}}`+"\n", i)
	}
	if err := c.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return nil, err
	}
	if _, err := c.Write(b.Bytes()); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, err
	}
	return c, nil
}

func shimMemory(ctx context.Context, exe string) (string, error) {
	return inLab(ctx, exe, 0, func(l *lab) (string, error) { return l.shimMemory(ctx) })
}

func (l *lab) shimMemory(ctx context.Context) (string, error) {
	if err := l.live(ctx, 50); err != nil {
		return "", err
	}
	time.Sleep(2 * time.Second) // a shim gives back what only its start needed after one
	pids, err := l.shims()
	if err != nil {
		return "", err
	}
	var sum uint64
	for _, p := range pids {
		kb, err := pss(p)
		if err != nil {
			return "", err
		}
		sum += kb
	}
	return fmt.Sprintf("%.2f MB (%d shims)", float64(sum)/1e3/float64(max(1, len(pids))), len(pids)), nil
}

func pss(pid int) (n uint64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(line, []byte("Pss:")); ok {
			_, err = fmt.Sscan(string(rest), &n)
			return n, err
		}
	}
	return 0, fmt.Errorf("no Pss of %d", pid)
}
