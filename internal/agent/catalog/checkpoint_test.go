package catalog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/agent"
	"scv/internal/agent/catalog"
	"scv/internal/agent/demo"
	"scv/internal/run/fold"
	"scv/internal/run/fold/foldtest"
	"scv/internal/run/spool"
	"scv/internal/testkit/realagent"
)

var update = flag.Bool("update", false, "write the golden checkpoints of this version; those of older versions stay")

// A kept is a checkpoint as a build wrote it: after so many frames of a recording.
type kept struct {
	Frame      int              `json:"frame"`
	Checkpoint *fold.Checkpoint `json:"checkpoint"`
}

// A spoken is a dialect with something that was said in it.
type spoken struct {
	kind      agent.Kind
	recording realagent.Recording
}

// dialects are all of this release, by the name that a checkpoint carries.
func dialects(t *testing.T) map[string]spoken {
	t.Helper()
	load := func(file string) realagent.Recording { return realagent.Load(t, filepath.Join("..", file)) }
	builtin := map[string]catalog.Entry{}
	for _, e := range catalog.Builtin() {
		builtin[e.Name()] = e
	}
	entry := func(kind, text string) realagent.Entry { return realagent.Entry{Kind: kind, Text: text} }
	words := realagent.Recording{entry("start", ""), entry("out", "half a li"), entry("out", "ne\nthe rest\n"), entry("exit", "")}
	said := realagent.Recording{
		entry("start", ""), entry("out", `{"type":"session","id":"s-1"}`+"\n"), entry("out", `{"type":"text","text":"half"}`+"\n"+`{"type":"te`),
		entry("out", `xt","text":"rest"}`+"\n"), entry("out", `{"type":"done"}`+"\n"), entry("exit", ""),
	}
	asked := realagent.Recording{
		entry("start", ""), entry("out", `{"type":"hello","session":"s-1"}`+"\n"),
		{Kind: "in", Key: "turn:1", Text: `{"key":"turn:1","text":"x"}` + "\n"},
		entry("out", `{"type":"ask","id":"ask-1","tool":"shell","risk":"process","text":"a"}`+"\n"),
		entry("out", `{"type":"ask","id":"ask-2","tool":"shell","risk":"process","text":"b"}`+"\n"),
		{Kind: "in", Key: "answer:x", Text: `{"type":"answer","id":"ask-1","verdict":"allow"}` + "\n"},
		entry("out", `{"type":"done"}`+"\n"), entry("exit", ""),
	}
	return map[string]spoken{
		"codex":       {*builtin["codex"].CLI, load("codex/testdata/tool.jsonl")},
		"codex-live":  {*builtin["codex"].Live, load("codex/testdata/live-approvals.jsonl")},
		"claude":      {*builtin["claude"].CLI, load("claude/testdata/denied.jsonl")},
		"claude-live": {*builtin["claude"].Live, load("claude/testdata/live-approvals.jsonl")},
		"gemini":      {*builtin["gemini"].CLI, load("gemini/testdata/tool.jsonl")},
		"opencode":    {*builtin["opencode"].CLI, load("opencode/testdata/tool.jsonl")},
		"acp":         {catalog.Gemini(), load("acp/testdata/gemini-talk.jsonl")},
		"demo":        {*builtin["demo"].CLI, said},
		"demo-live":   {demo.LiveKind(), asked},
		"nested":      {*builtin["scv"].Live, load("nested/testdata/talk.jsonl")},
		"plain":       {catalog.Plain("mine", "mine", true), words},
	}
}

func (s spoken) options() fold.Options {
	return foldtest.Options(s.kind, agent.Settings{}, "the prompt")
}

// checkpoints are those of this build at a few places: in the middle, where most is open, and before the end.
func (s spoken) checkpoints(t *testing.T, frames []spool.Frame) []kept {
	t.Helper()
	f := fold.New(s.options())
	byFrame, size, most := map[int]*fold.Checkpoint{}, 0, 0
	for i := range frames {
		if err := f.Frame(frames[i], func(fold.Item) {}); err != nil {
			t.Fatal(err)
		}
		c, ok, err := f.Checkpoint()
		if err != nil || !ok {
			t.Fatalf("after frame %d: %v, %v", i+1, ok, err)
		}
		// What it holds is used further.
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		byFrame[i+1] = new(fold.Checkpoint)
		if err := json.Unmarshal(text, byFrame[i+1]); err != nil {
			t.Fatal(err)
		}
		if len(text) > size {
			size, most = len(text), i+1
		}
	}
	places := map[int]bool{len(frames) / 2: true, most: true, len(frames) - 1: true}
	var out []kept
	for _, n := range slices.Sorted(maps.Keys(places)) {
		out = append(out, kept{n, byFrame[n]})
	}
	return out
}

