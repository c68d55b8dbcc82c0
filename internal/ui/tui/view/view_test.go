package view

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"scv/internal/safe/plain"
	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/model"
	"scv/internal/wire"
)

var update = flag.Bool("update", false, "write the golden screens anew")

const session = wire.SessionID("workbench-0123456789abcdef")

// sizes are those at which every screen is kept.
var sizes = [][2]int{{40, 12}, {80, 24}, {120, 40}, {200, 50}}

// at is 12:04:30 on a day, UTC.
var at = time.Date(2026, 11, 30, 12, 4, 30, 0, time.UTC)

func unix(clock string) uint64 {
	c, err := time.Parse("15:04", clock)
	if err != nil {
		panic(err)
	}
	return uint64(time.Date(2026, 11, 30, c.Hour(), c.Minute(), 0, 0, time.UTC).Unix())
}

func job(n uint64, state wire.AgentState, agent, task, detail, since string) wire.Job {
	j := wire.Job{
		Session: session, Job: wire.NewJobID(n), Agent: agent, Task: task, State: state, Workspace: "/home/me/app", Cwd: "/home/me/app",
		StartedBy: wire.OriginOwner, Conversation: new(wire.NewConversationID(agent, n)), CreatedUnixSeconds: unix("09:00") + n, UpdatedUnixSeconds: unix(since),
	}
	if detail != "" {
		j.Detail = &detail
	}
	if state != wire.StateQueued {
		j.Run = new(wire.NewRunHandle(agent, fmt.Sprintf("%06d", n)))
	}
	return j
}

func workbench() *wire.Snapshot {
	interrupted := job(6, wire.StateInterrupted, "codex", "Tidy the build", "the machine went down", "11:30")
	interrupted.Resumable = true
	done := job(3, wire.StateCompleted, "claude", "Explain this repository", "", "10:05")
	done.Usage = &wire.JobUsage{InputTokens: new(uint64(12345)), OutputTokens: new(uint64(678)), CostUSD: new(0.0421)}
	return &wire.Snapshot{
		Jobs: []wire.Job{
			job(15, wire.StateQueued, "codex", "Then run the benchmarks", "", "12:03"),
			job(14, wire.StateWorking, "claude", "Add retry to uploader", "tool", "12:03"),
			job(13, wire.StateWorking, "gemini", "Write docs for the parser", "text", "12:04"),
			job(12, wire.StateAwaitingInput, "codex", "Fix the flaky retry test in net/http", "rm -rf build && make test", "12:03"),
			job(11, wire.StateWorking, "codex", "修复分词器中的内存分配 so that it allocates less in the hot loop", "tool", "12:02"),
			job(9, wire.StateAwaitingInput, "claude", "Migrate config to TOML", "write", "12:01"),
			job(7, wire.StateUnknown, "opencode", "Port tests to testify", "quiet", "11:42"),
			interrupted,
			job(5, wire.StateFailed, "codex", "Bump Go version", "exit 1", "11:02"),
			done,
			job(2, wire.StateCancelled, "codex", "👩‍👩‍👧 emoji, e\u0301 combining, \u202eturned\u202c text and a tail that goes on and on", "", "10:01"),
		},
		Runs: []wire.Run{
			{Handle: "codex-000012", Agent: "codex", Session: session, Transport: wire.TransportACP, Job: new(wire.JobID("job-12")), Cwd: "/home/me/app", State: wire.StateAwaitingInput, Live: true, StartedUnixSeconds: unix("12:00"), LastActivityUnixSeconds: unix("12:03")},
			{Handle: "codex-0000aa", Agent: "codex", Session: session, Transport: wire.TransportACP, Cwd: "/home/me/other", State: wire.StateIdle, Live: true, StartedUnixSeconds: unix("11:50"), LastActivityUnixSeconds: unix("11:55")},
			{Handle: "codex-000005", Agent: "codex", Session: session, Transport: wire.TransportCLI, Jobs: []wire.JobID{"job-5"}, Cwd: "/home/me/app", State: wire.StateFailed, StartedUnixSeconds: unix("11:00")},
		},
		Sessions: []wire.Session{{ID: session, Label: "workbench", Workspace: "/home/me/app", Live: true, State: wire.StateWorking}},
		Approvals: []wire.Approval{
			{ID: "ap-00000000000c", Session: session, Job: "job-12", Name: "shell", Risk: "process", Cwd: "/home/me/app", Summary: "run a command in the shell", Agent: "codex", Tool: "shell", Command: "rm -rf build && make test", Warnings: []string{"it removes files"}, SinceUnixSeconds: unix("12:03"), ExpiresUnixSeconds: wire.NoDeadline, Digest: new("d12")},
			{ID: "ap-000000000009", Session: session, Job: "job-9", Name: "write", Risk: "write", Cwd: "/home/me/src/app", Summary: "config.toml (new file, 41 lines)", SinceUnixSeconds: unix("12:01"), ExpiresUnixSeconds: unix("12:10"), Digest: new("d9")},
		},
		Restorable: []wire.RestorableSession{{ID: "5f1c6e1e-0000-4000-8000-000000000000", Label: "TUI", Workspace: "/home/me/app", Queued: 2, SavedUnixSeconds: unix("09:30")}},
	}
}

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
		case model.Call:
			s.send(model.Called{Then: e.Then, Status: statusFor(e.Cmd)})
		}
	}
}

