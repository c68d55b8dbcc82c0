package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/home/config"
	"scv/internal/testkit/need"
)

// TestU25_AFileOfSomebodyElseIsRefused: what another user could have written is never taken for no configuration at all.
func TestU25_AFileOfSomebodyElseIsRefused(t *testing.T) {
	need.Root(t)
	h := newHome(t, "[policy]\nmode = \"read-only\"\n")
	if err := os.Chown(h.ConfigPath(), 12345, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(h, nil, config.Overrides{}); len(lines(err)) != 1 || strings.Contains(lines(err)[0], "read-only") {
		t.Errorf("%q", lines(err))
	}
}

func TestU25_FilesThatAreNotFiles(t *testing.T) {
	h := newHome(t, "")
	if err := os.Mkdir(h.ConfigPath(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(h, nil, config.Overrides{}); !strings.Contains(strings.Join(lines(err), ""), "not a plain file") {
		t.Errorf("a directory: %v", err)
	}
	os.Remove(h.ConfigPath())
	os.Symlink(filepath.Join(h.Path(), "nowhere"), h.ConfigPath())
	if _, err := config.Load(h, nil, config.Overrides{}); !strings.Contains(strings.Join(lines(err), ""), "does not exist") {
		t.Errorf("a dangling link: %v", err)
	}
	os.Remove(h.ConfigPath())
	write(t, h.ConfigPath(), strings.Repeat("#", config.MaxFileBytes+1), 0o600)
	if _, err := config.Load(h, nil, config.Overrides{}); !strings.Contains(strings.Join(lines(err), ""), "larger than 1 MiB") {
		t.Errorf("a large file: %v", err)
	}
}
