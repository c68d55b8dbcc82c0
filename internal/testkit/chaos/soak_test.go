//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/testkit/census"
	"scv/internal/wire"
)

// What the soak keeps alive.
const (
	soakRuns     = 50
	soakReaders  = 15
	soakDeaf     = 5
	soakMessages = 60
)

// A sample is what a daemon holds at a moment.
type sample struct{ kib, descriptors, threads int }

func (l *lab) sample() sample {
	pid := l.d.cmd.Process.Pid
	return sample{census.Memory(pid), len(census.Descriptors(pid)), census.Threads(pid)}
}

// TestS6_S11_Soak: fifty runs at a time, clients that come and go, some of which never read, daemons and shims that are
// killed. Afterwards every log is whole, and in the last part, which has one daemon, what it holds does not grow.
func TestS6_S11_Soak(t *testing.T) {
	seed := seed(t)
	l := newLab(t)
	l.restart()
	ctx, stop := context.WithTimeout(l.ctx, *soakFlag)
	defer stop()
	var wg sync.WaitGroup
	for i := range soakReaders {
		wg.Go(func() { l.comeAndGo(ctx, random(seed, uint64(i))) })
	}
	for range soakDeaf {
		wg.Go(func() { l.neverRead(ctx) })
	}
	s := &soak{lab: l, random: random(seed, 99), harmed: map[wire.RunHandle]bool{}}
	wg.Go(func() { s.feed(ctx) })
	s.disturb(ctx, *soakFlag*6/10)
	samples := s.watch(ctx)
	wg.Wait()
	s.settled()
	rest := s.atRest()
	for _, j := range s.all() {
		if j.Run == nil || s.harmed[*j.Run] {
			continue
		}
		if n := s.log(*j.Run, &wish{tag: j.Task}); n != soakMessages && j.State != wire.StateInterrupted || !j.State.Final() {
			t.Errorf("%s is %s with %d messages: %s", j.Task, j.State, n, deref(j.Detail))
		}
	}
	first, last := highest(samples[:len(samples)/3]), highest(samples[len(samples)*2/3:])
	disk, spools := s.disk()
	t.Logf("| soak of %v | jobs %d | daemons killed %d, shims killed %d | highest of the first and last third: %+v, %+v, then at rest: %+v | disk %d KiB a job |",
		*soakFlag, len(s.all()), s.daemons, len(s.harmed), first, last, rest, disk/len(s.all())>>10)
	// Runs and followers come and go, and hold a few descriptors each while they are there; what leaks goes beyond that in
	// an hour, and stays when they have gone.
	if last.kib > first.kib*5/4+8<<10 || last.descriptors > heldBusy || last.threads > first.threads+16 {
		t.Errorf("what the daemon holds grew from %+v to %+v", first, last)
	}
	if rest.descriptors > heldIdle {
		t.Errorf("at rest it holds %q", census.Descriptors(s.d.cmd.Process.Pid))
	}
	if spools > 0 {
		t.Errorf("%d runs have ended and keep their raw text", spools)
	}
}

// What a daemon may hold: at rest what it began with, and while it is busy that and what runs and clients take, of which
// those that were just cut off or have just ended count twice.
const (
	heldIdle = 48
	heldBusy = heldIdle + 2*(soakRuns*5+(soakReaders+soakDeaf)*4)
)

// atRest is what the daemon holds once nothing runs and everybody has gone, which it may see a little later.
func (s *soak) atRest() (rest sample) {
	for range 100 {
		if rest = s.sample(); rest.descriptors <= heldIdle || s.ctx.Err() != nil {
			return rest
		}
		<-time.After(100 * time.Millisecond)
	}
	return rest
}

// highest is the most of each figure.
func highest(samples []sample) (top sample) {
	for _, s := range samples {
		top = sample{max(top.kib, s.kib), max(top.descriptors, s.descriptors), max(top.threads, s.threads)}
	}
	return top
}

type soak struct {
	*lab
	random  *rand.Rand
	daemons int // killed
	harmed  map[wire.RunHandle]bool
}

