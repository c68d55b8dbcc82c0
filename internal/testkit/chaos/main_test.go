//go:build linux

package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"scv/internal/testkit/census"
)

var (
	seedFlag = flag.Uint64("seed", 0, "of the schedule; 0 takes one from the clock")
	longFlag = flag.Int("long", 1, "how many times longer than in an ordinary run of the tests")
	soakFlag = flag.Duration("soak", 20*time.Second, "length of the soak")
)

// programs are built once, without the race detector: what is raced here is the machine.
type programs struct{ scv, agent string }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("/tmp", "scvbin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for name, args := range map[string][]string{
		"scv":       {"-tags", "failpoint", "scv/cmd/scv"},
		"fakeagent": {"scv/internal/testkit/fakeagent/scv-fakeagent"},
	} {
		build := exec.Command("go", append([]string{"build", "-o", filepath.Join(dir, name)}, args...)...)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build", name+":", err)
			return 1
		}
	}
	os.Setenv("SCV_CHAOS_PROGRAMS", dir)
	return census.Main(m)
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(testMain(m))
}

func built(t *testing.T) programs {
	t.Helper()
	dir := os.Getenv("SCV_CHAOS_PROGRAMS")
	return programs{scv: filepath.Join(dir, "scv"), agent: filepath.Join(dir, "fakeagent")}
}

// seed is the test's seed, printed.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := *seedFlag
	if s == 0 {
		s = uint64(time.Now().UnixNano()) % 1_000_000_007
	}
	t.Logf("seed %d", s)
	return s
}

func random(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
