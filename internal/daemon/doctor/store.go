package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"scv/internal/home"
	"scv/internal/safe/plain"
	"scv/internal/workbench/ledger"
)

// rebuildCommand makes a ledger anew.
const rebuildCommand = "scv stop; scv doctor --rebuild-ledger"

// ledgerState reads every page of the ledger.
func ledgerState(ctx context.Context, p Patient) []Finding {
	info, err := p.Home.Root().Lstat("state/ledger.db")
	if ledger.Missing(p.Home) {
		return one(Finding{Check: "ledger", Verdict: Problem, Text: "the ledger is missing; the next start builds it anew", Fix: "scv start"})
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return ok("ledger", "no job was started here yet")
	}
	if err == nil {
		err = ledger.Sound(ctx, p.Home.LedgerPath())
	}
	if newer, is := errors.AsType[*ledger.NewerLayoutError](err); is {
		return one(Finding{Check: "ledger", Verdict: Problem, Text: newer.Error(), Fix: "use the newer scv"})
	}
	if err != nil {
		return one(Finding{Check: "ledger", Verdict: Problem, Text: err.Error(), Fix: rebuildCommand})
	}
	return ok("ledger", fmt.Sprintf("sound, %d KiB", info.Size()>>10))
}

func copies(ctx context.Context, p Patient) []Finding {
	list := ledger.Copies(p.Home)
	if len(list) == 0 {
		return ok("copy", "there is none of the ledger yet; each clean stop makes one")
	}
	for _, path := range list {
		if err := ledger.Sound(ctx, path); err != nil {
			return one(Finding{Check: "copy", Verdict: Warn, Text: home.Pretty(path) + ": " + err.Error(), Fix: "rm " + home.Pretty(path)})
		}
	}
	return ok("copy", plain.Count(len(list), "sound copy")+" of the ledger")
}

// wishes reads accepted.jsonl.
func wishes(_ context.Context, p Patient) []Finding {
	lines, bad := 0, 0
	for _, err := range ledger.Accepted(p.Home) {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return ok("accepted", "nothing was asked for yet")
		case err != nil:
			bad++
		default:
			lines++
		}
	}
	if bad > 0 {
		return one(Finding{
			Check: "accepted", Verdict: Warn, Text: fmt.Sprintf("%s of accepted.jsonl cannot be read, %s can; it counts only when the ledger is lost", plain.Count(bad, "line"), plain.Count(lines, "line")),
			Fix: "keep the ledger's copies: ls " + home.Pretty(p.Home.Path()) + "/state",
		})
	}
	return ok("accepted", plain.Count(lines, "line"))
}

// leftovers are files that a daemon which was killed at the wrong moment left, and ledgers that were set aside.
func leftovers(_ context.Context, p Patient) (out []Finding) {
	entries, err := fs.ReadDir(p.Home.Root().FS(), "state")
	if err != nil {
		return one(Finding{Check: "files", Verdict: Problem, Text: err.Error(), Fix: "ls -l " + home.Pretty(p.Home.Path())})
	}
	for _, e := range entries {
		name, path := "state/"+e.Name(), home.Pretty(p.Home.Path()+"/state/"+e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "broken-"):
			out = append(out, Finding{Check: "files", Verdict: Warn, Text: path + " holds a ledger that was set aside", Fix: "when all is well: rm -r " + path})
		case strings.HasSuffix(e.Name(), ".new"), strings.HasPrefix(e.Name(), "ledger.draft"), e.Name() == "daemon.log.try":
			out = append(out, Finding{
				Check: "files", Verdict: Warn, Text: path + " was left half-made", Fix: "scv doctor --fix", alone: true,
				mend: func() error { return p.Home.Root().Remove(name) },
			})
		}
	}
	return out
}
