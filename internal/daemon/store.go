package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"scv/internal/daemon/seat"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/rebuild"
	"scv/internal/workbench/row"
)

// openLedger opens the home's ledger and reads what a start needs. One that is missing or damaged is built anew from
// what lies beside it, and Loaded.Lost says so; one of a newer layout is refused and nothing is touched.
func openLedger(ctx context.Context, opt Options, log *slog.Logger) (*ledger.Store, row.Loaded, error) {
	if ledger.Missing(opt.Home) {
		return rebuilt(ctx, opt, log)
	}
	store, loaded, err := loadLedger(ctx, opt, log)
	if ledger.Broken(err) {
		log.Error("the ledger is damaged and is built anew", "error", err)
		return rebuilt(ctx, opt, log)
	}
	return store, loaded, err
}

// Rebuild builds a home's ledger anew, while no daemon runs, and tells what was done.
func Rebuild(ctx context.Context, opt Options) (string, error) {
	opt = opt.withDefaults()
	lock, err := seat.TakeLock(opt.Home)
	if err != nil {
		return "", err
	}
	defer lock.Release()
	report, err := rebuild.Run(ctx, opt.Home, slog.New(slog.DiscardHandler), opt.Now())
	return report.Sentence(), err
}

// rest leaves a copy of the ledger behind, when the daemon ends in order.
func (d *dynasty) rest(ctx context.Context, ended error) {
	if ended != nil {
		return
	}
	if err := ledger.KeepCopy(d.opt.Home); err != nil {
		d.log.Warn("no copy of the ledger was made", "error", err)
		return
	}
	if days := d.opt.latest().Retention.Days; days > 0 {
		now := d.opt.Now()
		if err := ledger.TrimAccepted(ctx, d.opt.Home, now, now.AddDate(0, 0, -days)); err != nil {
			d.log.Warn("accepted.jsonl was not made shorter", "error", err)
		}
	}
}

func rebuilt(ctx context.Context, opt Options, log *slog.Logger) (*ledger.Store, row.Loaded, error) {
	report, err := rebuild.Run(ctx, opt.Home, log, opt.Now())
	if err != nil {
		return nil, row.Loaded{}, err
	}
	store, loaded, err := loadLedger(ctx, opt, log)
	loaded.Lost = report.Sentence()
	return store, loaded, err
}

func loadLedger(ctx context.Context, opt Options, log *slog.Logger) (*ledger.Store, row.Loaded, error) {
	store, err := ledger.Open(ctx, opt.Home, log)
	if err != nil {
		return nil, row.Loaded{}, err
	}
	loaded, err := store.Load(ctx)
	if err != nil {
		return nil, loaded, errors.Join(fmt.Errorf("read the ledger: %w", err), store.Close(context.WithoutCancel(ctx)))
	}
	return store, loaded, nil
}
