package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"scv/internal/agent"
	"scv/internal/daemon/desk"
	"scv/internal/daemon/ground"
	"scv/internal/daemon/machine"
	"scv/internal/daemon/referee"
	"scv/internal/daemon/server"
	"scv/internal/run"
	"scv/internal/run/proc"
	"scv/internal/run/runlog"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// Memory is given back once, settleAfter the start, and whenever nothing was written for restAfter. Then the daemon has
// nothing to do, and the timer is not started again before there is something to write.
const (
	settleAfter = time.Second
	restAfter   = 30 * time.Second
)

// A bench is the recovered workbench: the ledger, the hub over it, and the launcher of runs.
type bench struct {
	served server.Workbench
	store  *ledger.Store
	hub    *hub.Hub

	abandoned *atomic.Bool // the home is gone
	launcher  *run.Launcher
	desk      *desk.Desk
	rest      *time.Timer
	began     time.Time
	adopted   int
	broke     chan struct{} // closed when the hub has ended
	failure   error         // why; read after broke
	hubCtx    context.Context
	cancel    context.CancelFunc
	wg        sync.WaitGroup
}

// recovered opens the ledger and starts the hub from it. Live runs are then looked for by the launcher.
func recovered(ctx context.Context, opt Options, log *slog.Logger, more func() string) (*bench, error) {
	began := opt.Now()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a collection in the middle of the loading costs a fifth of it
	store, loaded, err := openLedger(ctx, opt, log)
	if err != nil {
		return nil, err
	}
	plans := ground.Plans(loaded)
	port := &hubPort{}
	set := newSettings(opt, port, log)
	notify := runlog.NewNotifier()
	site := newSite(opt, set, port, log)
	screens := desk.New(ctx, desk.Options{Home: opt.Home, Mask: set.mask, Log: log})
	var abandoned atomic.Bool
	launcher := run.New(ctx, run.Config{
		Home: opt.Home, Hub: port, Saved: port.saved, Ground: site, Kinds: set.find, Offered: set.offered, Mask: set.mask,
		Original: store.Original, Notify: notify, Terminals: screens, Exe: opt.Exe, Environ: opt.Environ, HomeID: loaded.HomeID,
		Version: opt.Version, Log: log, Now: opt.Now, Abandoned: abandoned.Load,
	})
	ended := make(chan struct{}, 1)
	rest := time.AfterFunc(settleAfter, func() {
		debug.FreeOSMemory()
		if err := proc.DropOwnFile(); err != nil {
			log.Debug("memory that is not needed now is kept", "error", err)
		}
	})
	h := hub.New(hub.Options{
		Journal: journal{archive: store, ended: ended, rest: rest}, Launcher: launcher, Loaded: loaded, Limits: set.limits(), Now: opt.Now,
		Random: randomHex, UUID: uuid, Log: log, DefaultMode: set.mode, AfterLimit: set.afterLimit, Budget: set.budget, Transport: set.transport, Terminal: set.terminal,
		ApprovalWait: set.now().config.Approvals.Wait, Machine: proc.MachineID(),
	})
	port.hub.Store(h)
	b := &bench{
		store: store, hub: h, abandoned: &abandoned, launcher: launcher, desk: screens, began: began, adopted: liveRuns(loaded), broke: make(chan struct{}), rest: rest,
		served: server.Workbench{
			Hub: h, Records: store, Home: opt.Home, HomeID: loaded.HomeID, Mask: set.mask, Notify: notify, Screens: screens,
			Reread: set.reread, Agents: set.names, Mode: set.workspaceMode, Fits: set.fits, Problems: set.problems(loaded.Lost, more),
			Reviewers: set.reviewers, Journal: func() string { return fmt.Sprintf("rev-%d-%s", opt.Now().Unix(), randomHex(6)) },
			Trees: site.Trees, Work: site.Work, Ground: site,
		},
	}
	b.attend(ctx, opt, log, background{
		site: site, plans: plans, keep: set.keep, over: endedRuns(loaded), ended: ended,
		referee: referee.New(referee.Config{Hub: h, Records: store, Ground: site, Mask: set.mask, Log: log, Now: opt.Now}),
	})
	b.served.Talks = ledger.TalksOf(store)
	if b.served.Sessions, err = newSessions(b.hubCtx, opt, log, b, set); err != nil {
		return nil, errors.Join(err, b.close(context.WithoutCancel(ctx)))
	}
	return b, nil
}

// background is what goes on beside the requests.
type background struct {
	site  *ground.Ground
	plans []string
	keep  func() time.Duration
	over  []wire.RunHandle
	ended <-chan struct{}

	referee *referee.Referee
}

