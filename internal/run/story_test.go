package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"scv/internal/agent"
	"scv/internal/run/control"
	"scv/internal/run/fold"
	"scv/internal/run/runlog"
	"scv/internal/run/spool"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A story is a run that daemons which are killed serve one after the other. It is also their ledger.
type story struct {
	Home   string         `json:"home"`
	Cwd    string         `json:"cwd"`
	Kind   string         `json:"kind"`
	Handle wire.RunHandle `json:"handle"`
	Script string         `json:"script"`
	Turns  uint32         `json:"turns"`
	// What the hub has stored.
	Turn    uint32            `json:"turn"`
	Pos     row.Pos           `json:"pos"`
	Ends    []wire.AgentState `json:"ends"`
	Started bool              `json:"started"`
	Over    *row.Life         `json:"over,omitempty"`
}

func (s *story) prompt(turn uint32) string { return fmt.Sprintf("say turn %d\n%s", turn, s.Script) }

func (s *story) wishes() row.Wishes {
	if s.Turn > s.Turns {
		return row.Wishes{Close: true}
	}
	return row.Wishes{Turn: &row.TurnWish{
		Job: wire.NewJobID(uint64(s.Turn)), Session: "s", Number: s.Turn, Prompt: s.prompt(s.Turn), Cwd: s.Cwd,
	}}
}

func (s *story) path() string { return filepath.Join(s.Cwd, "story.json") }

func (s *story) save() error {
	b, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(s.path()+".new", b, 0o600)
	}
	return errors.Join(err, os.Rename(s.path()+".new", s.path()))
}

func newStory(t *testing.T, kind, script string, turns uint32) *story {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	s := &story{
		Home: filepath.Join(dir, "h"), Cwd: dir, Kind: kind, Script: script, Turns: turns, Turn: 1,
		Handle: wire.NewRunHandle(kind, fmt.Sprintf("%06x", rand.Uint32N(1<<24))),
	}
	t.Cleanup(func() {
		if shim, err := control.ReadShim(filepath.Join(s.Home, "runs", string(s.Handle))); err == nil && s.Over == nil {
			_ = syscall.Kill(shim.PID, syscall.SIGTERM)
		}
		_ = os.RemoveAll(dir)
	})
	return s
}

// tell runs daemons until the story is over and returns how many were killed. next says where the i-th is killed.
func (s *story) tell(t *testing.T, seed uint64, next func(i int) (where string, count int)) (killed int) {
	t.Helper()
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
	for i := 0; s.Over == nil; i++ {
		where, count := next(i)
		var errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), os.Args[0], "fake-daemon", s.path(), where, fmt.Sprint(count), fmt.Sprint(seed+uint64(i)))
		cmd.Stderr = &errs
		err := cmd.Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			killed++
		} else if err != nil {
			t.Fatalf("daemon %d: %v\n%s", i, err, &errs)
		}
		text, err := os.ReadFile(s.path())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, s); err != nil {
			t.Fatal(err)
		}
	}
	return killed
}

// straight folds the whole spool at once, into a log of its own, and compares that with what the daemons wrote.
func (s *story) straight(t *testing.T) {
	t.Helper()
	dir := filepath.Join(s.Home, "runs", string(s.Handle))
	exit, err := control.ReadExit(dir)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	log, err := runlog.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	kind, settings, _ := config(nil, nil, nil).Kinds(s.Kind, "")
	f := fold.New(fold.Options{
		Kind: kind, Dialect: kind.New(settings), Mask: config(nil, nil, nil).Mask(), Run: s.Handle, Cwd: s.Cwd, First: 1,
		Prompt: func(turn uint32) fold.Prompt {
			return fold.Prompt{Job: wire.NewJobID(uint64(turn)), Text: s.prompt(turn)}
		},
	})
	r, err := spool.OpenReader(filepath.Join(dir, control.SpoolName), spool.Pos{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s.foldAll(t, log, f, r)
	write(t, log, f.Finish(fold.Finish{At: exit.At, Exit: &agent.Exit{Code: exit.Code, Signal: exit.Signal, OOM: exit.OOM}}))
	want, err := fs.ReadFile(root.FS(), "events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the log is not that of one fold:\n%s\nwant\n%s", got, want)
	}
}

func write(t *testing.T, log *runlog.Log, items []fold.Item) {
	t.Helper()
	for _, item := range items {
		if item.Event == nil {
			continue
		}
		if _, err := log.Append(*item.Event, item.Pos); err != nil {
			t.Fatal(err)
		}
	}
}

// foldAll folds every frame, and checks that no message went to the agent twice.
func (s *story) foldAll(t *testing.T, log *runlog.Log, f *fold.Fold, r *spool.Reader) {
	t.Helper()
	keys := map[string]int{}
	for {
		frame, err := r.Next()
		if errors.Is(err, spool.ErrNotYet) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if frame.Kind == spool.KindIn {
			keys[frame.Key]++
		}
		if err := f.Frame(frame, func(item fold.Item) { write(t, log, []fold.Item{item}) }); err != nil {
			t.Fatal(err)
		}
	}
	for key, n := range keys {
		if n != 1 {
			t.Errorf("message %s was sent %d times", key, n)
		}
	}
}

// counted checks that each turn counted from one, without a gap and without a double.
func (s *story) counted(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Home, "runs", string(s.Handle), "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	last, turns := 0, 0
	for line := range strings.Lines(string(text)) {
		_, rest, ok := strings.Cut(line, `"text":"number `)
		if !ok {
			continue
		}
		var n int
		if _, err := fmt.Sscan(strings.TrimSuffix(strings.Fields(strings.ReplaceAll(rest, `"`, " "))[0], `"`), &n); err != nil {
			t.Fatal(line)
		}
		if n == 1 {
			turns, last = turns+1, 0
		}
		if n != last+1 {
			t.Fatalf("number %d follows %d", n, last)
		}
		last = n
	}
	if turns != int(s.Turns) {
		t.Errorf("%d turns counted", turns)
	}
}
