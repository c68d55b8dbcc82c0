package shim_test

import (
	"os"
	"testing"

	"scv/internal/run/shim"
	"scv/internal/testkit/census"
)

// TestMain makes this binary a shim or a fake agent when it was started as one.
func TestMain(m *testing.M) {
	if shim.IsShim(os.Args) {
		os.Exit(shim.Main(os.Args))
	}
	if len(os.Args) > 1 && os.Args[1] == fakeAgentWord {
		os.Exit(fakeAgent(os.Args[2:]))
	}
	os.Exit(census.Main(m))
}
