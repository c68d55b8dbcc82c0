package feed

import (
	"context"
	"errors"
	"slices"

	"scv/internal/client"
	"scv/internal/client/offline"
	"scv/internal/ui/tui/model"
	"scv/internal/wire"
)

// Follow follows a run's log in place of the one before; with an empty run it only ends that one.
func (f *Feed) Follow(what model.Follow) {
	f.follow()
	ctx, cancel := context.WithCancel(f.ctx)
	f.follow = cancel
	if what.Run == "" {
		cancel()
		return
	}
	f.spawn(func() {
		defer cancel()
		if pause(ctx, settlePause) {
			l := &logReader{f: f, what: what}
			l.run(ctx)
		}
	})
}

// A logReader follows one log: from the daemon, and from disk while there is none. The position is kept, so no line comes
// twice.
type logReader struct {
	f    *Feed
	what model.Follow
	at   client.LogPosition
}

func (l *logReader) run(ctx context.Context) {
	for ctx.Err() == nil {
		target, hasTail := l.f.opts.Target, false
		target.Connected = func(_ wire.PeerInfo, features []string) { hasTail = slices.Contains(features, wire.FeatureTail) }
		err := client.FollowLog(ctx, target, l.what.Run, l.at, func(p wire.RunLogPage) error {
			seen := p // the position is moved by a copy: the page is as a reader should see it already
			l.at.Take(&seen, hasTail)
			if !l.tell(ctx, p) {
				return ctx.Err()
			}
			return nil
		})
		switch {
		case ctx.Err() != nil:
			return
		case err == nil: // its end
			return
		case !away(err):
			l.f.send(ctx, model.Logged{Source: l.what.Source, Err: err, Ended: true})
			return
		}
		if l.disk(ctx); !pause(ctx, retryPause) {
			return
		}
	}
}

// away reports whether an error says that no daemon answers, which may pass.
func away(err error) bool {
	return errors.Is(err, client.ErrNoDaemon) || errors.Is(err, client.ErrSilent) || errors.Is(err, client.ErrBroken)
}

func (l *logReader) tell(ctx context.Context, p wire.RunLogPage) bool {
	return l.f.send(ctx, model.Logged{Source: l.what.Source, Events: p.Events, Ended: p.Ended})
}

// disk tells what lies on disk behind the position.
func (l *logReader) disk(ctx context.Context) {
	if l.f.opts.Home == nil {
		return
	}
	disk, err := offline.Open(l.f.opts.Home)
	if err != nil {
		return
	}
	defer disk.Close()
	for ctx.Err() == nil {
		page, err := disk.RunLog(ctx, l.what.Run, l.at.After, wire.MaxRunLogPageEvents, l.at.Tail)
		if err != nil {
			return
		}
		l.at.Take(&page, true)
		if len(page.Events) > 0 && !l.tell(ctx, page) || !page.More {
			return
		}
	}
}
