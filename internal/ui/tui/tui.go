// Package tui is the dashboard: one loop that owns the model, takes keys from the terminal and messages from the daemon,
// and draws when something differs. The parts are model (state), view (rows), term (the terminal) and feed (the daemon);
// this package joins them and does what the model asks to be done outside.
//
// While nothing happens the loop sleeps: nothing ticks, nothing is written. Changes of the daemon are drawn at most ten
// times a second, keys at once.
package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"scv/internal/ui/tui/feed"
	"scv/internal/ui/tui/model"
	"scv/internal/ui/tui/term"
	"scv/internal/ui/tui/view"
	"scv/internal/wire"
)

const (
	// redrawPause is the least time between two redraws for the daemon's changes (ux.md section 3).
	redrawPause = 100 * time.Millisecond
	// terminalPause is the same for an agent's terminal in which the owner types (E19).
	terminalPause = 33 * time.Millisecond
	// stuck is how long a terminal may take nothing before the dashboard leaves without it.
	stuck = time.Second
)

// Options say what the dashboard shows and what it may use.
type Options struct {
	Model model.Options
	Feed  feed.Options
	Env   func(name string) string
	Out   io.Writer // for plain lines
	Now   func() time.Time
	Plain bool // lines without cursor movement from the start
	// Exit ends the process at once; it is called only when the terminal takes nothing any more.
	Exit func(code int)
}

// Run shows the dashboard until the owner leaves (nil) or ctx ends. The terminal is given back as it was in every case, a
// panic included, which comes back as an error. The daemon and its jobs go on. ErrNoTerminal of package term says that
// there is nothing to draw on.
func Run(ctx context.Context, opts Options) error {
	inner, cancel := context.WithCancel(ctx)
	f := feed.New(inner, opts.Feed)
	defer f.Wait()
	defer cancel()
	if !opts.Plain {
		data, goOn, err := drawn(ctx, opts, f)
		if err != nil || !goOn {
			return err
		}
		return plainly(ctx, opts, f, data)
	}
	f.Watch()
	return plainly(ctx, opts, f, nil)
}

// drawn shows the dashboard on the terminal. It reports what was shown last, and whether to go on in plain lines.
func drawn(ctx context.Context, opts Options, f *feed.Feed) (data *wire.Snapshot, goOn bool, err error) {
	screen, err := term.Open(opts.Env)
	if err != nil {
		return nil, false, err
	}
	opts.Model.Place = feed.Recall(opts.Feed.Home)
	d := &dashboard{opts: opts, feed: f, screen: screen, model: model.New(opts.Model), back: make(chan func(), 1)}
	left := make(chan struct{})
	go d.abandon(ctx, left)
	defer func() {
		p := recover()
		screen.Close(opts.Now())
		close(left)
		feed.Remember(opts.Feed.Home, d.model.List.Place())
		if p != nil {
			err = fmt.Errorf("the dashboard failed: %v", p)
		}
	}()
	err = d.loop(ctx)
	return d.model.Data, d.plain, err
}

// A dashboard belongs to the goroutine of its loop.
type dashboard struct {
	opts   Options
	feed   *feed.Feed
	screen *term.Screen
	model  *model.Model
	back   chan func() // what a program that had the terminal leaves to be done
	busy   bool        // a program has the terminal
	over   bool        // the owner left
	plain  bool        // for plain lines
	drawn  time.Time
}