func lines(t *testing.T, list []kept) []byte {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for _, k := range list {
		if err := encoder.Encode(k); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func golden(dialect string, layout, version uint32) string {
	return fmt.Sprintf("testdata/checkpoint/%s-%d.%d.jsonl", dialect, layout, version)
}

// TestCheckpointsOfEachVersionAreKept: what this build writes is what it wrote when the version's golden file was made.
// Who changes the form of a state raises the dialect's version, or the layout's, and makes a file for that with -update;
// the file of the version before stays, since that has to be read.
func TestCheckpointsOfEachVersionAreKept(t *testing.T) {
	all := dialects(t)
	names := map[string]bool{"acp": true, "plain": true}
	for _, e := range catalog.Builtin() {
		for _, kind := range []*agent.Kind{e.CLI, e.Live} {
			if kind != nil {
				names[agent.Choose(kind.Dialect, kind.Name)] = true
			}
		}
	}
	for name := range names {
		s, ok := all[name]
		if !ok {
			t.Errorf("the dialect %s has no recording here", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			file := golden(name, fold.Version, s.kind.Version)
			text := lines(t, s.checkpoints(t, s.recording.Frames()))
			if *update {
				if err := os.WriteFile(file, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("there is no golden checkpoint of this version: run with -update: %v", err)
			}
			if !bytes.Equal(want, text) {
				t.Errorf("%s is not what is written now: is the version to be raised? Else run with -update", file)
			}
		})
	}
}

// TestOlderCheckpointsAreRead: a run goes on from each golden checkpoint of this version and of the one before as if it
// had never been left, and one of a later version, or of one too old, is refused with the numbers of both.
func TestOlderCheckpointsAreRead(t *testing.T) {
	all := dialects(t)
	files, err := filepath.Glob("testdata/checkpoint/*.jsonl")
	if err != nil || len(files) < len(all) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			parts := regexp.MustCompile(`^(.+)-(\d+)\.(\d+)\.jsonl$`).FindStringSubmatch(filepath.Base(file))
			if parts == nil {
				t.Fatal("its name holds no versions")
			}
			layout, err1 := strconv.Atoi(parts[2])
			version, err2 := strconv.ParseUint(parts[3], 10, 32)
			s, known := all[parts[1]]
			if err := errors.Join(err1, err2); err != nil || !known {
				t.Fatalf("it is of no dialect: %v", err)
			}
			if layout+1 < fold.Version || uint32(version)+1 < s.kind.Version {
				return // nobody has to read it any more
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(data) {
				var k kept
				if err := json.Unmarshal(line, &k); err != nil {
					t.Fatal(err)
				}
				s.goesOn(t, k)
				s.refuses(t, k)
			}
		})
	}
}

// goesOn compares what is folded from a checkpoint with what is folded from the beginning.
func (s spoken) goesOn(t *testing.T, k kept) {
	t.Helper()
	frames := s.recording.Frames()
	rest := func(f *fold.Fold, from int) (tail []string) {
		for i := from; i < len(frames); i++ {
			err := f.Frame(frames[i], func(item fold.Item) {
				if i < k.Frame {
					return
				}
				text, err := json.Marshal(item)
				if err != nil {
					t.Fatal(err)
				}
				tail = append(tail, string(text))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return tail
	}
	restored := newFold(s)
	if err := restored.Restore(k.Checkpoint); err != nil {
		t.Fatalf("after frame %d: %v", k.Frame, err)
	}
	if diff := cmp.Diff(rest(newFold(s), 0), rest(restored, k.Frame)); diff != "" {
		t.Errorf("from the checkpoint after frame %d (-whole +so):\n%s", k.Frame, diff)
	}
}

func newFold(s spoken) *fold.Fold { return fold.New(s.options()) }

// refuses gives it checkpoints of other versions.
func (s spoken) refuses(t *testing.T, k kept) {
	t.Helper()
	for _, c := range []struct {
		change func(*fold.Checkpoint)
		says   string
	}{
		{func(c *fold.Checkpoint) { c.Version = fold.Version + 1 }, fmt.Sprintf("it is version %d", fold.Version+1)},
		{func(c *fold.Checkpoint) { c.Format = s.kind.Version + 1 }, fmt.Sprintf("%d, known are", s.kind.Version+1)},
		{func(c *fold.Checkpoint) { c.Format = s.kind.Version - 2 }, "known are"},
		{func(c *fold.Checkpoint) { c.Dialect = "another" }, "another"},
	} {
		other := *k.Checkpoint
		c.change(&other)
		err := newFold(s).Restore(&other)
		known := fmt.Sprintf("known are version %d", fold.Version)
		if !errors.Is(err, fold.ErrUnknownCheckpoint) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), known) {
			t.Errorf("want %q and %q: %v", c.says, known, err)
		}
	}
}
