//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"scv/internal/quick"
	"scv/internal/wire"
)

// TestSpeed_VersionIsAnsweredBeforeAnythingIsBuilt: what the libraries build at their start is not paid for it. The bar
// on its CPU (2x that of "git --version") rests on this order; bench has the figure.
func TestSpeed_VersionIsAnsweredBeforeAnythingIsBuilt(t *testing.T) {
	if want := strconv.Itoa(wire.ProtocolVersion); quick.Protocol != want {
		t.Errorf("it says protocol %s, the wire has %s", quick.Protocol, want)
	}
	initialized := func(args ...string) []string {
		cmd := exec.Command(filepath.Join(os.Getenv("SCV_TEST_BIN"), "scv"), args...)
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil || args[0] == "version" && len(args) == 1 && string(out) != quick.Line {
			t.Fatalf("scv %s: %v, %q", args, err, out)
		}
		var of []string
		for line := range strings.Lines(said.String()) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "init" && (strings.Contains(f[1], ".") || strings.HasPrefix(f[1], "scv/")) {
				of = append(of, f[1])
			}
		}
		return of
	}
	// One decoder of tables has a package of its own that needs the time alone, and its path comes first.
	if got := initialized("version"); len(got) > 1 {
		t.Errorf("these were initialized before the answer: %v", got)
	}
	if got := initialized("version", "--json"); len(got) < 10 {
		t.Errorf("the trace shows only %v for a command that needs the whole program", got)
	}
}
