package view

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/keys"
	"scv/internal/ui/tui/model"
	"scv/internal/wire"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// sizes are those at which every screen is kept.
var sizes = [][2]int{{40, 12}, {80, 24}, {120, 40}, {200, 50}}

// A stage plays a scene.
type stage struct {
	t *testing.T
	m *model.Model
}

func (s *stage) send(msgs ...model.Msg) (effects []model.Effect) {
	for _, msg := range msgs {
		effects = append(effects, s.m.Update(msg, at)...)
	}
	return effects
}

func (s *stage) press(keys ...string) (effects []model.Effect) {
	for _, key := range keys {
		if text, ok := strings.CutPrefix(key, "type:"); ok {
			for _, r := range text {
				effects = append(effects, s.send(model.Key{Name: string(r), Text: string(r)})...)
			}
			continue
		}
		k := model.Key{Name: key}
		if len(key) == 1 {
			k.Text = key
		}
		effects = append(effects, s.send(k)...)
	}
	return effects
}

// answer gives what the model asks for.
func (s *stage) answer(effects []model.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case model.Follow:
			if e.Run != "" {
				s.send(logOf(e.Source))
			}
		case model.Attach:
			s.send(model.Screened{Source: e.Source, Page: terminalPage(e.Cols, e.Rows)})
		case model.Compare:
			s.send(model.Compared{Then: e.Then, Diff: &model.Difference{
				Base: "3f9a2c52c1b0", Stat: " net/http/retry.go | 4 ++--\n 1 file changed\n",
				Patch: "diff --git a/net/http/retry.go b/net/http/retry.go\n--- a/net/http/retry.go\n+++ b/net/http/retry.go\n@@ -1,2 +1,2 @@\n package http\n-\tretry(1)\n+\tretry(3) // 重试三次\n", Left: 900_000,
			}})
		case model.Call:
			s.send(model.Called{Then: e.Then, Status: statusFor(e.Cmd)})
		}
	}
}

// open is the dashboard as it stands a moment after its start.
func open(t *testing.T, cols, rows int, view *wire.Snapshot) *stage {
	s := &stage{t: t, m: model.New(model.Options{NewKey: func() string { return "k" }, Cwd: "/home/me/app", Home: "~/.scv"})}
	effects := s.send(model.Resized{Cols: cols, Rows: rows}, model.Found{Agents: agents()},
		model.Connected{Server: wire.PeerInfo{Name: "scv", Version: "1.2.3"}, Features: []string{wire.FeatureMode, wire.FeatureWhy, wire.FeatureWatch, wire.FeatureResultPage, wire.FeatureApprovals, wire.FeatureDiff, wire.FeatureForecast, wire.FeatureWorktree}},
		model.Listed{View: view})
	s.answer(effects)
	return s
}

// scenes are the states of the screen that are kept.
func scenes() map[string]func(s *stage) {
	keys := func(keys ...string) func(*stage) {
		return func(s *stage) { s.answer(s.press(keys...)) }
	}
	all := map[string]func(s *stage){
		"all":       func(*stage) {},
		"jobs":      keys("2"),
		"runs":      keys("3"),
		"sessions":  keys("4"),
		"agents":    keys("6"),
		"log":       keys("enter"),
		"diff":      keys("d"),
		"forecast":  keys("j", "enter", "shift-tab"),
		"deny":      keys("A", "N", "type:use the staging host"),
		"answers":   keys("A", "m"),
		"trees":     keys("5"),
		"tree":      keys("5", "enter"),
		"takeover":  keys("t"),
		"result":    keys("enter", "tab", "tab"),
		"info":      keys("i"),
		"why":       keys("enter", "tab", "tab", "tab", "tab"),
		"usage":     keys("enter", "shift-tab"),
		"approvals": keys("A"),
		"filter":    keys("/", "type:state:failed|waits"),
		"mine":      keys("!"),
		"marks":     keys(" ", "space", "space", "j", "space"),
		"send":      keys("s", "type:also the docs", "ctrl-j", "type:中文也可以", "tab"),
		"form":      keys("n", "type:Fix the tokenizer", "ctrl-j", "type:and measure it"),
		"palette":   keys(":"),
		"help":      keys("?", "type:approv"),
		"copy":      keys("y"),
		"stop":      keys("x"),
		"refused":   keys("r"),
		"offline":   func(s *stage) { s.send(model.Lost{Why: "the daemon went away"}) },
		"disk": func(s *stage) {
			s.send(model.Lost{Why: "no daemon runs"}, model.Listed{View: workbench(), Disk: true})
		},
		"readonly": func(s *stage) {
			v := workbench()
			v.Storage = "the ledger cannot be written: no space left on device; changes are refused until there is"
			s.send(model.Listed{View: v})
		},
	}
	maps.Copy(all, chatScenes())
	return all
}

