package repo

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"scv/internal/testkit/need"
	"scv/internal/wire"
)

// TestB3_FullOrReadOnlyDisk lets the disk that holds the worktrees run full during the checkout, and be read-only.
func TestB3_FullOrReadOnlyDisk(t *testing.T) {
	need.Root(t)
	l := newLab(t)
	big := make([]byte, 4<<20)
	_, _ = rand.Read(big)
	l.write(l.top+"/big", string(big))
	l.commit(l.top, "big")
	disk := filepath.Join(l.home.Path(), treesDir)
	l.must(os.Mkdir(disk, 0o700))
	need.Disk(t, disk, "2m")
	for range 3 {
		in, err := l.Plan(t.Context(), l.wish())
		l.must(err)
		_, err = l.Create(t.Context(), in)
		l.refusal(err, wire.ReasonUnavailable, "git could not add the worktree")
		l.nothing(in)
	}
	need.Remount(t, disk, "size=32m")
	kept, _ := l.made(l.wish())
	need.Remount(t, disk, "ro")
	in, err := l.Plan(t.Context(), l.wish())
	l.must(err)
	_, err = l.Create(t.Context(), in)
	l.refusal(err, wire.ReasonUnavailable, "read-only")
	l.nothing(in)
	_, err = l.Remove(t.Context(), kept.Path, Removal{Force: true})
	l.refusal(err, wire.ReasonUnavailable, "read-only")
	if _, err := os.Stat(kept.Path + "/big"); err != nil {
		t.Error(err)
	}
}
