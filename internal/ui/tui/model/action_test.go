package model

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/ui/tui/keys"
	"scv/internal/wire"
)

func TestE10_DestroyingAsksAndNamesTheThing(t *testing.T) {
	for _, tt := range []struct {
		state wire.AgentState
		key   string
		want  wire.Command
		asks  string
	}{
		{wire.StateWorking, "x", wire.WorkbenchCancel{Session: session, Job: "job-7", Key: "key-1"}, `Stop job-7 "seven"? What it did stays.`},
		{wire.StateFailed, "D", wire.WorkbenchDismiss{Session: session, Job: "job-7", Key: "key-1"}, `Remove job-7 "seven" from the list? Files and branches stay.`},
	} {
		d := newDesk(t, job(7, tt.state, "seven"))
		d.press(tt.key)
		if d.m.Focus != OnConfirm || d.m.Ask.Text != tt.asks {
			t.Fatalf("%s asks %q", tt.key, d.m.Ask.Text)
		}
		for _, no := range []string{"enter", "n", tt.key, "esc", "space"} {
			d.press(no)
			if d.m.Focus != OnList || len(d.commands()) != 0 {
				t.Errorf("%s answered with yes", no)
			}
			d.press(tt.key)
		}
		d.press("y")
		if diff := cmp.Diff([]wire.Command{tt.want}, d.commands()); diff != "" {
			t.Error(diff)
		}
	}
	d := newDesk(t, job(7, wire.StateCompleted, "seven"))
	d.press("x")
	if d.m.Focus != OnList || d.m.Notice.Text != "stop: it has ended" {
		t.Errorf("stopping an ended job: %q", d.m.Notice.Text)
	}
}

func TestE11_HelpListsEveryBoundKey(t *testing.T) {
	d := newDesk(t, job(1, wire.StateWorking, "one"))
	d.press("?")
	listed := map[string]bool{}
	for _, e := range d.m.Menu.Entries {
		for key := range strings.FieldsSeq(e.Keys) {
			listed[key] = true
		}
		if e.Title == "" {
			t.Errorf("%q has no name", e.Keys)
		}
	}
	for _, key := range Keys() {
		if !listed[key] {
			t.Errorf("the help does not tell of %q", key)
		}
	}
	// A key that the table does not have does nothing.
	for _, r := range "fuvzBCEFHIJKLMOPQSTUVWXYZ0789@#$%^&*()[]{}" {
		d := newDesk(t, job(1, wire.StateWorking, "one"))
		d.press(string(r))
		if got := d.take(); len(got) != 0 || d.m.Focus != OnList || d.m.Notice.Text != "" {
			t.Errorf("%q is not in the table and did %v, %q", r, got, d.m.Notice.Text)
		}
	}
}

func TestHelpIsSearchableAndExecutable(t *testing.T) {
	d := newDesk(t, job(1, wire.StateWorking, "one"))
	d.press("?", "type:new JOB jobs start")
	if n := len(d.m.Menu.Entries); n != 1 {
		t.Fatalf("%d entries match", n)
	}
	d.press("enter")
	if d.m.Focus != OnForm {
		t.Errorf("enter did not open the form: focus %d, %q", d.m.Focus, d.m.Notice.Text)
	}
	d.press("esc", ":", "type:resume", "enter")
	if want := "resume what was interrupted: only what was interrupted is resumed"; d.m.Notice.Text != want {
		t.Errorf("a thing that cannot be done says %q", d.m.Notice.Text)
	}
}

