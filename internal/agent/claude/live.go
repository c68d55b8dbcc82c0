package claude

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
)

// liveVersion is that of the live dialect's checkpoint.
const liveVersion = 1

// LiveKind is claude with one process for several turns: it asks the owner, takes further prompts while a turn runs,
// and is cancelled without being ended.
func LiveKind() agent.Kind {
	k := Kind()
	k.Transport, k.Dialect, k.Version = agent.TransportACP, "claude-live", liveVersion
	k.New = func(s agent.Settings) agent.Dialect { return &live{settings: s} }
	return k
}

// live is the dialect of the two-way stream. Claude says by the state of its session when a turn is over, and by the
// life of each line of ours, which carries a uuid, what became of it; so a late line of a cancelled turn, a second
// result and a prompt that crossed a result on the way are told apart without guessing.
type live struct {
	settings agent.Settings
	state    liveState
}

type liveState struct {
	agent.Live
	talk
	Prompt  string      `json:"prompt,omitempty"`  // uuid of the line that carried the turn's prompt
	Taken   bool        `json:"taken,omitzero"`    // claude began it
	Acks    bool        `json:"acks,omitzero"`     // claude tells what becomes of lines
	States  bool        `json:"states,omitzero"`   // claude tells the state of its session
	Idle    bool        `json:"idle,omitzero"`     // the last it told
	Running []string    `json:"running,omitempty"` // ids of background tasks
	Doing   []string    `json:"doing,omitempty"`   // what those do, as claude describes it, in the same order
	Old     []string    `json:"old,omitempty"`     // background tasks that ran before the turn and are none of its
	Behind  string      `json:"behind,omitempty"`  // the tasks that the turn was last said to wait for, until claude speaks again
	Steers  []steer     `json:"steers,omitempty"`  // written, and not taken yet
	Deltas  uint32      `json:"deltas,omitzero"`   // parts heard of messages that are being streamed
	Use     agent.Usage `json:"use,omitzero"`      // of the turn, so far
	Message string      `json:"message,omitempty"` // id of the last message whose tokens were counted
	Cwd     string      `json:"cwd,omitempty"`
	Tuned   tuning      `json:"tuned,omitzero"` // what the process was told last
	Said    []string    `json:"said,omitempty"` // notes that are made once a run
}

// steer is a line of ours for the running turn.
type steer struct {
	Key  string `json:"key"`
	UUID string `json:"uuid"`
	Text string `json:"text"`
}

// tuning is what claude was told of a turn's settings.
type tuning struct {
	Flags json.RawMessage `json:"flags,omitempty"`
	Mode  string          `json:"mode,omitempty"`
}

// Plan builds the command line. What a turn may do, its model and its effort are told before each prompt (see tune), so
// one process serves turns of several settings; only bypassing every permission has to be allowed at the start.
func (d *live) Plan(t agent.Turn) (agent.Launch, error) {
	own := d.settings
	own.OwnCommand = false // its prompt goes by standard input whatever the program is
	if err := own.CheckTurn(t); err != nil {
		return agent.Launch{}, err
	}
	argv := append([]string{own.Program("claude")}, own.Args...)
	argv = append(append(argv, own.ModelOptions(t, nil)...), own.EffortOptions(t, nil)...)
	argv = append(argv, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--permission-prompt-tool", "stdio",
		// Nobody sees a form or a plan that waits to be left: so these ask in their answer.
		"--disallowedTools=AskUserQuestion,EnterPlanMode,ExitPlanMode")
	if t.Session != "" {
		argv = append(argv, "--resume", t.Session)
	} else if t.NewID != "" {
		argv = append(argv, "--session-id", t.NewID)
	}
	argv = append(argv, "--permission-mode", limitsOf(t.Mode).mode)
	// What a turn may do is not put in the file: a tool that it refuses would be gone for every later turn too.
	file, err := settings(mode{})
	if err != nil {
		return agent.Launch{}, err
	}
	argv = append(argv, "--settings", t.RunDir+"/"+settingsFile)
	return agent.Launch{
		Argv: argv,
		Env: map[string]string{
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
			"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS":    "1",
		},
		Files: []agent.File{{Name: settingsFile, Data: file}},
	}, nil
}

// limits is what a permission mode means for claude where the owner can be asked.
type limits struct {
	mode string   // claude's word
	ask  []string // tools that are asked for whatever the owner's allow list says
	deny []string // tools that are refused, which beats every allow
}

func limitsOf(m agent.Mode) limits {
	switch m {
	case agent.ModeAuto:
		return limits{mode: "bypassPermissions"}
	case agent.ModeReadOnly:
		return limits{mode: "default", deny: append(changing(), "Monitor", "EnterWorktree", "mcp__*")}
	case agent.ModeAlways:
		return limits{mode: "default", ask: append(changing(), "Monitor", "WebFetch", "WebSearch", "mcp__*")}
	case agent.ModeOnRisk:
	}
	return limits{mode: "default"}
}

