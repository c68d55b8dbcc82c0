package shim_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"scv/internal/run/shim"
)

// TestMain makes this binary a shim or a fake agent when it was started as one.
func TestMain(m *testing.M) {
	if shim.IsShim(os.Args) {
		os.Exit(shim.Main(os.Args))
	}
	if len(os.Args) > 1 && os.Args[1] == fakeAgentWord {
		os.Exit(fakeAgent(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}
