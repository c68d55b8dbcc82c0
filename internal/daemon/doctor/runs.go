package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"scv/internal/home"
	"scv/internal/run/control"
	"scv/internal/run/proc"
	"scv/internal/safe/plain"
	"scv/internal/wire"
	"scv/internal/workbench/ledger"
)

// patience bounds the wait for a shim's answer.
const patience = 2 * time.Second

// runs compares the directories of runs with the ledger's rows.
func runs(ctx context.Context, p Patient) []Finding {
	rows, err := rowsOf(ctx, p.Home)
	if err != nil {
		return one(Finding{Check: "runs", Verdict: Warn, Text: "they cannot be compared with the ledger: " + err.Error(), Fix: "scv doctor"})
	}
	entries, err := fs.ReadDir(p.Home.Root().FS(), "runs")
	if err != nil {
		return one(Finding{Check: "runs", Verdict: Problem, Text: err.Error(), Fix: "ls -l " + home.Pretty(p.Home.Path())})
	}
	var out []Finding
	there := map[wire.RunHandle]bool{}
	unknown := 0
	for _, e := range entries {
		handle := wire.RunHandle(e.Name())
		live, known := rows[handle]
		there[handle] = true
		path := home.Pretty(p.Home.RunDir(handle))
		switch {
		case !e.IsDir():
			out = append(out, Finding{Check: "runs", Verdict: Problem, Text: path + " is no folder; somebody put it there", Fix: "ls -l " + path})
		case !known:
			unknown++
		case !live:
			out = append(out, leftSpool(p, handle)...)
		}
	}
	for handle, live := range rows {
		if live && !there[handle] {
			out = append(out, Finding{Check: "runs", Verdict: Problem, Text: fmt.Sprintf("the folder of %s, which may be alive, is gone", handle), Fix: "scv agents ps"})
		}
	}
	if unknown > 0 {
		out = append(out, Finding{
			Check: "runs", Verdict: Warn, Text: plain.Count(unknown, "folder") + " of runs that the ledger does not know; their logs stay", Fix: "ls " + home.Pretty(p.Home.Path()) + "/runs",
		})
	}
	if len(out) == 0 {
		return ok("runs", plain.Count(len(entries), "folder")+", each as the ledger says")
	}
	return out
}

func rowsOf(ctx context.Context, h *home.Home) (map[wire.RunHandle]bool, error) {
	r, err := ledger.OpenReader(ctx, h)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Runs(ctx)
}

// leftSpool finds raw text of a run that is over.
func leftSpool(p Patient, handle wire.RunHandle) []Finding {
	spool := "runs/" + string(handle) + "/" + control.SpoolName
	if _, err := p.Home.Root().Lstat(spool); err != nil {
		return nil
	}
	if was, err := control.Probe(p.Home.RunDir(handle)); err != nil || was.Life != control.LifeEnded {
		return nil
	}
	return one(Finding{
		Check: "spool", Verdict: Warn, Text: "unmasked text of " + string(handle) + ", which is over, was left", Fix: "scv doctor --fix", alone: true,
		mend: func() error { return p.Home.Root().RemoveAll(spool) },
	})
}

// sockets are those of shims that are gone.
func sockets(_ context.Context, p Patient) (out []Finding) {
	entries, err := fs.ReadDir(p.Home.Root().FS(), "state/ctl")
	if err != nil {
		return one(Finding{Check: "sockets", Verdict: Problem, Text: err.Error(), Fix: "scv start"})
	}
	for _, e := range entries {
		path := p.Home.Path() + "/state/ctl/" + e.Name()
		if e.IsDir() {
			out = append(out, Finding{
				Check: "sockets", Verdict: Warn, Fix: "mv " + home.Pretty(path) + " /tmp/",
				Text: home.Pretty(path) + " is a folder, and may be in the place of a shim's socket; move it away and its run is found again",
			})
			continue
		}
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		if err == nil {
			conn.Close()
			continue
		}
		if !errors.Is(err, syscall.ECONNREFUSED) || e.Type() != fs.ModeSocket {
			continue // it cannot be told
		}
		out = append(out, Finding{
			Check: "sockets", Verdict: Warn, Text: home.Pretty(path) + " was left by a shim that is gone", Fix: "scv doctor --fix", alone: true,
			mend: func() error { return os.Remove(path) },
		})
	}
	if len(out) == 0 {
		return ok("sockets", plain.Count(len(entries), "socket")+" of shims, each of which answers")
	}
	return out
}

// strays are processes that carry the mark of a run of this home whose shim is gone.
func strays(ctx context.Context, p Patient) (out []Finding) {
	all, err := proc.All()
	if err != nil {
		return one(Finding{Check: "processes", Verdict: Warn, Text: "the process table cannot be read: " + err.Error(), Fix: "ps ax"})
	}
	found := map[string][]int{}
	for _, process := range all {
		handle, marked, err := proc.Environment(process.PID, control.MarkerName)
		if err != nil || !marked || process.Zombie || process.PID == os.Getpid() || !ours(p, process) {
			continue
		}
		if over(ctx, p, wire.RunHandle(handle)) {
			found[handle] = append(found[handle], process.PID)
		}
	}
	for handle, pids := range found {
		slices.Sort(pids)
		out = append(out, Finding{
			Check: "processes", Verdict: Problem, Fix: "scv doctor --fix", alone: true,
			Text: fmt.Sprintf("%s of %s, which is over, still run: %s", count(len(pids)), handle, numbers(pids)),
			mend: func() error {
				_, err := proc.KillMarked(ctx.Done(), control.MarkerName, handle, func(q proc.Process) bool { return !ours(p, q) })
				return err
			},
		})
	}
	if len(out) == 0 {
		return ok("processes", "none is left of a run that is over")
	}
	return out
}

// over reports whether a run surely has no shim any more: its lock is free, and nothing else speaks for its shim.
func over(ctx context.Context, p Patient, handle wire.RunHandle) bool {
	life, err := control.Probe(p.Home.RunDir(handle))
	if err != nil || life.Life == control.LifeHeld {
		return false
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	link, err := control.Answers(bounded, life, string(handle), p.Home.CtlSocket(handle))
	if link != nil {
		_ = link.Close() // it lives
	}
	return err == nil && link == nil
}

// ours reports whether a marked process belongs to a run of this home; one that cannot be looked into does not.
func ours(p Patient, process proc.Process) bool {
	chain, found, err := proc.Environment(process.PID, "SCV_PARENT")
	return err == nil && found && strings.Contains(chain, p.Home.Instance()+"/")
}

func numbers(pids []int) string {
	var out []string
	for _, pid := range pids {
		out = append(out, fmt.Sprint(pid))
	}
	return strings.Join(out, ", ")
}

func count(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}
