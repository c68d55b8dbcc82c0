package daemon

import (
	"log/slog"

	"scv/internal/daemon/ground"
	"scv/internal/repo"
	"scv/internal/repo/work"
	"scv/internal/run/proc"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// newGround is the ground of a home's runs. Without the boot's id locks of an earlier start of the machine stay.
func newGround(opt Options, h func() *hub.Hub, log *slog.Logger) *ground.Ground {
	boot, err := proc.BootID()
	if err != nil {
		log.Warn("the machine's boot id cannot be read", "error", err)
	}
	trees := repo.New(repo.Options{Home: opt.Home, Environ: opt.Environ, Random: randomHex, Now: opt.Now, Boot: boot})
	room := repo.Room{Floor: uint64(max(opt.Config.Worktrees.FloorMB, 0)) << 20, Most: uint64(max(opt.Config.Worktrees.MaxMB, 0)) << 20}
	return ground.New(ground.Config{Home: opt.Home, Trees: trees, Work: work.New(trees), Room: room, Hub: h, Log: log, Now: opt.Now})
}

// plansOf are the worktrees that the ledger knows of.
func plansOf(l row.Loaded) (plans []string) {
	for i := range l.Conversations {
		if p := l.Conversations[i].Plan; p != "" {
			plans = append(plans, p)
		}
	}
	return plans
}