// feed keeps that many jobs going.
func (s *soak) feed(ctx context.Context) {
	all := transports()
	for n := 0; ctx.Err() == nil; {
		st, err := s.ask(ctx, wire.WorkbenchCommand{})
		open := soakRuns
		if err == nil {
			open = len(slices.DeleteFunc(slices.Clone(st.Workbench.Jobs), func(j wire.Job) bool { return j.State.Final() }))
		}
		for ; open < soakRuns && ctx.Err() == nil; open++ {
			agent := all[n%len(all)]
			prompt := agent.prompt(fmt.Sprintf("s%d", n), soakMessages, 50, 40, agent.ends[0])
			n++
			_, _ = s.insist(ctx, wire.WorkbenchStart{Workspace: s.work, Agent: agent.agent, Prompt: prompt, Key: client.NewKey()})
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// disturb kills daemons and shims for a while, and leaves a daemon behind that answers.
func (s *soak) disturb(ctx context.Context, length time.Duration) {
	for until := time.Now().Add(length); time.Now().Before(until) && ctx.Err() == nil; {
		<-time.After(time.Duration(500+s.random.IntN(1500)) * time.Millisecond)
		if st, err := s.ask(ctx, wire.WorkbenchCommand{}); err == nil {
			for _, r := range st.Workbench.Runs {
				if r.Live && s.random.IntN(100) == 0 {
					if pid, ok := s.shimIfAny(r.Handle); ok {
						s.harmed[r.Handle] = true
						_ = syscall.Kill(pid, syscall.SIGKILL) // it may have gone
					}
				}
			}
		}
		s.restart()
		s.daemons++
	}
}

func (s *soak) shimIfAny(run wire.RunHandle) (int, bool) {
	if _, err := os.Stat(filepath.Join(s.home, "runs", string(run), "shim.json")); err != nil {
		return 0, false
	}
	return s.shimOf(run), true
}

// watch takes samples of one daemon until ctx ends.
func (s *soak) watch(ctx context.Context) (samples []sample) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
			samples = append(samples, s.sample())
		}
	}
	return samples
}

// comeAndGo follows the workbench and one log for a while, again and again.
func (l *lab) comeAndGo(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, time.Duration(50+r.IntN(500))*time.Millisecond)
		var run wire.RunHandle
		target := l.target()
		_ = client.WatchWorkbench(bounded, target, func(v *wire.Snapshot, _ wire.WorkbenchDelta) error {
			if len(v.Runs) > 0 {
				run = v.Runs[r.IntN(len(v.Runs))].Handle
			}
			return nil
		})
		cancel()
		if run != "" {
			bounded, cancel := context.WithTimeout(ctx, time.Duration(50+r.IntN(500))*time.Millisecond)
			_ = client.FollowLog(bounded, target, run, client.LogPosition{}, func(wire.RunLogPage) error { return nil })
			cancel()
		}
	}
}

// neverRead asks to follow the workbench and reads none of it, until the daemon cuts it off; then it comes again.
func (l *lab) neverRead(ctx context.Context) {
	for ctx.Err() == nil {
		c, err := net.Dial("unix", l.target().Socket)
		if err != nil {
			<-time.After(10 * time.Millisecond)
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		for err == nil { // until nobody takes it any more
			_, err = c.Write(deafRequests())
		}
		stop()
		_ = c.Close()
	}
}

// deafRequests is a handshake and a following without an end.
func deafRequests() []byte {
	var out []byte
	for _, m := range []wire.ClientMessage{
		wire.Initialize{RequestID: "1", ProtocolVersion: wire.ProtocolVersion, Client: wire.PeerInfo{Name: "deaf", Version: "1"}},
		wire.DaemonControl{RequestID: "2", Command: wire.WorkbenchCommand{}},
	} {
		line, err := wire.Encode(m)
		if err != nil {
			panic(err)
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

// disk is how many bytes the home takes, and how many runs keep raw text.
func (l *lab) disk() (bytes, spools int) {
	_ = filepath.WalkDir(l.home, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it went
		}
		if e.IsDir() && e.Name() == "spool" {
			spools++
		}
		if info, err := e.Info(); err == nil && !e.IsDir() {
			bytes += int(info.Size())
		}
		return nil
	})
	return bytes, spools
}

// TestS11_ThousandClients: a thousand clients follow the workbench and fifty of them never read. Each of the others sees
// the end of a job, and the daemon holds little for each.
func TestS11_ThousandClients(t *testing.T) {
	const clients, deaf = 1000, 50
	l := newLab(t)
	l.restart()
	before := l.sample()
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	var wg, seen sync.WaitGroup
	for range deaf {
		wg.Go(func() { l.neverRead(ctx) })
	}
	ref := l.job("codex", talk("seen", 100, 20))
	for range clients - deaf {
		seen.Add(1)
		wg.Go(func() {
			once := sync.OnceFunc(seen.Done)
			defer once()
			err := client.ErrSilent
			for errors.Is(err, client.ErrSilent) { // so many at once have to wait for their turn to be let in
				err = client.WatchWorkbench(ctx, l.target(), func(v *wire.Snapshot, _ wire.WorkbenchDelta) error {
					if j := jobOf(v, ref); j != nil && j.State == wire.StateCompleted {
						once()
					}
					return nil
				})
			}
			if ctx.Err() == nil {
				t.Errorf("a client was cut off: %v", err)
			}
		})
	}
	seen.Wait()
	after := l.sample()
	cancel()
	wg.Wait()
	t.Logf("the daemon holds %+v, and before %+v: %d KiB a client", after, before, (after.kib-before.kib)/clients)
	if grown := after.kib - before.kib; grown > clients*48 {
		t.Errorf("%d clients cost %d KiB", clients, grown)
	}
}
