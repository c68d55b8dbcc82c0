package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestDropOwnFile: what was mapped of the program's file is given back, and the program goes on as before.
func TestDropOwnFile(t *testing.T) {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	before := mapped(t, exe)
	if err := DropOwnFile(); err != nil {
		t.Fatal(err)
	}
	if after := mapped(t, exe); after >= before {
		t.Errorf("%d kB of the program are mapped, and %d were", after, before)
	}
}

// mapped is how much of what is never written of a file this process has mapped, in kB.
func mapped(t *testing.T, path string) (kb int) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	own := false
	for line := range bytes.Lines(data) {
		if _, _, ok := ownPages(line, path); ok {
			own = true
		} else if fields := bytes.Fields(line); len(fields) > 1 && string(fields[0]) == "Rss:" && own {
			n, err := strconv.Atoi(string(fields[1]))
			if err != nil {
				t.Fatal(err)
			}
			kb, own = kb+n, false
		}
	}
	return kb
}

func TestOwnPages(t *testing.T) {
	for line, want := range map[string]uintptr{
		"00401000-00f5c000 r-xp 00001000 08:01 99 /a b/scv\n":     0xf5c000 - 0x401000,
		"00f5c000-01a00000 r--p 00b5c000 08:01 99 /a b/scv\n":     0x1a00000 - 0xf5c000,
		"01a00000-01a6d000 rw-p 01600000 08:01 99 /a b/scv\n":     0, // it may hold what was written
		"00401000-00f5c000 r-xp 00001000 08:01 99 /a b/scv2\n":    0,
		"7f0000000000-7f0000002000 rw-p 00000000 00:00 0\n":       0,
		"7ffd1000-7ffd2000 r-xp 00000000 00:00 0          [vdso]": 0,
		"x-y r-xp 00001000 08:01 99 /a b/scv\n":                   0,
		"":                                                        0,
	} {
		if _, got, ok := ownPages([]byte(line), "/a b/scv"); got != want && ok || ok != (want > 0) {
			t.Errorf("%q: %d, %t", line, got, ok)
		}
	}
}

func TestCounter(t *testing.T) {
	const table = "nr_free_pages 12\noom_kill_other 5\noom_kill 7\nlast 1\n"
	if got, err := counter(strings.NewReader(table), "oom_kill"); got != "7" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := counter(strings.NewReader(table), "oom_kills"); err == nil {
		t.Errorf("a counter that is not there: %q", got)
	}
	if _, err := OOMKills(); err != nil {
		t.Errorf("of this machine: %v", err)
	}
}
