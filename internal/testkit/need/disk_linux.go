package need

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Disk mounts a file system of its own at dir, an existing folder, with a size such as "3m"; it is gone after the test.
func Disk(t testing.TB, dir, size string) {
	t.Helper()
	Root(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		missing(t, "a tmpfs cannot be mounted here: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
}

// Remount changes a Disk: to "ro", or to another "size=8m".
func Remount(t testing.TB, dir, option string) {
	t.Helper()
	flags := uintptr(syscall.MS_REMOUNT)
	if option == "ro" {
		flags |= syscall.MS_RDONLY
		option = ""
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, strings.TrimSpace(option)); err != nil {
		t.Fatalf("remount %s: %v", dir, err)
	}
}

// Image mounts an ext4 file system at dir, an existing folder, from a file of so many MiB, which it returns. What is in
// that file is what would be on the disk after a power loss: nothing is written back by itself for minutes.
func Image(t testing.TB, dir string, mib int64) string {
	t.Helper()
	Root(t)
	image := blank(t, dir, mib)
	if out, err := exec.Command(Program(t, "mkfs.ext4"), "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v: %s", err, out)
	}
	MountImage(t, image, dir)
	return image
}

// blank makes a file of so many MiB beside dir, which takes no space until it is written.
func blank(t testing.TB, dir string, mib int64) string {
	t.Helper()
	image := filepath.Clean(dir) + ".img"
	f, err := os.Create(image)
	if err == nil {
		err = f.Truncate(mib << 20)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(image) })
	return image
}

// Reflinks mounts a file system at dir, an existing folder, on which files can share blocks (XFS, of 512 MiB).
func Reflinks(t testing.TB, dir string) {
	t.Helper()
	Root(t)
	image := blank(t, dir, 512)
	if out, err := exec.Command(Program(t, "mkfs.xfs"), "-q", "-m", "reflink=1", image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.xfs: %v: %s", err, out)
	}
	mount(t, image, dir, "loop")
}

// MountImage mounts an Image, or a copy of one, which plays its journal back.
func MountImage(t testing.TB, image, dir string) {
	t.Helper()
	Root(t)
	mount(t, image, dir, "loop,commit=300")
}

func mount(t testing.TB, image, dir, options string) {
	t.Helper()
	if out, err := exec.Command(Program(t, "mount"), "-o", options, image, dir).CombinedOutput(); err != nil {
		missing(t, "a loop device cannot be mounted here: "+strings.TrimSpace(string(out)))
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
}