func TestSendLine(t *testing.T) {
	d := newDesk(t, job(1, wire.StateWorking, "one"))
	d.press("s", "type:also the docs", "ctrl-j", "type:please", "tab", "enter")
	want := []wire.Command{wire.WorkbenchSend{Session: session, Conversation: "codex-1", Prompt: "also the docs\nplease", Mode: wire.SendQueue, Key: "key-1"}}
	effects := d.take()
	d.done = effects
	if diff := cmp.Diff(want, d.commands()); diff != "" {
		t.Fatal(diff)
	}
	// A refused text comes back.
	for _, e := range effects {
		if call, ok := e.(Call); ok {
			d.send(Called{Then: call.Then, Err: wire.Refuse(wire.ReasonNotSteerable, "scv jobs send --queue", "the turn takes no prompt")})
		}
	}
	if n := d.m.Notice; !n.Bad || n.Text != "the turn takes no prompt. Next: scv jobs send --queue. Not sent; s brings the text back" {
		t.Errorf("notice %q", n.Text)
	}
	d.press("s")
	if d.m.Field.Text() != "also the docs\nplease" {
		t.Errorf("the text is lost: %q", d.m.Field.Text())
	}
	d.press("esc", "s")
	if d.m.Field.Text() != "also the docs\nplease" {
		t.Errorf("the text is lost after esc: %q", d.m.Field.Text())
	}
}

