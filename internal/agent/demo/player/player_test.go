package player_test

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"scv/internal/agent"
	"scv/internal/agent/demo"
	"scv/internal/agent/demo/player"
	"scv/internal/wire"
)

// run plays one turn of the demo agent through its dialect and returns the facts and the time that it would take.
func run(t *testing.T, turn agent.Turn) ([]agent.Fact, time.Duration) {
	t.Helper()
	dialect := demo.Kind().New(agent.Settings{Command: "scv"})
	launch, err := dialect.Plan(turn)
	if err != nil {
		t.Fatal(err)
	}
	if launch.Argv[1] != player.Argument {
		t.Fatalf("the command line is %q", launch.Argv)
	}
	facts := dialect.Feed(agent.Input{Kind: agent.InputStarted})
	message, ok := dialect.Next(agent.Wishes{Turn: &turn}, 1)
	if !ok {
		t.Fatal("no prompt")
	}
	facts = append(facts, dialect.Feed(agent.Input{Kind: agent.InputSent, Key: message.Key, N: 1, Line: message.Bytes})...)
	var out, complaints bytes.Buffer
	var took time.Duration
	code := player.Player{
		In: bytes.NewReader(message.Bytes), Out: &out, Err: &complaints, After: func(d time.Duration) <-chan time.Time {
			took += d
			return at()
		},
	}.Run(launch.Argv[2:])
	for kind, from := range map[agent.InputKind]*bytes.Buffer{agent.InputOut: &out, agent.InputErr: &complaints} {
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, agent.MaxLine)
		for lines.Scan() {
			facts = append(facts, dialect.Feed(agent.Input{Kind: kind, Line: lines.Bytes()})...)
		}
	}
	return append(facts, dialect.Feed(agent.Input{Kind: agent.InputExit, Exit: agent.Exit{Code: code}})...), took
}

// at is a timer that fires at once.
func at() <-chan time.Time {
	fired := make(chan time.Time)
	close(fired)
	return fired
}

func outcome(t *testing.T, facts []agent.Fact) agent.Outcome {
	t.Helper()
	var ends []agent.Outcome
	for _, fact := range facts {
		if fact.Kind == agent.FactTurnEnded {
			ends = append(ends, *fact.Outcome)
		}
	}
	if len(ends) != 1 {
		t.Fatalf("%d ends in %+v", len(ends), facts)
	}
	return ends[0]
}

func TestDemo_StoriesAndScripts(t *testing.T) {
	for prompt, want := range map[string]struct {
		state wire.AgentState
		class agent.Class
		reply string
	}{
		"tidy up the README":                     {wire.StateCompleted, "", "Finished: tidy up the README."},
		"make it fail":                           {wire.StateFailed, agent.ClassAgent, "The tests do not pass"},
		"please refuse this":                     {wire.StateDeclined, agent.ClassRefusal, "rather not"},
		"needs a sign in":                        {wire.StateFailed, agent.ClassAuth, ""},
		"quick one":                              {wire.StateCompleted, "", "Done at once"},
		"a long reply on Go":                     {wire.StateCompleted, "", "A long answer on a long reply on Go"},
		"@@say:hello":                            {wire.StateCompleted, "", "hello"},
		"@@tool:ls|toolfail:3:make":              {wire.StateCompleted, "", ""},
		"x @@fail:no luck\nmore":                 {wire.StateFailed, agent.ClassAgent, ""},
		"@@quota":                                {wire.StateFailed, agent.ClassQuota, ""},
		"@@network":                              {wire.StateFailed, agent.ClassNetwork, ""},
		"@@auth":                                 {wire.StateFailed, agent.ClassAuth, ""},
		"@@model":                                {wire.StateFailed, agent.ClassModel, ""},
		"@@refuse":                               {wire.StateDeclined, agent.ClassRefusal, ""},
		"@@say:part|exit:7":                      {wire.StateFailed, agent.ClassAgent, "part"},
		"@@exit:127":                             {wire.StateFailed, agent.ClassMissing, ""},
		"@@exit:0":                               {wire.StateFailed, agent.ClassAgent, ""},
		"@@stderr:please log in|exit:1":          {wire.StateFailed, agent.ClassAuth, ""},
		"@@raw:hello|line:100|say:x":             {wire.StateCompleted, "", ""},
		"@@line:5|raw:|say:x":                    {wire.StateCompleted, "", "x"},
		"@@bytes:70000":                          {wire.StateCompleted, "", "0123456789"},
		"@@lines:3":                              {wire.StateCompleted, "", "line 3"},
		"@@unknown":                              {wire.StateFailed, agent.ClassAgent, ""},
		"@@spawn:1":                              {wire.StateFailed, agent.ClassAgent, ""},
		"@@plan:a|retry:b|think:5|sleep:5|say:z": {wire.StateCompleted, "", "z"},
	} {
		t.Run(prompt, func(t *testing.T) {
			facts, took := run(t, agent.Turn{Number: 1, Key: "turn:1", Prompt: prompt, NewID: "id-1"})
			got := outcome(t, facts)
			if got.State != want.state || got.Class != want.class || !strings.Contains(got.Reply, want.reply) {
				t.Errorf("%s %q %.80q (%s)", got.State, got.Class, got.Reply, got.Detail)
			}
			if took > 15*time.Second {
				t.Errorf("it takes %s", took)
			}
			if facts[2].Kind != agent.FactSession || facts[2].Session != "id-1" {
				t.Errorf("the third fact is %+v", facts[2])
			}
		})
	}
}

