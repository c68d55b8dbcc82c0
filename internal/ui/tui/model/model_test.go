package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"scv/internal/wire"
)

// A desk drives a model as a person and a daemon do, with a clock that the test moves.
type desk struct {
	t    *testing.T
	m    *Model
	now  time.Time
	done []Effect // what the model wanted, since take
	keys int
}

const session = wire.SessionID("workbench-0123456789abcdef")

func newDesk(t *testing.T, jobs ...wire.Job) *desk {
	d := &desk{t: t, now: time.Unix(1_800_000_000, 0)}
	d.m = New(Options{NewKey: func() string { d.keys++; return fmt.Sprint("key-", d.keys) }, Cwd: "/home/me/app"})
	d.send(Resized{80, 24})
	d.send(Connected{Features: []string{wire.FeatureWatch, wire.FeatureWhy, wire.FeatureMode, wire.FeatureResultPage, wire.FeatureDigest}})
	d.list(&wire.Snapshot{Jobs: jobs})
	d.take()
	return d
}

func (d *desk) send(msg Msg) { d.done = append(d.done, d.m.Update(msg, d.now)...) }

func (d *desk) list(view *wire.Snapshot) { d.send(Listed{View: view}) }

func (d *desk) wait(by time.Duration) { d.now = d.now.Add(by) }

// press presses keys by their names, or types a text after "type:".
func (d *desk) press(names ...string) {
	for _, name := range names {
		if text, ok := strings.CutPrefix(name, "type:"); ok {
			for _, r := range text {
				d.send(Key{Name: string(r), Text: string(r)})
			}
			continue
		}
		k := Key{Name: name}
		if len([]rune(name)) == 1 {
			k.Text = name
		}
		if name == "space" {
			k.Text = " "
		}
		d.send(k)
	}
}

// take is what the model wanted since the last time.
func (d *desk) take() []Effect {
	out := d.done
	d.done = nil
	return out
}

// commands are the questions to the daemon that change something.
func (d *desk) commands() []wire.Command {
	var out []wire.Command
	for _, e := range d.take() {
		switch e := e.(type) {
		case Call:
			if _, ok := e.Cmd.(wire.Keyed); ok {
				out = append(out, e.Cmd)
			}
		case Start:
			out = append(out, e.Cmd)
		}
	}
	return out
}

func job(n int, state wire.AgentState, task string) wire.Job {
	c := wire.ConversationID(fmt.Sprintf("codex-%d", n))
	h := wire.RunHandle(fmt.Sprintf("codex-00000%d", n%10))
	return wire.Job{
		Session: session, Job: wire.NewJobID(uint64(n)), Agent: "codex", Task: task, State: state, Workspace: "/w", Cwd: "/w/app",
		Conversation: &c, Run: &h, CreatedUnixSeconds: 1_799_990_000 + uint64(n), UpdatedUnixSeconds: 1_799_999_000 + uint64(n),
	}
}

func approval(n int, of wire.JobID) wire.Approval {
	return wire.Approval{
		ID: wire.ApprovalID(fmt.Sprintf("ap-%012d", n)), Session: session, Job: of, Name: "shell", Risk: "process", Cwd: "/w/app",
		Summary: "rm -rf build && make test", SinceUnixSeconds: 1_799_999_900, ExpiresUnixSeconds: wire.NoDeadline, Digest: new(fmt.Sprint("digest-", n)),
	}
}

func asking() *wire.Snapshot {
	return &wire.Snapshot{
		Jobs:      []wire.Job{job(2, wire.StateWorking, "two"), job(1, wire.StateAwaitingInput, "one")},
		Approvals: []wire.Approval{approval(1, "job-1")},
	}
}

func TestE9_AKeyPressedWhileAnApprovalArrivesNeverAnswersIt(t *testing.T) {
	everything := slices.Concat(Keys(), strings.Split("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ", ""))
	for _, first := range everything {
		for _, second := range []string{"y", "n", "enter", "space"} {
			d := newDesk(t, job(1, wire.StateWorking, "one"))
			d.press(first)
			if d.m.Focus == OnMenu || d.m.Focus == OnForm || d.m.Focus == OnConfirm {
				continue
			}
			d.list(asking())
			d.wait(guard - time.Millisecond)
			d.press(first, second)
			for _, c := range d.commands() {
				if a, ok := c.(wire.WorkbenchApprove); ok {
					t.Fatalf("%q and %q while a card appeared answered it: %+v", first, second, a)
				}
			}
		}
	}
}

func TestE9_AnswerNeedsTwoKeysAndAStandingCard(t *testing.T) {
	d := newDesk(t)
	d.list(asking())
	if d.m.Focus != OnList {
		t.Fatal("a card took the focus")
	}
	d.wait(time.Minute)
	d.press("y", "esc", "n", "esc")
	if c := d.commands(); len(c) != 0 {
		t.Fatalf("y and n without a named request did %v", c)
	}
	d.press("A", "y")
	if c := d.commands(); len(c) != 0 {
		t.Fatalf("y right behind A answered: %v", c)
	}
	d.wait(guard)
	d.press("y")
	want := []wire.Command{wire.WorkbenchApprove{ID: "ap-000000000001", Approved: true, Digest: new("digest-1"), Key: "key-1"}}
	if diff := cmp.Diff(want, d.commands()); diff != "" {
		t.Error(diff)
	}
	d.press("y")
	if c := d.commands(); len(c) != 0 {
		t.Errorf("a second y answered again: %v", c)
	}
}

