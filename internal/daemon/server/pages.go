package server

import (
	"bytes"
	"fmt"
	"sync"

	"scv/internal/wire"
)

// maxSnapshot bounds the text of a snapshot well below what the upstream control client reads (wire.md 2.3).
const maxSnapshot = 6 << 20

// pages keeps the encoded text of the newest snapshot, which all who ask share. Its lock is held while one is encoded,
// so many who ask at once cost one encoding.
type pages struct {
	mu         sync.Mutex
	epoch      string
	generation uint64
	text       []byte // nil before the first
}

// snapshot returns the text of snap from behind its first member, the moment of its making, to its end.
func (p *pages) snapshot(snap *wire.Snapshot) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text != nil && p.generation == snap.Generation && p.epoch == snap.Epoch {
		return p.text, nil
	}
	text, err := encodeSnapshot(snap)
	if err != nil {
		return nil, err
	}
	p.epoch, p.generation, p.text = snap.Epoch, snap.Generation, text
	return text, nil
}

func encodeSnapshot(snap *wire.Snapshot) ([]byte, error) {
	s := *snap
	s.GeneratedUnixSeconds = 0
	for {
		data, err := wire.Encode(s)
		if err != nil {
			return nil, fmt.Errorf("encode the snapshot: %w", err)
		}
		if len(data) > maxSnapshot && shorten(&s) {
			continue
		}
		rest, ok := bytes.CutPrefix(data, []byte(`{"generated_unix_seconds":0`))
		if !ok {
			return nil, fmt.Errorf("the snapshot begins with %.40q", data)
		}
		return bytes.Clone(rest), nil
	}
}

// shorten drops half of what a snapshot can do without, oldest first: ended runs and finished jobs, which remain to be
// paged. It reports false when nothing is left to drop.
func shorten(s *wire.Snapshot) bool {
	jobs := keepNewest(s.Jobs, func(j wire.Job) bool { return j.State.Final() && !j.Resumable })
	runs := keepNewest(s.Runs, func(r wire.Run) bool { return !r.Live })
	dropped := len(jobs) < len(s.Jobs) || len(runs) < len(s.Runs)
	s.Jobs, s.Runs = jobs, runs
	return dropped
}

// keepNewest returns list, which has the newest first, without the older half of what may go.
func keepNewest[T any](list []T, mayGo func(T) bool) []T {
	count := 0
	for _, v := range list {
		if mayGo(v) {
			count++
		}
	}
	out := make([]T, 0, len(list))
	kept := 0
	for _, v := range list {
		if mayGo(v) {
			if kept >= count/2 {
				continue
			}
			kept++
		}
		out = append(out, v)
	}
	return out
}
