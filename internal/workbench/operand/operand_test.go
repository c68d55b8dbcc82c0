package operand_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"scv/internal/workbench/operand"
)

// TestT45_AFileThatACommandRunsIsWhatItWas: every way in which it can become another one is seen, and what is no plain
// file is never waited for.
func TestT45_AFileThatACommandRunsIsWhatItWas(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.sh")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(){
		"other bytes of the same length": func() { write("rm -rf b") },
		"removed":                        func() { _ = os.Remove(path) },
		"a link to another file": func() {
			_ = os.Remove(path)
			_ = os.Symlink("/etc/hosts", path)
		},
		"a pipe": func() {
			_ = os.Remove(path)
			_ = syscall.Mkfifo(path, 0o600)
		},
	} {
		_ = os.Remove(path)
		write("rm -rf a")
		then := operand.Of("sh x.sh && ./x.sh", dir)
		if len(then) != 2 || then[0].Name != "x.sh" || then[1].Name != "./x.sh" {
			t.Fatalf("it runs %+v", then)
		}
		if _, changed := operand.Changed(then); changed != "" {
			t.Errorf("%s: %s is changed before it is", name, changed)
		}
		change()
		now, changed := operand.Changed(then)
		if changed != "x.sh" {
			t.Errorf("%s: not seen", name)
		}
		if _, changed := operand.Changed(now); changed != "" {
			t.Errorf("%s: what was looked at again is still changed", name)
		}
	}
	_ = os.Remove(path)
	then := operand.Of("sh x.sh", dir)
	write("new")
	if _, changed := operand.Changed(then); changed != "x.sh" {
		t.Error("a script that was not there, and then is, is not seen")
	}
}