func TestE9_AChangeOfTheCardsHoldsKeysBack(t *testing.T) {
	two := asking()
	two.Approvals = append([]wire.Approval{approval(2, "job-2")}, two.Approvals...)
	other := asking()
	other.Approvals[0].Digest = new("another text")
	for name, change := range map[string]*wire.Snapshot{
		"one more before it": two, "it is gone": {Approvals: []wire.Approval{approval(3, "job-2")}}, "another text": other,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.list(asking())
			d.press("A")
			d.wait(time.Minute)
			d.list(change)
			d.wait(guard - time.Millisecond)
			d.press("n")
			if c := d.commands(); len(c) != 0 {
				t.Fatalf("answered at once: %v", c)
			}
			d.wait(time.Millisecond)
			d.press("n")
			c := d.commands()
			if len(c) != 1 {
				t.Fatalf("a card that stood long enough was not answered: %v", c)
			}
			named := d.m.Cards.Selected(d.m)
			if a := c[0].(wire.WorkbenchApprove); a.ID != named.ID || *a.Digest != *named.Digest || a.Approved {
				t.Errorf("answered %+v, shown was %+v", a, named)
			}
		})
	}
}

func TestE9_TypedTextIsNoAnswer(t *testing.T) {
	d := newDesk(t)
	d.list(asking())
	d.wait(time.Minute)
	d.press("s")
	d.press("type:Any yes")
	d.wait(time.Minute)
	d.press("type:Any yes", "esc")
	if c := d.commands(); len(c) != 0 || d.m.Focus != OnList {
		t.Fatalf("words typed into a message did %v, focus %d", c, d.m.Focus)
	}
	d.press("A")
	d.wait(time.Minute)
	d.press("w", "y") // a key that the cards do not know gives the focus back
	if c := d.commands(); len(c) != 0 {
		t.Fatalf("a word that begins with A answered: %v", c)
	}
	d.press("esc")
	d.send(Pasted{Text: "Ay\ny\nn"})
	d.press("A")
	d.wait(time.Minute)
	d.send(Pasted{Text: "y"})
	if c := d.commands(); len(c) != 0 {
		t.Fatalf("pasted text did %v", c)
	}
}

func TestE10_EnterAndSpaceNeverApproveOrDestroy(t *testing.T) {
	for _, before := range [][]string{{}, {"A"}, {"x"}, {"D"}, {"space", "x"}, {":", "enter"}, {"?", "enter"}, {"enter"}, {"enter", "A"}} {
		for _, key := range []string{"enter", "space"} {
			view := asking()
			view.Jobs = append(view.Jobs, job(3, wire.StateCompleted, "three"))
			d := newDesk(t)
			d.list(view)
			d.wait(time.Minute)
			d.press(before...)
			d.wait(time.Minute)
			d.press(key, key)
			for _, c := range d.commands() {
				t.Errorf("%v then %s did %T", before, key, c)
			}
		}
	}
}

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
	for _, r := range "bcfuvzBCEFHIJKLMOPQRSTUVWXYZ0789@#$%^&*()[]{}" {
		d := newDesk(t, job(1, wire.StateWorking, "one"))
		d.press(string(r))
		if got := d.take(); len(got) != 0 || d.m.Focus != OnList || d.m.Notice.Text != "" {
			t.Errorf("%q is not in the table and did %v, %q", r, got, d.m.Notice.Text)
		}
	}
}