// flags are the settings of a turn.
type flags struct {
	Permissions permissions `json:"permissions"`
	Model       *string     `json:"model"`       // null: the owner's own
	Effort      *string     `json:"effortLevel"` // null: the owner's own
}

type permissions struct {
	Ask  []string `json:"ask"`
	Deny []string `json:"deny"`
}

// permissions never holds null: an empty list takes back what a turn before had.
func (l limits) permissions() permissions {
	return permissions{Ask: append([]string{}, l.ask...), Deny: append([]string{}, l.deny...)}
}

func flagsOf(own agent.Settings, t agent.Turn) flags {
	f := flags{Permissions: limitsOf(t.Mode).permissions()}
	if model := agent.Choose(t.Model, own.Model); model != "" {
		f.Model = &model
	}
	if effort := agent.Choose(t.Effort, own.Effort); effort != "" {
		f.Effort = &effort
	}
	return f
}

// Feed takes one input.
func (d *live) Feed(in agent.Input) []agent.Fact {
	switch in.Kind {
	case agent.InputErr:
		if bytes.HasPrefix(in.Line, []byte("[claude-code:")) {
			return nil
		}
	case agent.InputExit:
		if d.state.Active {
			return d.left(in)
		}
	}
	facts, done := d.state.Feed("claude", in)
	switch {
	case done:
		return facts
	case in.Kind == agent.InputSent:
		return append(facts, d.sent(in)...)
	}
	return d.line(in.Line)
}

// left settles a turn whose process is gone: a result that claude gave while tasks ran still counts.
func (d *live) left(in agent.Input) []agent.Fact {
	facts := d.state.drop("the agent left before it took this")
	if d.state.Held != nil {
		d.state.Gone = true
		return append(facts, d.state.End(*d.state.Held)...)
	}
	more, _ := d.state.Feed("claude", in)
	return append(facts, more...)
}

// drop refuses what was written for the running turn and never taken.
func (s *liveState) drop(why string) []agent.Fact {
	var facts []agent.Fact
	for _, s := range s.Steers {
		facts = append(facts, agent.Fact{Kind: agent.FactSteerRefused, Key: s.Key, Text: why})
	}
	s.Steers = nil
	return s.Stamp(facts...)
}

// settle ends the turn once claude has given a result, holds its session for idle, and has nothing left of the turn: a
// line of ours that it has not taken, a task that runs in the background. A cancelled turn waits for no task.
func (s *liveState) settle() []agent.Fact {
	switch {
	case !s.Active || s.Held == nil || s.States && !s.Idle || len(s.Steers) > 0:
		return nil
	case len(s.tasks()) > 0 && !s.Sent(agent.CancelKey(s.Turn)):
		return s.Stamp(s.behind()...)
	}
	o := *s.Held
	s.Held = nil
	return s.End(o)
}

// behind tells what an answered turn still waits for. It is a tool call that is open: a turn that is silent for it is at
// work, and nobody has to wonder whether claude is there.
func (s *liveState) behind() []agent.Fact {
	facts := s.once("tasks", "claude has answered and waits for what it runs in the background; cancel ends the wait and keeps the answer")
	var doing []string
	for i, id := range s.Running {
		if !slices.Contains(s.Old, id) && i < len(s.Doing) && s.Doing[i] != "" {
			doing = append(doing, s.Doing[i])
		}
	}
	what := agent.Shorten("in the background: "+agent.Choose(strings.Join(doing, ", "), "a command"), agent.MaxSubject)
	if what == s.Behind {
		return facts
	}
	s.Behind = what
	return append(facts, agent.Fact{Kind: agent.FactTool, Text: what})
}

// tasks are the background tasks of the turn in hand that run.
func (s *liveState) tasks() []string {
	return slices.DeleteFunc(slices.Clone(s.Running), func(id string) bool { return slices.Contains(s.Old, id) })
}

// once returns a note the first time that it is asked for.
func (s *liveState) once(what, text string) []agent.Fact {
	if slices.Contains(s.Said, what) {
		return nil
	}
	s.Said = append(s.Said, what)
	return []agent.Fact{{Kind: agent.FactNote, Text: text}}
}

// refuse gives the process up, which could not be told what the turn may do, and fails that turn. The next one begins a
// process of its own.
func (s *liveState) refuse(turn uint32, what, why string) []agent.Fact {
	detail := "claude did not take " + what + ": " + agent.Shorten(why, agent.MaxSubject)
	s.Turn = turn
	return s.Forsake(agent.Outcome{State: wire.StateFailed, Class: agent.ClassStart, Detail: detail, Error: why})
}

// Checkpoint returns the folded state.
func (d *live) Checkpoint() (json.RawMessage, error) { return json.Marshal(d.state) }

// Restore replaces the folded state.
func (d *live) Restore(data json.RawMessage) error { return agent.Restore(&d.state, data) }