func (b *bench) attend(ctx context.Context, opt Options, log *slog.Logger, w background) {
	// The hub ends after everything else: what the launcher still reports while it lets go has to be kept.
	hubCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.hubCtx, b.cancel = hubCtx, cancel
	b.wg.Go(func() {
		defer close(b.broke)
		b.failure = b.hub.Run(hubCtx)
	})
	b.wg.Go(func() { tellMemory(hubCtx, b.hub) })
	b.wg.Go(func() {
		w.site.Settle(hubCtx, w.plans)
		w.site.Run(hubCtx)
	})
	b.wg.Go(func() { b.launcher.Tidy(w.over) })
	b.wg.Go(func() { w.referee.Run(ctx) })
	keep := retainer{
		home: opt.Home, store: b.store, hub: b.hub, log: log, now: opt.Now, keep: w.keep,
	}
	b.wg.Go(func() { keep.run(hubCtx, w.ended) })
}

// newSite is the ground of a home's runs.
func newSite(opt Options, set *settings, port *hubPort, log *slog.Logger) *ground.Ground {
	return ground.New(ground.Config{
		Home: opt.Home, Environ: opt.Environ, Random: randomHex, Room: set.room, Caches: set.caches,
		Variables: func() []string { return agent.Environment(opt.Environ, agent.Kind{}, agent.Launch{}, nil) }, Hub: port.hub.Load, Log: log, Now: opt.Now,
	})
}

// endedRuns are the runs that were over when the ledger was last written.
func endedRuns(l row.Loaded) (ended []wire.RunHandle) {
	for _, r := range l.Runs {
		if !r.Live {
			ended = append(ended, r.Handle)
		}
	}
	return ended
}

func liveRuns(l row.Loaded) int {
	n := 0
	for _, r := range l.Runs {
		if r.Live {
			n++
		}
	}
	return n
}

// stopAll ends every run and waits for that, but not for ever: the shims see to the rest.
func (b *bench) stopAll(ctx context.Context) {
	b.abandoned.Store(true) // the ledger went with the home, so no wish can be put on disk
	b.launcher.WakeAll()
	timer := time.NewTimer(2 * patience)
	defer timer.Stop()
	select {
	case <-b.hub.Idle():
	case <-ctx.Done():
	case <-timer.C:
	}
}

// close lets go of the runs, which go on, saves what is left and closes the ledger.
func (b *bench) close(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, patience)
	if b.served.Sessions != nil {
		b.served.Sessions.Close(bounded)
	}
	b.hub.Rest(bounded)
	b.launcher.Shutdown(bounded)
	b.desk.Leave()
	cancel()
	b.cancel()
	b.wg.Wait()
	b.rest.Stop()
	err := b.failure
	if closeErr := b.store.Close(ctx); err == nil {
		err = closeErr
	}
	return err
}

// tellMemory reads the free memory whenever the hub wants to know it, and never else.
func tellMemory(ctx context.Context, h *hub.Hub) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.WantsMemory():
			if free, ok := machine.FreeMemory(); ok {
				h.Memory(free)
			}
		}
	}
}

// A hubPort lets the launcher be made before the hub that it reports to. The hub is set before it runs, and so before
// anything is launched.
type hubPort struct{ hub atomic.Pointer[hub.Hub] }

// Report implements run.HubPort.
func (p *hubPort) Report(h wire.RunHandle, steps []row.Step) { p.hub.Load().Runs().Report(h, steps) }

// Life implements run.HubPort.
func (p *hubPort) Life(h wire.RunHandle, life row.Life) { p.hub.Load().Runs().Life(h, life) }

// Wishes implements run.HubPort.
func (p *hubPort) Wishes(h wire.RunHandle) row.Wishes { return p.hub.Load().Runs().Wishes(h) }

// saved implements run.Config.Saved.
func (p *hubPort) saved(ctx context.Context, h wire.RunHandle) error {
	return p.hub.Load().Runs().Saved(h).Wait(ctx)
}

func randomHex(n int) string {
	b := make([]byte, (n+1)/2)
	rand.Read(b) //nolint:errcheck // never fails
	return hex.EncodeToString(b)[:n]
}

func uuid() string {
	s := []byte(randomHex(32))
	s[12] = '4'
	s[16] = "89ab"[s[16]&3]
	return fmt.Sprintf("%s-%s-%s-%s-%s", s[:8], s[8:12], s[12:16], s[16:20], s[20:])
}