func TestHelpIsSearchableAndExecutable(t *testing.T) {
	d := newDesk(t, job(1, wire.StateWorking, "one"))
	d.press("?", "type:new job")
	if len(d.m.Menu.Entries) != 2 && len(d.m.Menu.Entries) != 3 {
		t.Fatalf("%d entries match", len(d.m.Menu.Entries))
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

func TestE12_FilterOfAThousandJobs(t *testing.T) {
	var jobs []wire.Job
	for n := range 1000 {
		j := job(n+1, wire.StateCompleted, fmt.Sprintf("Task number %d 修复 flaky test", n))
		if n%10 == 0 {
			j.State, j.Agent = wire.StateFailed, "claude"
		}
		jobs = append(jobs, j)
	}
	d := newDesk(t, jobs...)
	d.press("/")
	for query, want := range map[string]int{
		"state:failed": 100, "agent:claude": 100, "state:failed|completed": 1000, "state:compl": 900, "修复": 1000,
		"FLAKY task": 1000, "nothing-like-it": 0, "state:failed agent:codex": 0, "age>soon": 0, "job-1000": 1,
	} {
		d.m.Field.Editor.Press("ctrl-u", "")
		d.press("type:" + query)
		if got := len(d.m.List.Items); got != want {
			t.Errorf("%q leaves %d, want %d", query, got, want)
		}
	}
	d.press("enter")
	if d.m.Focus != OnList || d.m.List.Filter == "" {
		t.Error("enter does not keep the filter")
	}
	d.press("esc")
	if len(d.m.List.Items) != 1000 || d.m.List.Hidden() != 0 {
		t.Error("esc does not show all again")
	}
}

func TestFilterByAge(t *testing.T) {
	now := uint64(1_800_000_000)
	at := func(n int, ago uint64) wire.Job {
		j := job(n, wire.StateCompleted, "x")
		j.UpdatedUnixSeconds = now - ago
		return j
	}
	d := newDesk(t, at(1, 30), at(2, 3600), at(3, 90_000))
	for query, want := range map[string]string{"age>1m": "job-2 job-3", "age<2h": "job-1 job-2", "age>1d": "job-3", "age>40s age<2h": "job-2", "age>": ""} {
		d.m.List.Filter = query
		d.send(Told{})
		var names []string
		for _, it := range d.m.List.Items {
			names = append(names, string(it.Job.Job))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q leaves %q, want %q", query, got, want)
		}
	}
}

func TestE13_SelectionStaysOnItsJobWhenRowsReorder(t *testing.T) {
	jobs := []wire.Job{job(3, wire.StateWorking, "three"), job(2, wire.StateWorking, "two"), job(1, wire.StateWorking, "one")}
	d := newDesk(t, jobs...)
	d.press("j")
	name := func() string { return d.m.Name(d.m.List.Selected()) }
	if name() != "job-2" {
		t.Fatalf("selected %s", name())
	}
	for _, change := range [][]wire.Job{
		{job(4, wire.StateWorking, "new"), jobs[0], jobs[1], jobs[2]},
		{jobs[0], job(2, wire.StateFailed, "two"), jobs[2]},
		{job(1, wire.StateAwaitingInput, "one"), job(2, wire.StateAwaitingInput, "two"), job(3, wire.StateQueued, "three")},
		{jobs[1]},
	} {
		d.list(&wire.Snapshot{Jobs: change})
		if name() != "job-2" {
			t.Errorf("after a change %s is selected", name())
		}
	}
	d.press("2", "1")
	if name() != "job-2" {
		t.Errorf("after another view %s is selected", name())
	}
}

func TestOrderIsByWhatAPersonLooksFor(t *testing.T) {
	old := job(9, wire.StateCompleted, "x")
	old.UpdatedUnixSeconds = 5
	d := newDesk(t, old, job(8, wire.StateFailed, "x"), job(7, wire.StateUnknown, "x"), job(6, wire.StateQueued, "x"), job(5, wire.StateWorking, "x"), job(4, wire.StateAwaitingInput, "x"))
	var got []string
	for _, it := range d.m.List.Items {
		got = append(got, it.Job.State.String())
	}
	if want := "awaiting_input working queued unknown failed completed"; strings.Join(got, " ") != want {
		t.Errorf("order %v", got)
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
	if got := d.take(); len(got) != 1 || got[0] != (Edit{Text: "x"}) {
		t.Errorf("the editor gets %v", got)
	}
	d.send(Edited{Text: "line one\nline two"})
	if d.m.Form.Prompt.Text() != "line one\nline two" {
		t.Errorf("from the editor came %q", d.m.Form.Prompt.Text())
	}
}

func TestMarksAndBatch(t *testing.T) {
	d := newDesk(t, job(3, wire.StateWorking, "three"), job(2, wire.StateWorking, "two"), job(1, wire.StateCompleted, "one"))
	d.press("space", "space", "space", "x")
	if want := "Stop 2 jobs (job-3, job-2)? What it did stays."; d.m.Ask.Text != want {
		t.Fatalf("asks %q", d.m.Ask.Text)
	}
	d.press("y")
	if c := d.commands(); len(c) != 2 || len(d.m.List.Marks) != 0 {
		t.Errorf("did %v, marks %v", c, d.m.List.Marks)
	}
	d.press("g", "space")
	d.list(&wire.Snapshot{Jobs: []wire.Job{job(1, wire.StateCompleted, "one")}})
	if len(d.m.List.Marks) != 0 {
		t.Error("the mark of a job that is gone stays")
	}
}

func TestOnlyMine(t *testing.T) {
	d := newDesk(t)
	view := asking()
	view.Approvals = append(view.Approvals, approval(2, "job-2"))
	view.Jobs = append(view.Jobs, job(3, wire.StateWorking, "three"))
	d.list(view)
	d.press("!")
	if n := len(d.m.List.Items); n != 2 {
		t.Errorf("%d need me, want the one that waits and the one whose request has not reached its state", n)
	}
	if got := d.m.Tally(); got.Need != 2 || got.Working != 1 {
		t.Errorf("header counts %+v", got)
	}
}
