package feed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"scv/internal/client"
	"scv/internal/ui/tui/model"
	"scv/internal/wire"
)

// Bounds of a session that is open.
const (
	heardAhead   = 256     // events that are read before the model takes them
	utteredAhead = 64      // requests that wait for the daemon
	shownBytes   = 1 << 20 // of the history, about; the rest is read with scv sessions show
	shownFiles   = 2000    // of a directory that are looked at for completing a path
	toldFiles    = 20      // of those that fit
)

// A talking is the session that is open. Its goroutine owns all but the channel and the way to end it, which are the
// feed's owner's.
type talking struct {
	f       *Feed
	what    model.Join
	uttered chan wire.ClientMessage // nil: what stands before it is sent, then the session is left
	end     context.CancelFunc
	serving atomic.Bool
}

// Join opens a session, in place of the one before, and joins it anew whenever the daemon was away.
func (f *Feed) Join(what model.Join) {
	f.Part()
	ctx, end := context.WithCancel(f.ctx)
	t := &talking{f: f, what: what, uttered: make(chan wire.ClientMessage, utteredAhead), end: end}
	f.talk = t
	f.spawn(func() {
		defer end()
		for t.once(ctx) && pause(ctx, retryPause) { //nolint:revive // the work is in the condition
		}
	})
}

// Part leaves the session that is open, which goes on. What was uttered before is sent first.
func (f *Feed) Part() {
	t := f.talk
	if f.talk = nil; t == nil {
		return
	}
	if t.serving.Load() {
		select {
		case t.uttered <- nil:
			return
		default:
		}
	}
	t.end()
}

// Utter hands the open session a request. It never waits: what does not fit, while the daemon takes nothing, is told as
// not sent.
func (f *Feed) Utter(u model.Utter) error {
	if f.talk == nil {
		return nil
	}
	select {
	case f.talk.uttered <- u.Message:
		return nil
	default:
		return errors.New("the daemon takes nothing at the moment; that was not sent")
	}
}

// once joins the session and passes on what it tells until the connection ends. It reports whether to try again.
func (t *talking) once(ctx context.Context) bool {
	conn, talk, err := t.enter(ctx)
	if err == nil {
		t.what.Session = talk.ID() // a new one is joined again, not begun again
		err = t.tell(ctx, talk)
		if err == nil {
			t.serving.Store(true)
			err = t.serve(ctx, talk)
			t.serving.Store(false)
		}
	}
	if conn != nil {
		conn.Close()
	}
	t.drain()
	_, refused := errors.AsType[*wire.Error](err)
	if !refused {
		err = errors.New(why(err))
	}
	return t.f.send(ctx, model.Parted{Source: t.what.Source, Err: err, Over: refused}) && !refused
}

// drain forgets what was not sent: the model has it, and finds that the session does not.
func (t *talking) drain() {
	for {
		select {
		case m := <-t.uttered:
			if m == nil {
				t.end()
			}
		default:
			return
		}
	}
}

func (t *talking) enter(ctx context.Context) (*client.Conn, *client.Talk, error) {
	dialing, cancel := context.WithTimeoutCause(ctx, callPatience, client.ErrSilent)
	defer cancel()
	if t.f.opts.Start != nil && t.what.Session == "" {
		if err := t.f.opts.Start(dialing); err != nil {
			return nil, nil, err
		}
	}
	target := t.f.opts.Target
	conn, err := client.Dial(dialing, target, target.Client)
	if err != nil {
		return nil, nil, err
	}
	var talk *client.Talk
	if t.what.Session != "" {
		talk, err = client.AttachTalk(dialing, conn, t.what.Session, t.what.Cwd)
	} else {
		talk, err = client.StartTalk(dialing, conn, wire.SessionStart{Cwd: t.what.Cwd, Keep: new(true), Restore: t.what.Restore})
	}
	return conn, talk, err
}

// tell reads what was said up to the moment of joining, and hands it on.
func (t *talking) tell(ctx context.Context, talk *client.Talk) error {
	msg := model.Joined{Source: t.what.Source, Started: talk.Started}
	conn, err := client.Dial(ctx, t.f.opts.Target, t.f.opts.Target.Client)
	if err != nil {
		return err
	}
	defer conn.Close()
	var before uint64
	if n := talk.Started.History; n != nil {
		before = *n
	}
	for size := 0; talk.Started.History == nil || before > 0; {
		st, err := conn.Call(ctx, wire.SessionHistoryCommand{Session: talk.ID(), Before: before})
		if err != nil {
			return err
		}
		page := st.SessionHistory
		if page == nil {
			break
		}
		msg.History = append(msg.History, page.Messages...)
		for i := range page.Messages {
			size += len(page.Messages[i].Text)
			for _, r := range page.Messages[i].Results {
				size += len(r.Text)
			}
		}
		if page.Before == nil {
			break
		}
		if before = *page.Before; size > shownBytes {
			msg.More = true
			break
		}
	}
	if !t.f.send(ctx, msg) {
		return ctx.Err()
	}
	return nil
}

// serve sends what is uttered and passes on what comes, many events at once when they come faster than they are taken.
func (t *talking) serve(ctx context.Context, talk *client.Talk) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, failed := make(chan wire.ServerEvent, heardAhead), make(chan error, 1)
	t.f.spawn(func() {
		defer close(events)
		for {
			e, err := talk.Next(ctx)
			if err != nil {
				failed <- err
				return
			}
			select {
			case events <- e:
			case <-ctx.Done():
				failed <- ctx.Err()
				return
			}
		}
	})
	for {
		select {
		case m := <-t.uttered:
			if m == nil {
				t.end()
				return context.Canceled
			}
			if err := talk.Send(ctx, m); err != nil {
				return err
			}
		case e, ok := <-events:
			if !ok {
				return <-failed
			}
			batch := []wire.ServerEvent{e}
			for len(events) > 0 {
				batch = append(batch, <-events)
			}
			if !t.f.send(ctx, model.Heard{Source: t.what.Source, Events: batch}) {
				return ctx.Err()
			}
		}
	}
}

// absolute is a path as it is meant in a directory.
func absolute(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// completion is a path as far as all files agree that begin like it, and their names.
func completion(dir, path string) (whole string, names []string) {
	folder, begin := filepath.Split(path)
	at, err := os.Open(absolute(dir, folder))
	if err != nil {
		return path, nil
	}
	defer at.Close()
	entries, _ := at.ReadDir(shownFiles) // what was read before an error still fits
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, begin) || begin == "" && strings.HasPrefix(name, ".") {
			continue
		}
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return path, nil
	}
	slices.Sort(names)
	first, last := names[0], names[len(names)-1]
	n := 0
	for n < len(first) && n < len(last) && first[n] == last[n] {
		n++
	}
	if len(names) > toldFiles {
		names = append(names[:toldFiles], fmt.Sprintf("and %d more", len(names)-toldFiles))
	}
	return folder + strings.ToValidUTF8(first[:n], ""), names
}
