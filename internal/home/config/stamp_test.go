package config_test

import (
	"os"
	"testing"
	"time"

	"scv/internal/home/config"
)

// TestU24_AChangeIsSeen: whatever was done to the owner's files since they were read, Current says that they are to be
// read again, and it says so too when it cannot know.
func TestU24_AChangeIsSeen(t *testing.T) {
	const text = "[policy]\nmode = \"read-only\"\n"
	extra := t.TempDir() + "/more.toml"
	old := time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		change  func(path string) error
		current bool
	}{
		"nothing":               {func(string) error { return nil }, true},
		"written anew":          {func(p string) error { return os.WriteFile(p, []byte("[policy]\nmode = \"on-risk\"\n"), 0o600) }, false},
		"only the time":         {func(p string) error { return os.Chtimes(p, old.Add(time.Second), old.Add(time.Second)) }, false},
		"only the mode":         {func(p string) error { return os.Chmod(p, 0o644) }, false},
		"removed":               {os.Remove, false},
		"replaced, same time":   {func(p string) error { return replace(p, old) }, false},
		"the other one removed": {func(string) error { return os.Remove(extra) }, false},
		"the other one changed": {func(string) error { return os.WriteFile(extra, []byte("# more\n"), 0o600) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, text)
			write(t, extra, "# less\n", 0o600)
			for _, path := range []string{h.ConfigPath(), extra} {
				if err := os.Chtimes(path, old, old); err != nil {
					t.Fatal(err)
				}
			}
			c1, err := config.Load(h, []string{"SCV_CONFIG=" + extra}, config.Overrides{})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.change(h.ConfigPath()); err != nil {
				t.Fatal(err)
			}
			if got := c1.Current(); got != c.current {
				t.Errorf("current: %t", got)
			}
		})
	}
}

func replace(path string, at time.Time) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	if err := os.Chtimes(path+".new", at, at); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// TestU24_ADoubtIsNotCurrent: a file that was changed in the moment before it was read may be changed again within the
// same step of the clock, and one that appears was not there.
func TestU24_ADoubtIsNotCurrent(t *testing.T) {
	h := newHome(t, "")
	if err := os.Remove(h.ConfigPath()); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	none, err := config.Load(h, nil, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if !none.Current() {
		t.Error("no file, as before, is not current")
	}
	write(t, h.ConfigPath(), "[policy]\nmode = \"read-only\"\n", 0o600)
	if none.Current() {
		t.Error("a file that appeared is not seen")
	}
	fresh, err := config.Load(h, nil, config.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if fresh.Current() {
		t.Error("a file that was written just now is trusted by its time")
	}
}
