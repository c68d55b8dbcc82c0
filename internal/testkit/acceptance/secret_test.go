//go:build linux

package acceptance

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/wire"
)

// TestP45_NoSecretOnDiskOrInAnOutput: an agent prints its own environment, the daemon's, and a secret in two pieces;
// none of it is in a file of the home afterwards, nor in what any command prints.
func TestP45_NoSecretOnDiskOrInAnOutput(t *testing.T) {
	const own, others = "kv9Qm2Zr7Tq4Lw8Yx3Bn", "wJ5pHd8RfE2sVg6NcUa1"
	l := newLab(t, "OPENAI_API_KEY="+own, "DEPLOY_TOKEN="+others, "CARGO_REGISTRY_TOKEN="+others+"b")
	head, tail := own[:9], own[9:]
	// The gap between the two pieces of one line is a fact for the shim's reader: two writes, two frames.
	l.agent("codex", "while read -r line; do :; done\n"+codexBegins+`
tr '\0' ' ' </proc/$$/environ >&2
tr '\0' '\n' </proc/$(cat "$SCV_HOME/state/server.lock")/environ >&2
printf '{"type":"item.completed","item":{"id":"a","type":"agent_message","text":"split `+head+`'
/bin/true
printf '`+tail+` whole `+own+` other `+others+`"}}\n'
printf 'err `+head+`' >&2
/bin/true
printf '`+tail+`\n' >&2
`+codexEnds)
	l.ok("jobs", "start", "--agent", "codex", "--wait", "deploy with "+others+" now")
	// A program that cannot be started, with a secret in its name.
	bad := filepath.Join(l.bin, others)
	l.must(os.Mkdir(bad, 0o700))
	l.config("[agents.claude]\ncommand = \"" + bad + "\"\n[limits]\nmemory_floor_mb = 0\n")
	l.ok("restart")
	if code, _, errs := l.scv("jobs", "start", "--agent", "claude", "--wait", "x"); code == 0 || !strings.Contains(errs, "job-2 failed") || strings.Contains(errs, others) {
		t.Errorf("code %d: %s", code, errs)
	}
	l.until("both have ended", func(v *wire.Snapshot) bool {
		return job(v, "job-1").State.Final() && job(v, "job-2") != nil && job(v, "job-2").State.Final()
	})
	l.rests()
	reply := l.ok("jobs", "result", "job-1")
	if !strings.Contains(reply, "split ") || !strings.Contains(reply, " whole ") {
		t.Errorf("the reply is %q", reply)
	}
	look := func(what string, text []byte) {
		for _, secret := range []string{own, others} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds %s", what, secret)
			}
		}
	}
	outputs := func(when string) {
		for _, args := range looks() {
			_, out, errs := l.scv(args...)
			look(when+": scv "+strings.Join(args, " "), []byte(out+errs))
		}
	}
	outputs("served")
	l.ok("stop", "--all")
	outputs("from disk")
	for _, path := range names(t, l.home) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && filepath.Base(path) != "config.toml" { // the owner wrote that one
			data, err := os.ReadFile(path)
			l.must(err)
			look(path, data)
		}
	}
	look("the home's names", []byte(strings.Join(names(t, l.home), "\n")))
}

// looks are the commands that show what is known of the two jobs.
func looks() [][]string {
	return [][]string{
		{"jobs"},
		{"jobs", "list", "--json"},
		{"jobs", "log", "job-1"},
		{"jobs", "log", "job-1", "--json"},
		{"jobs", "result", "job-1"},
		{"jobs", "result", "job-1", "--json"},
		{"jobs", "log", "job-2"},
		{"jobs", "result", "job-2"},
		{"why", "job-1"},
		{"why", "job-2"},
		{"why", "job-2", "--json"},
		{"agents", "ps", "--all"},
		{"agents", "ps", "--all", "--json"},
		{"status"},
		{"status", "--json"},
		{"jobs", "events"},
		{"jobs", "wait", "job-1", "job-2"},
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error { out = append(out, path); return err }); err != nil {
		t.Fatal(err)
	}
	return out
}
