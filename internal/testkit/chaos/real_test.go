//go:build linux

package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"scv/internal/testkit/realagent"
)

// TestS1_S3_RealAgentsUnderKills: the real codex and claude, live, serve turn after turn against a fake model while
// daemons are killed at random. Each turn runs a command that is asked about. What was acknowledged holds, each command
// that was allowed ran once and no other, and each log is what the agent said.
func TestS1_S3_RealAgentsUnderKills(t *testing.T) {
	for name, start := range map[string]func(testing.TB, realagent.Options) *realagent.Agent{"codex": realagent.Codex, "claude": realagent.Claude} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := start(t, realagent.Options{Retries: 2})
			seed := seed(t)
			k := newLab(t).loop()
			k.must(os.WriteFile(filepath.Join(k.home, "config.toml"), []byte("[limits]\nrunning = 8\nmemory_floor_mb = 0\n"), 0o600))
			link := filepath.Join(k.base, "bin", name) // in the place of the fake one
			k.must(os.Remove(link))
			k.must(os.Symlink(a.Path, link))
			path, _ := strings.CutPrefix(a.Env[0], "PATH=")
			k.env = append(append([]string{"SCV_HOME=" + k.home, "TERM=dumb", "TZ=UTC"}, a.Env[1:]...), "PATH="+filepath.Dir(link)+":"+path)
			finish := k.talkers(seed, []speaker{k.real(name), k.real(name)})
			r := random(seed, 1)
			for range 40 * *longFlag { // a real agent needs seconds to start, and its daemons are to see more of it
				k.live(step{rules: rules(r.Uint64(), "", 0, small), from: fromReady, after: time.Duration(r.IntN(1500)) * time.Millisecond})
			}
			finish()
			a.NoDials(t)
		})
	}
}

// real is a real agent that asks before it writes a line into a file.
func (l *lab) real(name string) speaker {
	file := func(tag string) string { return filepath.Join(l.work, "ran-"+tag) }
	return speaker{
		agent: name, first: "n 2. ", acts: []string{"prompt", "answer", "edit", "drop"},
		script: func(tag string, _ int) string {
			return fmt.Sprintf("%s\n@@shell:echo ran >> ran-%s|say:n 2. %s", tag, tag, tag)
		},
		ran: func(tag string, _ heard) int {
			data, _ := os.ReadFile(file(tag)) // absent when it was not run
			return strings.Count(string(data), "\n")
		},
	}
}
