package need

import (
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
