package control

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"scv/internal/run/spool"
)

var update = flag.Bool("update", false, "write the golden records of this version; those of older versions stay")

// TestDaemonsSideOfTheTranscript: a daemon sends the requests of each golden transcript that it still has to speak letter
// for letter, and understands the answers. The shim's side is tested with the shim.
func TestDaemonsSideOfTheTranscript(t *testing.T) {
	file := fmt.Sprintf("testdata/transcript-%d.txt", Protocol)
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("there is no golden transcript of this version: go test ./internal/run/shim -update: %v", err)
	}
	for v := oldest; v <= Protocol; v++ {
		text, err := os.ReadFile(fmt.Sprintf("testdata/transcript-%d.txt", v))
		if err != nil {
			t.Fatal(err)
		}
		requests, verdicts := 0, map[string]int{}
		for line := range strings.Lines(string(text)) {
			if request, ok := strings.CutPrefix(line, "> {"); ok {
				requests++
				r, err := decodeRecord[Request](strings.NewReader("{" + request))
				if err != nil {
					t.Errorf("%s: %v", line, err)
					continue
				}
				if again, err := EncodeLine(r); err != nil || string(again) != "{"+request {
					t.Errorf("%s is sent as %s, %v", line, again, err)
				}
			} else if reply, ok := strings.CutPrefix(line, "< "); ok {
				verdicts[verdict(decodeReply([]byte(reply)))]++
			}
		}
		want := map[string]int{"hello RUN 1": 1, "status RUN 1": 1, "ok": 4, "done": 1, "stale": 1, "bad": 4, "unknown": 1, "closed": 1}
		if !reflect.DeepEqual(verdicts, want) || requests != 13 {
			t.Errorf("version %d: %d requests, understood were %v, want %v", v, requests, verdicts, want)
		}
	}
}

// TestDaemonsSideOfTheTerminalsTranscript is the same for a run with a terminal.
func TestDaemonsSideOfTheTerminalsTranscript(t *testing.T) {
	for v := oldest; v <= Protocol; v++ {
		text, err := os.ReadFile(fmt.Sprintf("testdata/terminal-%d.txt", v))
		if err != nil {
			t.Fatalf("there is no golden transcript of this version: %v", err)
		}
		verdicts := map[string]int{}
		for line := range strings.Lines(string(text)) {
			if reply, ok := strings.CutPrefix(line, "< "); ok {
				verdicts[verdict(decodeReply([]byte(reply)))]++
				continue
			}
			request := strings.TrimPrefix(line, "> ")
			r, err := decodeRecord[Request](strings.NewReader(request))
			if err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			if again, err := EncodeLine(r); err != nil || string(again) != request {
				t.Errorf("%s is sent as %s, %v", line, again, err)
			}
		}
		if want := map[string]int{"ok": 5, "done": 1, "bad": 2}; !reflect.DeepEqual(verdicts, want) {
			t.Errorf("version %d: understood were %v, want %v", v, verdicts, want)
		}
	}
}

// verdict is how a daemon understands an answer.
func verdict(r Reply, err error) string {
	refused, is := errors.AsType[*RefusedError](err)
	switch {
	case is:
		return string(refused.Class)
	case errors.Is(err, ErrUnknownRequest):
		return "unknown"
	case err != nil:
		return err.Error()
	case r.Hello != nil:
		return fmt.Sprintf("%s %s %d", r.Type, r.Hello.Run, r.Hello.Version)
	}
	return r.Type
}

// records are those of a run with every field set.
func records() (Spec, Shim, Exit) {
	return Spec{
		Version: Protocol, Run: "codex-3f9a2c", Session: "workbench-0123456789abcdef", Job: "job-3", Conversation: "codex-2", Key: "k", Home: "h",
		Machine: "0123456789abcdef", Assignment: 1, Host: "elsewhere", Boot: "b", Binary: "1.0", Argv: []string{"codex"}, Env: []string{"PATH"}, Cwd: "/w",
		Stdin: StdinPipe, Terminal: &Size{80, 24}, OOMScore: 5, Socket: "/h/state/ctl/3f9a2c", CreatedUnix: 7, Meta: []byte(`{"a":1}`),
		Timing: Timing{
			Drain: 1, Interrupt: 2, Terminate: 3, Grace: 4, Retry: 5, Flush: 6, Deliver: 7, Unfolded: 8, SegmentBytes: 9,
		},
	}, Shim{
		Version: Protocol, Run: "codex-3f9a2c", Boot: "b", PID: 10, Start: 11, Agent: 12, Born: 13, Group: 14, Binary: "1.0",
	}, Exit{
		Version: Protocol, Run: "codex-3f9a2c", Code: -1, Signal: "SIGSEGV", OOM: true, At: time.Unix(5, 6).UTC(), LastSeq: 9,
		StartFailed: &spool.StartFailed{Class: "missing"},
	}
}

// TestRecordsOfEachVersionAreKept: the records of a run are written as when the golden ones of their version were made,
// and those of the version before are read whole.
func TestRecordsOfEachVersionAreKept(t *testing.T) {
	spec, shim, exit := records()
	now := t.TempDir()
	for name, v := range map[string]any{SpecName: spec, ShimName: shim, ExitName: exit} {
		if err := WriteRecord(now, name, v, false); err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join("testdata", fmt.Sprint("records-", Protocol), name)
		text, err := os.ReadFile(filepath.Join(now, name))
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := errors.Join(os.MkdirAll(filepath.Dir(kept), 0o755), os.WriteFile(kept, text, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(kept)
		if err != nil {
			t.Fatalf("there is no golden record of this version: run with -update: %v", err)
		}
		if string(want) != string(text) {
			t.Errorf("%s is not what is written now: is Protocol to be raised? Else run with -update", kept)
		}
	}
	for v := oldest; v <= Protocol; v++ {
		dir := filepath.Join("testdata", fmt.Sprint("records-", v))
		gotSpec, err1 := ReadSpec(dir)
		gotShim, err2 := ReadShim(dir)
		gotExit, err3 := ReadExit(dir)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		spec.Version, shim.Version, exit.Version = v, v, v
		if !reflect.DeepEqual(*gotSpec, spec) || !reflect.DeepEqual(*gotShim, shim) || !reflect.DeepEqual(*gotExit, exit) {
			t.Errorf("of version %d was read:\n%+v\n%+v\n%+v", v, gotSpec, gotShim, gotExit)
		}
	}
}
