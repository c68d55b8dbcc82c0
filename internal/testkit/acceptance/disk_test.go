//go:build linux

package acceptance

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"scv/internal/testkit/need"
	"scv/internal/wire"
)

// TestU4_FullDiskIsSaidAndLeftByItself: a home on a disk of 3 MB. When it is full a job is refused with a sentence, and
// what runs is kept; when there is room again the daemon goes on by itself and the running job has its result.
func TestU4_FullDiskIsSaidAndLeftByItself(t *testing.T) {
	disk := t.TempDir()
	need.Disk(t, disk, "3m")
	base, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	l := labIn(t, base, filepath.Join(disk, "h"))
	open := l.gate()
	l.agent("codex", "while read -r line; do :; done\n"+codexBegins+"\n"+codexSays("begun")+"\nread -r go <$here/gate\n"+
		codexSays("said while the disk was full")+"\nread -r go <$here/gate\n"+codexSays("the end")+"\n"+codexEnds)
	id := l.start("--agent", "codex", "x")
	l.says(id, said("begun"))
	running := *l.reaches(id, wire.StateWorking).Run

	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	code, out, errs := l.scv("jobs", "start", "--agent", "demo", "@@say:refused")
	for code == 0 && l.ctx.Err() == nil { // what was allocated before may take a few
		fill(t, filler)
		code, out, errs = l.scv("jobs", "start", "--agent", "demo", "@@say:refused")
	}
	if code == 0 || out != "" || !strings.HasPrefix(errs, "scv: ") || !strings.Contains(errs, "Next: ") {
		t.Errorf("a start on the full disk: code %d, %q, %q", code, out, errs)
	}
	view := l.until("the storage is said", func(v *wire.Snapshot) bool { return v.Storage != "" })
	t.Logf("refused: %sstorage: %s", errs, view.Storage)
	if j := job(view, id); j == nil || j.State != wire.StateWorking || *j.Run != running {
		t.Errorf("the running job is %+v", j)
	}
	if _, out, errs := l.scv("status"); !strings.Contains(out+errs, view.Storage) && !strings.Contains(out+errs, "storage") {
		t.Errorf("status says %q %q", out, errs)
	}
	open() // it says more while nothing can be written
	if j := l.reaches(id, wire.StateWorking); *j.Run != running {
		t.Errorf("it has another run: %+v", j)
	}
	l.must(os.Remove(filler))
	l.until("it goes on by itself", func(v *wire.Snapshot) bool { return v.Storage == "" })
	l.says(id, said("said while the disk was full"))
	open()
	l.reaches(id, wire.StateCompleted)
	if out := l.ok("jobs", "result", string(id)); !strings.Contains(out, "the end") {
		t.Errorf("the result is %q", out)
	}
	if out := l.ok("jobs", "start", "--agent", "demo", "--wait", "@@say:room again"); out != "room again\n" {
		t.Errorf("it answered %q", out)
	}
	l.ok("restart")
	if out := l.ok("jobs", "list", "-q"); out != "job-3\njob-1\n" {
		t.Errorf("after a restart these are there: %q", out)
	}
}

// fill takes what room there is, to the last byte.
func fill(t *testing.T, filler string) {
	t.Helper()
	f, err := os.OpenFile(filler, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 16, 1 << 10, 1} {
		for err = error(nil); err == nil; {
			_, err = f.Write(bytes.Repeat([]byte("x"), size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

// TestU6_GarbageInALogIsShown: a line that cannot be read is told with its file, and hides nothing beside it.
func TestU6_GarbageInALogIsShown(t *testing.T) {
	l := newLab(t)
	l.ok("jobs", "start", "--agent", "demo", "--wait", "@@say:first|say:second")
	view := l.until("it has ended", func(v *wire.Snapshot) bool { return job(v, "job-1").State.Final() })
	l.rests()
	file := filepath.Join(l.home, "runs", string(*job(view, "job-1").Run), "events.jsonl")
	data, err := os.ReadFile(file)
	l.must(err)
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines) < 5 {
		t.Fatalf("a log of %d lines", len(lines))
	}
	whole := string(data)
	for name, damage := range map[string]func() string{
		"a line of garbage": func() string { return string(lines[0]) + "\x00garbage\xff{{{\n" + strings.Join(texts(lines[1:]), "") },
		"a changed byte":    func() string { return strings.Replace(whole, "first", "fir5t", 1) },
		"a line cut in the mid": func() string {
			return string(lines[0]) + string(lines[1][:len(lines[1])/2]) + "\n" + strings.Join(texts(lines[2:]), "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			l.must(os.WriteFile(file, []byte(damage()), 0o600))
			for _, way := range []string{"start", "stop"} { // from the daemon, and from disk
				l.scv(way)
				code, out, errs := l.scv("jobs", "log", "job-1")
				if code != 0 && !strings.Contains(errs, "events.jsonl") {
					t.Errorf("%s: code %d, %q", way, code, errs)
				}
				if !strings.Contains(out+errs, "events.jsonl") {
					t.Errorf("%s: the file is not named: %q %q", way, out, errs)
				}
				if !strings.Contains(out, "second") || !strings.Contains(out, "run_started") {
					t.Errorf("%s: good lines are missing: %q", way, out)
				}
				if out := l.ok("jobs", "list", "-q"); out != "job-1\n" {
					t.Errorf("%s: listed are %q", way, out)
				}
			}
		})
	}
}

func texts(lines [][]byte) []string {
	var out []string
	for _, line := range lines {
		out = append(out, string(line))
	}
	return out
}
