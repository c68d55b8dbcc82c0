package nested_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/nested"
	"scv/internal/daemon"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/run/fold/foldtest"
	"scv/internal/testkit/fakemodel"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

var update = flag.Bool("update", false, "record anew; once more: write the golden files")

// TestMain is also the nested scv of the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "server" {
		if err := serve(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "scv:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func serve(args []string) error {
	if len(args) != 3 || args[0] != "--stdio" || args[1] != "--policy" {
		return fmt.Errorf("started with %q", args)
	}
	h, err := home.Open(os.Getenv("SCV_HOME"))
	if err != nil {
		return err
	}
	load := func() (*config.Config, error) {
		return config.Load(h, os.Environ(), config.Overrides{Mode: args[2]})
	}
	c, err := load()
	if err != nil {
		return err
	}
	return daemon.ServeStdio(context.Background(), daemon.Options{
		Home: h, Config: c, Settings: load, Version: "1", Environ: os.Environ(), Stderr: os.Stderr,
	}, os.Stdin, os.Stdout)
}

// nest is a nested scv with a model of the test.
func nest(t *testing.T) (*realagent.Agent, map[string]string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := &realagent.Agent{Path: exe, Kind: nested.Kind(), Model: fakemodel.Start(t), Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}
	for _, dir := range []string{"home", "work", "run"} {
		if err := os.Mkdir(filepath.Join(a.Dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf("[provider]\nkind = \"openai\"\nbase_url = %q\nmodel = \"fake\"\napi_key = \"sk-test-0123456789abcdef\"\n[provider_limits]\nmax_retries = 0\n", a.Model.URL+"/v1")
	if err := os.WriteFile(filepath.Join(a.Dir, "home", "config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return a, map[string]string{"SCV_HOME": filepath.Join(a.Dir, "home"), "HOME": a.Dir}
}

// owner answers what is asked, by turn; a turn that is not named is denied.
func owner(f agent.Fact, w *agent.Wishes) {
	if f.Kind != agent.FactApprovalAsked {
		return
	}
	if f.Turn == 3 {
		w.Cancel = f.Turn
		return
	}
	w.Answers = append(w.Answers, agent.Answer{
		Key: "answer:" + f.Approval.Request, Request: f.Approval.Request, Approved: f.Turn == 1,
	})
}

// TestC16_ATalkWithANestedSCV asks, allows, denies, cancels with a question open, and fails, in one process; the golden
// recording says the same from every place that it can be taken up at.
func TestC16_ATalkWithANestedSCV(t *testing.T) {
	a, env := nest(t)
	turn := func(prompt string) agent.Turn { return agent.Turn{Prompt: prompt, Mode: agent.ModeOnRisk} }
	run := func(command, answer string) string { return `@@tool:bash:{"command":"` + command + `"}|say:` + answer }
	recording, facts := a.Talk(t, realagent.Conversation{
		Kind: a.Kind, Extra: env, Say: owner,
		Turns: []agent.Turn{
			turn(run("echo ran > ran-1", "first answer")), turn(run("echo ran > ran-2", "second answer")),
			turn(run("echo ran > ran-3", "never")), turn("@@err:401"), turn("@@hist"),
		},
	})
	if *update {
		recording.Save(t, "testdata/talk.jsonl", a.Scrub())
	}
	var ends []row.End
	for _, step := range foldtest.Steps(recording.Check(t, a.Kind)) {
		if step.Kind == row.StepTurnEnded {
			ends = append(ends, *step.End)
		}
	}
	want := []wire.AgentState{wire.StateCompleted, wire.StateCompleted, wire.StateCancelled, wire.StateFailed, wire.StateCompleted}
	if len(ends) != len(want) {
		t.Fatalf("%d turns ended", len(ends))
	}
	for i, state := range want {
		if ends[i].State != state {
			t.Errorf("turn %d is %s (%s), want %s", i+1, ends[i].State, ends[i].Detail, state)
		}
	}
	if ends[0].Reply != "first answer" || ends[3].Class != string(agent.ClassAuth) || !strings.Contains(ends[4].Reply, "hist") {
		t.Errorf("ended %+v", ends)
	}
	for file, there := range map[string]bool{"ran-1": true, "ran-2": false, "ran-3": false} {
		if _, err := os.Stat(filepath.Join(a.Dir, "work", file)); (err == nil) != there {
			t.Errorf("%s is there: %v", file, err == nil)
		}
	}
	for _, f := range facts {
		if f.Kind == agent.FactApprovalAsked && (f.Approval.Risk != agent.RiskProcess || !strings.HasPrefix(f.Approval.Command, "echo ran > ran-")) {
			t.Errorf("asked %+v", f.Approval)
		}
	}
}

// TestRecordedTalk replays the recording against its golden facts.
func TestRecordedTalk(t *testing.T) {
	items := realagent.Load(t, "testdata/talk.jsonl").Check(t, nested.Kind())
	realagent.Golden(t, "testdata/talk.golden", realagent.Render(items), *update)
}

// TestPlan_SaysWhatANestedSCVCannotDo before anything is started.
func TestPlan_SaysWhatANestedSCVCannotDo(t *testing.T) {
	d := nested.Kind().New(agent.Settings{})
	if _, err := d.Plan(agent.Turn{Number: 1, Prompt: "x", Effort: "high"}); err == nil || !strings.Contains(err.Error(), "effort") {
		t.Errorf("an effort: %v", err)
	}
	launch, err := d.Plan(agent.Turn{Number: 2, Prompt: "x", Mode: agent.ModeReadOnly})
	if err != nil || !strings.Contains(launch.Note, "does not know the earlier prompts") || strings.Join(launch.Argv, " ") != "scv server --stdio --policy read-only" {
		t.Errorf("%+v %v", launch, err)
	}
}

// TestHandshakeThatFails ends the turn with what was said, and the process is closed.
func TestHandshakeThatFails(t *testing.T) {
	for _, line := range []string{
		`{"type":"error","request_id":"1","code":"version_mismatch","message":"another version","fatal":true}`,
		`{"type":"initialized","request_id":"1","protocol_version":4,"server":{"name":"scv","version":"9"}}`,
	} {
		d := nested.Kind().New(agent.Settings{})
		wishes := agent.Wishes{Turn: &agent.Turn{Number: 1, Key: "turn:1", Prompt: "x", Cwd: "/w"}}
		d.Feed(agent.Input{Kind: agent.InputStarted})
		m, ok := d.Next(wishes, 1)
		if !ok {
			t.Fatal("nothing is said")
		}
		d.Feed(agent.Input{Kind: agent.InputSent, Key: m.Key, N: 1, Line: m.Bytes})
		facts := d.Feed(agent.Input{Kind: agent.InputOut, Line: []byte(line)})
		if len(facts) != 1 || facts[0].Kind != agent.FactTurnEnded || facts[0].Outcome.State != wire.StateFailed || !strings.Contains(facts[0].Outcome.Detail, "version") {
			t.Errorf("%s: %+v", line, facts)
		}
		if m, ok := d.Next(agent.Wishes{}, 2); !ok || !m.EOF {
			t.Errorf("after %s: %+v", line, m)
		}
	}
}