func screenText(f canvas.Frame) string {
	var b strings.Builder
	for _, row := range f.Rows {
		b.WriteString(row.String() + "\n")
	}
	if f.Typing {
		fmt.Fprintf(&b, "cursor %d %d\n", f.Cursor.Row, f.Cursor.Col)
	}
	fmt.Fprintf(&b, "title %s\n", f.Title)
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (go test ./internal/ui/tui/view -update writes it anew):\n%s", name, diff)
	}
}

// holds are the rules that every frame keeps.
func holds(t *testing.T, f canvas.Frame, cols, rows int) {
	t.Helper()
	if len(f.Rows) != rows {
		t.Fatalf("%d rows at %dx%d", len(f.Rows), cols, rows)
	}
	for i, row := range f.Rows {
		if w := row.Width(); w != max(cols-1, 0) {
			t.Errorf("row %d is %d wide at %dx%d: %q", i, w, cols, rows, row.String())
		}
		for _, s := range row {
			for _, r := range s.Text {
				if r < 0x20 || r >= 0x7f && r <= 0x9f || plain.Hidden(r) && r != 0x200d {
					t.Errorf("row %d holds %U", i, r)
				}
				if r == '…' || r >= 0x2500 && r <= 0x257f {
					t.Errorf("row %d holds %q, which is two cells wide in some terminals (E6)", i, r)
				}
			}
		}
	}
	if f.Typing && (f.Cursor.Row < 0 || f.Cursor.Row >= rows || f.Cursor.Col < 0 || f.Cursor.Col >= cols) {
		t.Errorf("the cursor is at %v of %dx%d", f.Cursor, cols, rows)
	}
}

func TestE4_EveryScreen(t *testing.T) {
	for name, play := range scenes() {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				s := open(t, size[0], size[1], workbench())
				play(s)
				f := View(s.m)
				holds(t, f, size[0], size[1])
				golden(t, fmt.Sprintf("%s_%dx%d", name, size[0], size[1]), screenText(f))
			})
		}
	}
}

func TestE32_FirstRun(t *testing.T) {
	none := agents()[:1]
	for name, found := range map[string][]model.Agent{"no_agent": none, "first_job": agents()} {
		for _, size := range sizes {
			s := open(t, size[0], size[1], &wire.Snapshot{})
			s.send(model.Found{Agents: found})
			f := View(s.m)
			holds(t, f, size[0], size[1])
			golden(t, fmt.Sprintf("%s_%dx%d", name, size[0], size[1]), screenText(f))
		}
	}
}

func TestE5_EverySizeInEveryState(t *testing.T) {
	widths := []int{0, 1, 2, 10, 20, 39, 40, 41, 59, 60, 61, 79, 80, 100, 159, 160, 161, 250, 400, 1000}
	heights := []int{0, 1, 2, 3, 9, 10, 11, 12, 13, 19, 20, 21, 24, 50, 100, 400}
	for name, play := range scenes() {
		s := open(t, 80, 24, workbench())
		play(s)
		for _, w := range widths {
			for _, h := range heights {
				s.send(model.Resized{Cols: w, Rows: h})
				holds(t, View(s.m), w, h)
			}
		}
		if t.Failed() {
			t.Fatalf("in %s", name)
		}
	}
}