// abandon leaves a terminal that takes nothing: a write to it would wait for ever, and with it the end that was asked for.
func (d *dashboard) abandon(ctx context.Context, left <-chan struct{}) {
	select {
	case <-left:
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(stuck)
	defer timer.Stop()
	select {
	case <-left:
	case <-timer.C:
		d.screen.Abandon()
		d.opts.Exit(1)
	}
}

func (d *dashboard) loop(ctx context.Context) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTSTP, syscall.SIGCONT)
	defer signal.Stop(signals)
	cols, rows := d.screen.Size()
	d.update(ctx, model.Resized{Cols: cols, Rows: rows})
	d.feed.Watch()
	d.feed.FindAgents()
	d.draw()
	if err := d.screen.Ask(d.opts.Now()); err != nil {
		return err
	}
	later := time.NewTimer(time.Hour)
	later.Stop()
	defer later.Stop()
	for !d.over {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case p := <-d.feed.Broken():
			return fmt.Errorf("the dashboard failed: %v", p)
		case event, ok := <-d.screen.Events():
			if !ok || term.Gone(event) {
				return term.ErrGone
			}
			if msg, ok := d.screen.Take(event); ok {
				d.update(ctx, msg)
				if _, resized := msg.(model.Resized); resized {
					d.soon(later)
				} else {
					d.draw()
				}
			}
		case <-d.screen.Sizes():
			d.screen.Measure()
		case answer := <-d.screen.Answers():
			if d.screen.Learn(answer) {
				d.draw()
			}
		case msg := <-d.feed.Messages():
			d.update(ctx, msg)
			d.soon(later)
		case then := <-d.back:
			then()
			d.draw()
		case sig := <-signals:
			d.signalled(sig)
		case <-later.C:
			d.draw()
		}
	}
	return nil
}

// soon draws now, or when the pause after the last drawing is over. Who types into a terminal sees it sooner.
func (d *dashboard) soon(later *time.Timer) {
	pause := redrawPause
	if d.model.Focus == model.OnTerminal {
		pause = terminalPause
	}
	if since := d.opts.Now().Sub(d.drawn); since < pause {
		later.Reset(pause - since)
		return
	}
	d.draw()
}

func (d *dashboard) draw() {
	if d.busy || d.over {
		return
	}
	if d.screen.Draw(view.View(d.model)) {
		d.drawn = d.opts.Now()
	}
}

func (d *dashboard) update(ctx context.Context, msg model.Msg) {
	for _, effect := range d.model.Update(msg, d.opts.Now()) {
		d.do(ctx, effect)
	}
}

// do does what the model wants to be done.
func (d *dashboard) do(ctx context.Context, effect model.Effect) {
	switch e := effect.(type) {
	case model.Call:
		d.feed.Call(e)
	case model.Start:
		d.feed.Start(e)
	case model.Compare:
		d.feed.Compare(e)
	case model.Attach:
		d.feed.Attach(e)
	case model.Type:
		if err := d.feed.Type(e.Text); err != nil {
			d.update(ctx, model.Noted{Text: err.Error()})
		}
	case model.Window:
		d.feed.Window(e.Cols, e.Rows)
	case model.Follow:
		d.feed.Follow(e)
	case model.Join:
		d.feed.Join(e)
	case model.Utter:
		if err := d.feed.Utter(e); err != nil {
			d.update(ctx, model.Told{Text: err.Error(), Bad: true})
		}
	case model.Part:
		d.feed.Part()
	case model.Probe, model.Complete, model.Prompts, model.KeepPrompt:
		d.feed.Look(e)
	case model.Edit:
		d.edit(ctx, e)
	case model.Page:
		d.page(ctx, e.Text)
	case model.Copy:
		d.copy(ctx, e)
	case model.Do:
		d.doPlain(e)
	}
}

func (d *dashboard) doPlain(e model.Do) {
	switch e {
	case model.Quit:
		d.over = true
	case model.Plain:
		d.over, d.plain = true, true
	case model.Suspend:
		d.suspend()
	case model.Redraw:
		d.screen.Redraw()
	case model.MouseOn, model.MouseAll, model.MouseOff:
		d.screen.Mouse(e)
	case model.FocusOn, model.FocusOff:
		d.screen.Focus(e == model.FocusOn)
	case model.StartThere:
		d.feed.StartDaemon()
	case model.FindAgents:
		d.feed.FindAgents()
	case model.LetGo:
		d.feed.LetGo()
	}
}

// signalled takes a stop or a continuation that came from outside.
func (d *dashboard) signalled(sig os.Signal) {
	switch {
	case d.busy:
	case sig == syscall.SIGTSTP:
		d.suspend()
	default: // something else had the terminal meanwhile
		d.screen.Redraw()
	}
}

// suspend stops this process as ctrl-z does, with the terminal given back, and draws anew when it goes on.
func (d *dashboard) suspend() {
	if err := d.screen.Suspend(d.opts.Now()); err != nil {
		return
	}
	_ = syscall.Kill(0, syscall.SIGSTOP)
	if err := d.screen.Resume(); err == nil {
		d.draw()
	}
}