func TestNewJobForm(t *testing.T) {
	d := newDesk(t)
	d.send(Found{Agents: []Agent{{Name: "claude"}, {Name: "codex", Path: "/bin/codex"}, {Name: "demo", Path: "scv"}}})
	d.press("n", "type:fix it", "ctrl-j", "type:quickly", "tab", "tab", "type:gpt-9", "tab", "type:high", "tab", "right", "right", "ctrl-s")
	got := d.commands()
	want := []wire.Command{wire.WorkbenchStart{
		Agent: "codex", Prompt: "fix it\nquickly", Model: new("gpt-9"), Effort: new("high"), Mode: new(wire.PermissionMode("on-risk")), Cwd: new("/home/me/app"), Key: "key-1",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if d.m.Form.Text(FieldPrompt).Text() == "" {
		t.Error("the prompt is gone before the daemon has it")
	}
	if slices.Contains(d.m.Form.Fields, FieldWorktree) {
		t.Error("a worktree is offered that this daemon cannot make")
	}
	d.send(Connected{Features: []string{featureWorktree}})
	d.press("esc", "n")
	if !slices.Contains(d.m.Form.Fields, FieldWorktree) || slices.Contains(d.m.Form.Fields, FieldPermission) {
		t.Errorf("fields %v do not follow what the daemon announces", d.m.Form.Fields)
	}
}

// TestFormOffersWhatAnAgentTakes: its models, and the efforts of the one that is chosen; nothing where it never said.
func TestFormOffersWhatAnAgentTakes(t *testing.T) {
	d := newDesk(t)
	d.send(Found{Agents: []Agent{{Name: "codex", Path: "/bin/codex", Offers: wire.AgentOffer{Models: []wire.AgentChoice{
		{ID: "deep", Efforts: []string{"low", "max"}}, {ID: "quick", Efforts: []string{"none"}},
	}}}, {Name: "gemini", Path: "/bin/gemini"}}})
	d.press("n")
	f := &d.m.Form
	f.At = FieldModel
	for _, want := range []string{"deep", "quick", "", "deep"} {
		if d.press("ctrl-n"); f.Model.Text() != want {
			t.Fatalf("the model is %q, want %q", f.Model.Text(), want)
		}
	}
	f.At = FieldEffort
	if got := f.Offered(d.m, FieldEffort); !slices.Equal(got, []string{"low", "max"}) {
		t.Errorf("of the model deep it offers %q", got)
	}
	if d.press("ctrl-p"); f.Effort.Text() != "max" {
		t.Errorf("the effort is %q, want the last one", f.Effort.Text())
	}
	f.Agent = slices.Index(f.Agents, "gemini")
	if d.press("ctrl-n"); f.Effort.Text() != "max" || !strings.Contains(d.m.Notice.Text, "type it") {
		t.Errorf("of an agent that never said, the effort becomes %q, and the notice is %q", f.Effort.Text(), d.m.Notice.Text)
	}
}

func TestFormKeepsThePromptThatIsRefused(t *testing.T) {
	d := newDesk(t)
	d.send(Found{Agents: []Agent{{Name: "demo", Path: "scv"}}})
	d.press("n", "enter")
	if len(d.commands()) != 0 || d.m.Focus != OnForm {
		t.Fatal("an empty prompt was started")
	}
	d.press("type:x", "enter")
	for _, e := range d.take() {
		if s, ok := e.(Start); ok {
			d.send(Called{Then: s.Then, Err: errors.New("there is no directory")})
		}
	}
	if d.m.Focus != OnForm || d.m.Form.Prompt.Text() != "x" || d.m.Notice.Text != "there is no directory" {
		t.Errorf("focus %d, prompt %q, notice %q", d.m.Focus, d.m.Form.Prompt.Text(), d.m.Notice.Text)
	}
	d.press("ctrl-o")
	d.edits("x", "line one\nline two")
	if d.m.Form.Prompt.Text() != "line one\nline two" {
		t.Errorf("from the editor came %q", d.m.Form.Prompt.Text())
	}
}

func TestFormLearnsOfAgentsAndDaemonsWhileItIsOpen(t *testing.T) {
	d := newDesk(t)
	d.send(Connected{})
	d.press("n", "type:x")
	if d.m.Form.AgentName() != "" || slices.Contains(d.m.Form.Fields, FieldPermission) {
		t.Fatalf("agent %q, fields %v before anything is known", d.m.Form.AgentName(), d.m.Form.Fields)
	}
	d.send(Found{Agents: []Agent{{Name: "claude"}, {Name: "codex", Path: "/bin/codex"}, {Name: "demo", Path: "scv"}, {Name: "demo-live", Path: "scv"}}})
	d.send(Connected{Features: []string{wire.FeatureMode}})
	if d.m.Form.AgentName() != "codex" || !slices.Contains(d.m.Form.Fields, FieldPermission) || d.m.Form.Prompt.Text() != "x" {
		t.Errorf("agent %q, fields %v, prompt %q", d.m.Form.AgentName(), d.m.Form.Fields, d.m.Form.Prompt.Text())
	}
	d.press("shift-tab", "shift-tab", "shift-tab", "shift-tab", "shift-tab", "right") // to the agent
	chosen := d.m.Form.AgentName()
	d.send(Found{Agents: []Agent{{Name: "demo", Path: "scv"}, {Name: "codex", Path: "/bin/codex"}, {Name: "demo-live", Path: "scv"}}})
	if got := d.m.Form.AgentName(); got != chosen || chosen == "codex" {
		t.Errorf("%q was chosen, and became %q", chosen, got)
	}
}

// TestFormBeginsWithTheDemo where no agent is installed: SCV's own model is for who names it.
func TestFormBeginsWithTheDemo(t *testing.T) {
	d := newDesk(t)
	d.send(Found{Agents: []Agent{{Name: "scv", Path: "scv"}, {Name: "claude"}, {Name: "demo-live", Path: "scv"}, {Name: "demo", Path: "scv"}}})
	d.press("n")
	if got := d.m.Form.AgentName(); got != "demo" {
		t.Errorf("it begins with %q", got)
	}
}

func TestTheFormAsksForAReview(t *testing.T) {
	d := newDesk(t)
	d.send(Found{Agents: []Agent{{Name: "codex", Path: "/bin/codex"}, {Name: "claude", Path: "/bin/claude"}}})
	d.press("n")
	if slices.Contains(d.m.Form.Fields, FieldReview) {
		t.Error("a daemon without reviews is asked for one")
	}
	d.press("esc")
	d.send(Connected{Features: []string{wire.FeatureReview}})
	d.press("n", "type:do it", "shift-tab")
	if d.m.Form.At != FieldReview {
		t.Fatalf("the field is %d", d.m.Form.At)
	}
	start := func() *wire.ReviewRequest {
		d.press("ctrl-s")
		return d.commands()[0].(wire.WorkbenchStart).Review
	}
	if r := start(); r != nil {
		t.Errorf("unasked: %+v", r)
	}
	d.press("right")
	if r := start(); r == nil || len(r.Reviewers) != 0 {
		t.Errorf("whoever is there: %+v", r)
	}
	d.press("right", "right")
	if r := start(); r == nil || len(r.Reviewers) != 1 || r.Reviewers[0].Agent != "claude" {
		t.Errorf("claude: %+v", r)
	}
}

func TestPromptsAreKeptAndTakenAgain(t *testing.T) {
	d := newDesk(t)
	d.press("n", "type:Fix the flaky test in net/http", "ctrl-t")
	for _, e := range d.take() {
		if p, ok := e.(Prompts); ok {
			d.send(Kept{Then: p.Then, Prompts: []Prompt{{Name: "tidy", Text: "Tidy up\nand test"}}})
		}
	}
	d.press("type:keep", "enter")
	for _, e := range d.take() {
		if k, ok := e.(KeepPrompt); ok {
			if k.Prompt != (Prompt{Name: "fix-the-flaky-test-in", Text: "Fix the flaky test in net/http"}) {
				t.Errorf("keeps %+v", k.Prompt)
			}
			d.send(Kept{Then: k.Then, Prompts: []Prompt{k.Prompt}})
		}
	}
	if d.m.Focus != OnForm || !strings.Contains(d.m.Notice.Text, "prompts/fix-the-flaky-test-in.md") {
		t.Errorf("told %q", d.m.Notice.Text)
	}
	d.press("ctrl-t")
	for _, e := range d.take() {
		if p, ok := e.(Prompts); ok {
			d.send(Kept{Then: p.Then, Prompts: []Prompt{{Name: "tidy", Text: "Tidy up\nand test"}}})
		}
	}
	d.press("type:tidy", "enter")
	if d.m.Form.Prompt.Text() != "Tidy up\nand test" {
		t.Errorf("took %q", d.m.Form.Prompt.Text())
	}
}

func TestTheDashboardOpensWhereItWasLeft(t *testing.T) {
	d := newDesk(t, job(1, wire.StateWorking, "one"), job(2, wire.StateWorking, "two"))
	d.press("2", "j", "/", "type:agent:codex", "enter")
	place := d.m.List.Place()
	m := New(Options{Place: place})
	m.Update(Resized{80, 24}, d.now)
	m.Update(Listed{View: &wire.Snapshot{Jobs: []wire.Job{job(1, wire.StateWorking, "one"), job(2, wire.StateWorking, "two"), job(3, wire.StateWorking, "new")}}}, d.now)
	if it := m.List.Selected(); m.List.View != ViewJobs || m.List.Filter != "agent:codex" || it == nil || it.Job.Job != "job-1" {
		t.Errorf("opens at %+v on %+v", m.List.Place(), it)
	}
	if m := New(Options{Place: Place{View: 200, Chosen: make([]string, 99)}}); m.List.View >= Views {
		t.Error("a place that does not exist was opened")
	}
}

func TestKeysOfTheOwner(t *testing.T) {
	d := newDesk(t, job(1, wire.StateWorking, "one"))
	r, err := keys.NewRemap(map[string]string{"x": "f8", "t": "ctrl-g"}, Keys())
	if err != nil {
		t.Fatal(err)
	}
	d.m.Opts.Keys = r
	d.press("x")
	if d.m.Focus != OnList {
		t.Error("a key that was given away still stops")
	}
	d.press("f8")
	if d.m.Focus != OnConfirm {
		t.Error("the new key does not stop")
	}
	d.press("n", "?", "type:stop")
	if e := d.m.Menu.Entries; len(e) == 0 || e[0].Keys != "f8" || d.m.Menu.Query.Text() != "stop" {
		t.Errorf("the help shows %+v", e)
	}
	d.press("esc", "n", "type:exit")
	if got := d.m.Form.Prompt.Text(); got != "exit" {
		t.Errorf("typed %q", got)
	}
}