func TestE7_StatesAreToldByWord(t *testing.T) {
	for s := range wire.AgentState(wire.AgentStates) {
		st := open(t, 100, 24, &wire.Snapshot{Jobs: []wire.Job{job(1, s, "codex", "x", "", "12:00")}})
		text := screenText(View(st.m))
		if !strings.Contains(text, stateWord(s)) {
			t.Errorf("%s is not told by its word:\n%s", s, text)
		}
	}
}

func TestViewIsPure(t *testing.T) {
	for name, play := range scenes() {
		s := open(t, 120, 40, workbench())
		play(s)
		a, b := View(s.m), View(s.m)
		if !a.Equal(&b) {
			t.Errorf("%s: two frames of one model differ", name)
		}
	}
}

func TestT35_HostileTextsReachNoScreen(t *testing.T) {
	const hostile = "x\x1b]52;c;aGk=\x07\x1b[2J\u009b31m\u202e\x00\r\n\x7f\u200b你"
	v := workbench()
	for i := range v.Jobs {
		j := &v.Jobs[i]
		j.Task, j.Agent, j.Cwd, j.Detail, j.Workspace = hostile, hostile, hostile, new(hostile), hostile
		j.Conversation, j.Run = new(wire.ConversationID(hostile)), new(wire.RunHandle(hostile))
	}
	for i := range v.Approvals {
		a := &v.Approvals[i]
		a.Summary, a.Name, a.Risk, a.Cwd, a.ID, a.Job = hostile+strings.Repeat("long ", 300), hostile, hostile, hostile, wire.ApprovalID(hostile), wire.JobID(hostile)
		a.Command, a.Tool, a.Agent, a.Diff, a.Paths, a.Warnings, a.Left = hostile+"\n"+hostile, hostile, hostile, hostile+"\n"+hostile, []string{hostile}, []string{hostile}, 9
	}
	v.Sessions[0].Label, v.Sessions[0].Workspace = hostile, hostile
	v.Restorable[0].Label, v.Runs[1].Cwd, v.Storage = hostile, hostile, hostile
	for name, play := range scenes() {
		for _, size := range sizes {
			s := open(t, size[0], size[1], v)
			play(s)
			s.send(model.Told{Text: hostile})
			holds(t, View(s.m), size[0], size[1])
			s.send(model.Lost{Why: hostile}, model.Pasted{Text: hostile})
			holds(t, View(s.m), size[0], size[1])
			if t.Failed() {
				t.Fatalf("in %s at %v", name, size)
			}
		}
	}
}

// TestTheLastRowNamesTheKeysOfTheOwner who gave some of them other keys; so do the approvals above.
func TestTheLastRowNamesTheKeysOfTheOwner(t *testing.T) {
	r, err := keys.NewRemap(map[string]string{"n": "f5", "A": "f6", "q": "ctrl-g"}, model.Keys())
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range sizes {
		s := open(t, size[0], size[1], workbench())
		before := screenText(View(s.m))
		s.m.Opts.Keys = r
		text := screenText(View(s.m))
		for was, is := range map[string]string{"n new": "f5 new", "A approvals": "f6 approvals", "A appr.": "f6 appr.", "A focus": "f6 focus", "q quit": "ctrl-g quit", "n deny": "f5 deny"} {
			if strings.Contains(before, " "+was) && (strings.Contains(text, " "+was) || !strings.Contains(text, is)) {
				t.Errorf("%dx%d names %q and not %q:\n%s", size[0], size[1], was, is, text)
			}
		}
		if !strings.Contains(before, " A ") {
			t.Errorf("%dx%d names no key for approvals:\n%s", size[0], size[1], before)
		}
	}
}