func statusFor(cmd wire.Command) *wire.DaemonStatus {
	switch cmd.(type) {
	case wire.Why:
		return &wire.DaemonStatus{Why: &wire.WhyReport{Job: "job-12", State: wire.StateAwaitingInput, SinceUnixSeconds: unix("12:03"), Evidence: wire.List[wire.Evidence]{
			{AtMs: unix("12:00") * 1000, Source: "owner", Fact: "started it"}, {AtMs: unix("12:03") * 1000, Source: "agent", Fact: "asked to run a command"},
		}}}
	case wire.JobResultCommand:
		return &wire.DaemonStatus{JobResult: &wire.JobResult{State: wire.StateCompleted, Reply: new("The repository holds a daemon and its clients.\n\n- one\n- two: 中文 in a list")}}
	}
	return &wire.DaemonStatus{}
}

func logOf(source uint64) model.Logged {
	ms := func(clock string, s uint64) uint64 { return (unix(clock) + s) * 1000 }
	return model.Logged{Source: source, Events: []wire.RunEvent{
		{TsMs: ms("12:03", 40), Kind: wire.EventTurnStarted, Text: "Fix the flaky retry test in net/http"},
		{TsMs: ms("12:03", 51), Kind: wire.EventTool, Text: "read internal/lex/token.go"},
		{TsMs: ms("12:03", 58), Kind: wire.EventText, Text: "The hot loop allocates one slice per token, which is why the benchmark spends most of its time in the collector; 我会修复它，然后再运行测试。"},
		{TsMs: ms("12:04", 2), Kind: wire.EventToolFailed, Text: "go test ./net/http: exit 1"},
		{TsMs: ms("12:04", 5), Kind: wire.EventPlan, Text: "3/5 measure again"},
		{TsMs: ms("12:04", 9), Kind: wire.EventApprovalRequested, Text: "rm -rf build && make test", Risk: new("process")},
	}}
}

func agents() []model.Agent {
	return []model.Agent{
		{Name: "claude", Mode: "on-risk", Install: "npm install -g claude", SignIn: "claude login"},
		{Name: "codex", Mode: "on-risk", Path: "/usr/bin/codex", SignIn: "codex login"},
		{Name: "demo", Mode: "auto", Path: "/usr/bin/scv"},
	}
}

// open is the dashboard as it stands a moment after its start.
func open(t *testing.T, cols, rows int, view *wire.Snapshot) *stage {
	s := &stage{t: t, m: model.New(model.Options{NewKey: func() string { return "k" }, Cwd: "/home/me/app", Home: "~/.scv"})}
	effects := s.send(model.Resized{Cols: cols, Rows: rows}, model.Found{Agents: agents()},
		model.Connected{Server: wire.PeerInfo{Name: "scv", Version: "1.2.3"}, Features: []string{wire.FeatureMode, wire.FeatureWhy, wire.FeatureWatch, wire.FeatureResultPage}},
		model.Listed{View: view})
	s.answer(effects)
	return s
}

// scenes are the states of the screen that are kept.
func scenes() map[string]func(s *stage) {
	keys := func(keys ...string) func(*stage) {
		return func(s *stage) { s.answer(s.press(keys...)) }
	}
	return map[string]func(s *stage){
		"all":       func(*stage) {},
		"jobs":      keys("2"),
		"runs":      keys("3"),
		"sessions":  keys("4"),
		"agents":    keys("6"),
		"log":       keys("enter"),
		"result":    keys("enter", "tab"),
		"info":      keys("i"),
		"why":       keys("enter", "tab", "tab", "tab"),
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
