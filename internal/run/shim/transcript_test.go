package shim_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"scv/internal/run/control"
	"scv/internal/run/spool"
)

var update = flag.Bool("update", false, "write the golden transcript of this version; those of older versions stay")

// transcripts is where what a daemon and a shim say is kept, by the version of what they speak.
const transcripts = "../control/testdata/transcript-%d.txt"

// said are the requests of the golden transcript, each with what there is to say of it in the file.
func said() []string {
	return []string{
		`{"t":"hello","v":1,"run":"RUN"}`,
		`{"t":"status"}`,
		`{"t":"write","n":1,"key":"turn:1","s":"one\n"}`,
		`{"t":"write","n":1,"key":"turn:1","s":"one\n"}`,
		`{"t":"write","n":9,"key":"turn:2","s":"two\n"}`,
		`{"t":"write","n":2,"key":"turn:2","b64":"//4K"}`,
		`{"t":"folded","seq":2}`,
		`{"t":"stop","step":"jump"}`,
		`{"t":"size","size":{"cols":80,"rows":24}}`,
		`{"t":"frobnicate"}`,
		`{"t":"hello","v":1,"run":"another-1"}`,
		`no JSON`,
		`{"t":"write","n":3,"key":"turn:3","eof":true}`,
		`{"t":"write","n":4,"key":"turn:4","s":"late\n"}`,
	}
}

// shimVariables are what differs from one shim to the next.
var shimVariables = regexp.MustCompile(`"(pid|start|agent|seq|unfolded)":\d+`)

func (s *stage) scrub(line string) string {
	return strings.ReplaceAll(shimVariables.ReplaceAllString(line, `"$1":0`), s.run, "RUN")
}

// hold says requests to a shim and returns the whole talk; nudges are left out, since they come when they come.
func (s *stage) hold(requests []string) string {
	s.t.Helper()
	conn, err := net.Dial("unix", s.socket)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	lines := bufio.NewReader(conn)
	var talk strings.Builder
	for _, request := range requests {
		if _, err := fmt.Fprintln(conn, strings.ReplaceAll(request, "RUN", s.run)); err != nil {
			s.t.Fatal(err)
		}
		reply := ""
		for reply == "" || strings.HasPrefix(reply, `{"t":"n"`) {
			if reply, err = lines.ReadString('\n'); err != nil {
				s.t.Fatalf("after %s: %v", request, err)
			}
		}
		fmt.Fprintf(&talk, "> %s\n< %s", request, s.scrub(reply))
	}
	return talk.String()
}

// quiet is a shim whose agent takes what it is told and says nothing until that ends.
func quiet(t *testing.T) *stage {
	t.Helper()
	s := newStage(t, "say up", "readall")
	s.start()
	l, _ := s.dial()
	s.follow(l).untilOut("up")
	return s
}

// TestControlTranscript: a shim answers what it answered when the golden transcript of its version was made, and what one
// of the version before answered, so that a daemon of either goes on with its runs. More fields may be in an answer.
// Who changes what is said raises control.Protocol and makes a transcript for that with -update.
func TestControlTranscript(t *testing.T) {
	file := fmt.Sprintf(transcripts, control.Protocol)
	if *update {
		s := quiet(t)
		if err := os.WriteFile(file, []byte(s.hold(said())), 0o600); err != nil {
			t.Fatal(err)
		}
		s.end()
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("there is no golden transcript of this version: run with -update: %v", err)
	}
	files, err := filepath.Glob(filepath.Dir(file) + "/transcript-*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var version int
		if _, err := fmt.Sscanf(filepath.Base(file), "transcript-%d.txt", &version); err != nil || version+1 < control.Protocol {
			continue // nobody speaks it any more
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			kept, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var requests, want []string
			for line := range strings.Lines(string(kept)) {
				if request, ok := strings.CutPrefix(strings.TrimSpace(line), "> "); ok {
					requests = append(requests, request)
				} else if reply, ok := strings.CutPrefix(strings.TrimSpace(line), "< "); ok {
					want = append(want, reply)
				}
			}
			s := quiet(t)
			i := 0
			for line := range strings.Lines(s.hold(requests)) {
				if reply, ok := strings.CutPrefix(strings.TrimSpace(line), "< "); ok {
					if !within(t, want[i], reply) {
						t.Errorf("to %s it answers %s, and answered %s", requests[i], reply, want[i])
					}
					i++
				}
			}
			s.end()
			if got := text(s.frames(), spool.KindIn); got != "one\n\xff\xfe\n" {
				t.Errorf("the agent was told %q", got)
			}
		})
	}
}

// TestTerminalTranscript is the same for a run with a terminal, whose program gets each byte that was typed once.
func TestTerminalTranscript(t *testing.T) {
	for v := max(1, control.Protocol-1); v <= control.Protocol; v++ {
		kept, err := os.ReadFile(fmt.Sprintf("../control/testdata/terminal-%d.txt", v))
		if err != nil {
			t.Fatal(err)
		}
		var requests, want []string
		for line := range strings.Lines(string(kept)) {
			if request, ok := strings.CutPrefix(strings.TrimSpace(line), "> "); ok {
				requests = append(requests, request)
			} else {
				want = append(want, strings.TrimPrefix(strings.TrimSpace(line), "< "))
			}
		}
		s := newTerminal(t)
		s.spawn.Argv = []string{"/bin/sh", "-c", "stty raw -echo; echo up; exec cat"}
		s.start()
		term := s.look(0)
		until(t, term, "up\n")
		i := 0
		for line := range strings.Lines(s.hold(requests)) {
			if reply, ok := strings.CutPrefix(strings.TrimSpace(line), "< "); ok {
				if !within(t, want[i], reply) {
					t.Errorf("to %s it answers %s, and answered %s", requests[i], reply, want[i])
				}
				i++
			}
		}
		if got := until(t, term, "."); got != "onetwo three." {
			t.Errorf("the program got %q", got)
		}
		l, _ := s.dial()
		if err := l.Stop(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		s.end()
	}
}

// within reports whether every field of one answer is in the other, with the same value.
func within(t *testing.T, old, now string) bool {
	t.Helper()
	var was, is map[string]any
	if err := json.Unmarshal([]byte(old), &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(now), &is); err != nil {
		t.Fatal(err)
	}
	for key, value := range was {
		if fmt.Sprint(is[key]) != fmt.Sprint(value) {
			return false
		}
	}
	return true
}
