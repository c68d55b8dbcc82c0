package view

import (
	"fmt"
	"strings"
	"time"

	"scv/internal/ui/tui/model"
	"scv/internal/wire"
)

const session = wire.SessionID("workbench-0123456789abcdef")

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
	waits := job(9, wire.StateAwaitingInput, "claude", "Migrate config to TOML", "write", "12:01")
	waits.Worktree = &wire.WorktreeRef{Path: "/home/me/.scv/trees/claude-77aa01", Branch: "scv/toml"}
	waits.Facts = &wire.JobFacts{Files: 3, Uncommitted: 1, Commits: 2, Tests: []wire.TestRun{{Command: "go test ./...", Passed: true}, {Command: "make check", Exit: new(uint32(2))}}}
	asks := job(12, wire.StateAwaitingInput, "codex", "Fix the flaky retry test in net/http", "rm -rf build && make test", "12:03")
	asks.Attach = &wire.AttachOffer{State: wire.AttachReady}
	return &wire.Snapshot{
		Forecast: &wire.Forecast{
			UnixSeconds: unix("12:02"),
			Branches:    []wire.ForecastBranch{{Job: session.Ref("job-9"), Branch: "scv/toml", Files: 3, Loose: 1}, {Job: session.Ref("job-12"), Branch: "scv/fix-the-flaky-retry", Files: 2, Base: []string{"go.mod"}, Onto: "refs/heads/main"}, {Job: session.Ref("job-14"), Branch: "scv/retry", Files: 1}},
			Conflicts:   []wire.ForecastConflict{{One: session.Ref("job-9"), Other: session.Ref("job-12"), Files: wire.List[string]{"config.go", "main.go"}}},
		},
		Jobs: []wire.Job{
			job(15, wire.StateQueued, "codex", "Then run the benchmarks", "", "12:03"),
			job(14, wire.StateWorking, "claude", "Add retry to uploader", "tool", "12:03"),
			job(13, wire.StateWorking, "gemini", "Write docs for the parser", "text", "12:04"),
			asks,
			job(11, wire.StateWorking, "codex", "修复分词器中的内存分配 so that it allocates less in the hot loop", "tool", "12:02"),
			waits,
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

// terminalPage is what an agent's terminal shows: wide text, colours, and hostile text in it.
func terminalPage(cols, rows int) wire.AttachPage {
	return wire.AttachPage{
		Full: true, Cols: uint16(cols), Rows: uint16(rows), Cursor: &[2]uint16{3, 2}, Note: new("a note\x1b[2J"),
		Lines: []wire.AttachRow{
			{Row: 0, Spans: []wire.AttachSpan{{Text: "Welcome 欢迎", Bold: true, Fg: wire.IndexColor(4)}, {Text: strings.Repeat("=世", 300), Bg: wire.RGBColor(1, 2, 3)}}},
			{Row: 1, Spans: []wire.AttachSpan{{Text: "a\x1b]52;c;aGk=\x07\u202eb\x9b2J", Inverse: true}, {Text: "❤", Cells: 2, Underline: true}, {Text: "after", Italic: true}}},
			{Row: 3, Spans: []wire.AttachSpan{{Text: "> "}}},
			{Row: 199, Spans: []wire.AttachSpan{{Text: "below the window"}}},
		},
	}
}

func statusFor(cmd wire.Command) *wire.DaemonStatus {
	switch cmd.(type) {
	case wire.WorktreesCommand:
		return &wire.DaemonStatus{Worktrees: []wire.WorktreeInfo{
			{WorktreeRef: wire.WorktreeRef{Path: "/home/me/.scv/trees/codex-3f9a2c", Branch: "scv/fix-the-flaky-retry", Repo: "/home/me/app"}, Dirty: new(true), Jobs: []wire.JobRef{session.Ref("job-12")}, Ahead: new(uint64(2)), Behind: new(uint64(0)), TrackedBytes: new(uint64(48 << 10)), IgnoredBytes: new(uint64(3 << 20))},
			{WorktreeRef: wire.WorktreeRef{Path: "/home/me/.scv/trees/claude-77aa01", Branch: "scv/toml", Repo: "/home/me/app"}, Dirty: new(false), Merged: new(true)},
			{WorktreeRef: wire.WorktreeRef{Path: "/home/me/.scv/trees/gone", Branch: "scv/gone", Repo: "/home/me/app"}, Problem: new("its repository is gone")},
		}}
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
