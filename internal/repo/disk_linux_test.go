package repo

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"syscall"
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

// P32: what is carried over or included shares its blocks with the checkout's files where the file system can, and is a copy
// of its own all the same.
func TestP32_CopiesShareBlocks(t *testing.T) {
	need.Root(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	disk := filepath.Join(base, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	need.Reflinks(t, disk)
	l := newLabIn(t, disk)
	big := make([]byte, 32<<20)
	_, _ = rand.Read(big)
	l.write(l.top+"/.worktreeinclude", "*.log\n")
	for _, name := range []string{"carried", "included.log"} {
		l.write(l.top+"/"+name, string(big))
	}
	free := func() uint64 {
		var st syscall.Statfs_t
		l.must(syscall.Statfs(disk, &st))
		return st.Bavail * uint64(st.Bsize)
	}
	before := free()
	in, err := l.Plan(t.Context(), l.wish())
	l.must(err)
	in.WithChanges = true
	_, err = l.Create(t.Context(), in)
	l.must(err)
	// One blob of what was carried over is made for git, compressed or not.
	if took := before - free(); took > 64<<20 {
		t.Errorf("two copies of 32 MiB took %d MiB", took>>20)
	}
	l.write(l.top+"/carried", "changed")
	if l.read(in.Path+"/carried") != string(big) || l.read(in.Path+"/included.log") != string(big) {
		t.Error("they are not what they were")
	}
}
