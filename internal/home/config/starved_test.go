package config

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestS10_NoDescriptorIsNoFaultOfTheFile: without a descriptor it is not known what a file says, a project's or the
// owner's. That is said, and the file is not called wrong; nor is it taken for missing, since it may be stricter.
func TestS10_NoDescriptorIsNoFaultOfTheFile(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/config.toml"
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() layer{
		"project": func() layer { return readProject(dir) },
		"owner":   func() layer { return readLayer(path, "config.toml", false) },
	} {
		t.Run(name, func(t *testing.T) { withoutDescriptors(t, dir, read) })
	}
}

func withoutDescriptors(t *testing.T, dir string, read func() layer) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	probe, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	none := was
	none.Cur = uint64(probe.Fd()) // those below are in use, and this one is the next
	if err := probe.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	l := read()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if len(l.faults) != 1 || !strings.Contains(l.faults[0].Message, "no file descriptor left") {
		t.Errorf("it says %v", l.faults)
	}
	if l := read(); len(l.faults) != 0 {
		t.Errorf("with descriptors it says %v", l.faults)
	}
}
