//go:build linux

package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"scv/internal/testkit/census"
	"scv/internal/testkit/fakeagent"
	"scv/internal/testkit/sdkpeer"
)

const (
	// playKey makes this test program play an agent.
	playKey = "SCV_ACCEPTANCE_PLAYS"
	// programKey tells the tests where the built program is.
	programKey = "SCV_ACCEPTANCE_PROGRAM"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == sdkpeer.Name {
		os.Exit(sdkpeer.Main(os.Args, os.Getenv("HOME"), os.Stdin, os.Stdout))
	}
	if os.Getenv(playKey) != "" {
		os.Exit(fakeagent.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(testMain(m))
}

// testMain builds the program as it is delivered: what it costs is measured, so without the race detector.
func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "scvbin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "scv")
	build := exec.Command("go", "build", "-o", program, "scv/cmd/scv")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build scv:", err)
		return 1
	}
	os.Setenv(programKey, program)
	return census.Main(m)
}