func TestDemo_AStoryShowsWhatAnAgentDoes(t *testing.T) {
	facts, took := run(t, agent.Turn{Number: 1, Key: "turn:1", Prompt: "add a test"})
	count := make(map[agent.FactKind]int)
	for _, fact := range facts {
		count[fact.Kind]++
	}
	for _, kind := range []agent.FactKind{agent.FactText, agent.FactTool, agent.FactPlan} {
		if count[kind] < 2 {
			t.Errorf("%d facts of kind %d", count[kind], kind)
		}
	}
	if took < 5*time.Second {
		t.Errorf("it is over after %s", took)
	}
}

func TestDemo_GoesOnWithASession(t *testing.T) {
	facts, _ := run(t, agent.Turn{Number: 2, Key: "turn:2", Prompt: "more", Session: "id-7"})
	first := slices.IndexFunc(facts, func(f agent.Fact) bool { return f.Kind == agent.FactText })
	if first < 0 || !strings.Contains(facts[first].Text, "Going on from turn 1") {
		t.Errorf("the facts are %+v", facts)
	}
	facts, _ = run(t, agent.Turn{Number: 2, Key: "turn:2", Prompt: "more", Session: "missing-7"})
	if got := outcome(t, facts); got.State != wire.StateFailed || got.Class != agent.ClassSession {
		t.Errorf("%s %q %s", got.State, got.Class, got.Detail)
	}
}

func TestPlayer_ServesSeveralPrompts(t *testing.T) {
	in := `{"key":"turn:1","text":"@@say:a"}` + "\n" + `{"key":"turn:2","text":"@@say:b"}` + "\n"
	var out, complaints bytes.Buffer
	code := player.Player{In: strings.NewReader(in), Out: &out, Err: &complaints, After: func(time.Duration) <-chan time.Time { return at() }}.Run([]string{"--pace=0.5"})
	if code != 0 || strings.Count(out.String(), `"type":"end"`) != 2 || strings.Count(out.String(), `"type":"hello"`) != 1 {
		t.Errorf("code %d, %s %s", code, out.String(), complaints.String())
	}
}

func TestPlayer_SaysWhatIsWrongWithItsInput(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		args []string
		code int
		says string
	}{
		"nothing":  {"", nil, 1, "no prompt was given"},
		"no JSON":  {"hello\n", nil, 1, "one JSON object"},
		"argument": {"", []string{"--odd", "1"}, 2, "unknown argument"},
		"no value": {"", []string{"--turn"}, 2, "needs a value"},
		"no turn":  {"", []string{"--turn=x"}, 2, "expected integer"},
	} {
		var out, complaints bytes.Buffer
		code := player.Player{In: strings.NewReader(c.in), Out: &out, Err: &complaints, After: func(time.Duration) <-chan time.Time { return at() }}.Run(c.args)
		if code != c.code || !strings.Contains(complaints.String(), c.says) {
			t.Errorf("%s: code %d, %q", name, code, complaints.String())
		}
	}
}
