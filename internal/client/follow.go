package client

import (
	"context"
	"errors"
	"time"

	"scv/internal/wire"
)

// Pauses of following: between attempts to come back, and between questions to a daemon that does not push.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
	poll       = time.Second
	logPoll    = 500 * time.Millisecond
)

// A stop is an error of the caller's own function, which ends following.
type stop struct{ error }

// Unwrap gives the caller's error.
func (s stop) Unwrap() error { return s.error }

// resume runs once until it returns nil, the caller stops it, the daemon refuses, or ctx ends. A connection that could
// not be made in the first place is an error at once; one that was lost is made again.
func resume(ctx context.Context, target Target, once func(context.Context, *Conn) error) error {
	pause, connected := firstPause, false
	for {
		err := attempt(ctx, target, func(ctx context.Context, c *Conn) error {
			pause, connected = firstPause, true
			if target.Connected != nil {
				target.Connected(c.Server(), c.features)
			}
			return once(ctx, c)
		})
		if s, ok := errors.AsType[stop](err); ok {
			return s.error
		}
		if errors.Is(err, errTurned) {
			continue
		}
		if err == nil || ctx.Err() != nil && !connected {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if refused, ok := errors.AsType[*wire.Error](err); !connected || ok && refused.Reason != wire.ReasonBusy {
			return err
		}
		if target.Lost != nil {
			if lost := target.Lost(err); lost != nil {
				return lost
			}
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
		pause = min(2*pause, lastPause)
	}
}

func attempt(ctx context.Context, target Target, once func(context.Context, *Conn) error) error {
	c, err := Dial(ctx, target, target.Client)
	if err != nil {
		return err
	}
	defer c.Close()
	return once(ctx, c)
}

// sleep waits, and reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// errTurned says that the follower goes on in the tail of the log, for which it has to ask anew.
var errTurned = errors.New("the log goes on in its tail")

// FollowLog gives a run's log to page from a position on, until the log has ended (nil), page returns an error, or ctx
// ends. Pages come in order, each line once, over lost connections and restarts of the daemon too.
func FollowLog(ctx context.Context, target Target, handle wire.RunHandle, from LogPosition, page func(wire.RunLogPage) error) error {
	f := logFollower{handle: handle, at: from, page: page}
	return resume(ctx, target, f.once)
}

type logFollower struct {
	handle wire.RunHandle
	at     LogPosition
	page   func(wire.RunLogPage) error
}

func (f *logFollower) once(ctx context.Context, c *Conn) error {
	if !c.Has(wire.FeatureWatch) {
		return f.poll(ctx, c)
	}
	st, err := c.Call(ctx, wire.RunLogWatch{Handle: f.handle, After: f.at.After, Tail: f.at.Tail})
	if err != nil {
		return err
	}
	ended, err := f.take(c, st.RunLog)
	for err == nil && !ended {
		var p wire.WatchPage
		if p, err = c.page(ctx); err == nil {
			ended, err = f.take(c, p.RunLog)
		}
	}
	return err
}

// poll asks again and again, as a client of an upstream daemon has to.
func (f *logFollower) poll(ctx context.Context, c *Conn) error {
	for {
		st, err := c.Call(ctx, wire.RunLogCommand{Handle: f.handle, After: f.at.After, Tail: f.at.Tail})
		if err != nil {
			return err
		}
		ended, err := f.take(c, st.RunLog)
		if err != nil || ended {
			return err
		}
		if !st.RunLog.More && !sleep(ctx, logPoll) {
			return ctx.Err()
		}
	}
}

// take gives one page on and remembers where it ended.
func (f *logFollower) take(c *Conn, p *wire.RunLogPage) (ended bool, err error) {
	if p == nil {
		return false, errors.New("the daemon answered without a page of the log")
	}
	turned := f.at.Take(p, c.Has(wire.FeatureTail))
	if len(p.Events) > 0 || p.Ended {
		if err := f.page(*p); err != nil {
			return false, stop{err}
		}
	}
	if turned {
		return false, errTurned
	}
	return p.Ended, nil
}

// page reads the next page of a watching connection.
func (c *Conn) page(ctx context.Context) (wire.WatchPage, error) {
	event, err := c.read(ctx)
	if err != nil {
		return wire.WatchPage{}, err
	}
	switch e := event.(type) {
	case wire.WatchPage:
		return e, nil
	case wire.ErrorEvent:
		return wire.WatchPage{}, e.Err()
	}
	return wire.WatchPage{}, errors.New("the daemon sent " + event.EventType() + " to a watcher")
}
