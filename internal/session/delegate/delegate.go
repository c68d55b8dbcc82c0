// Package delegate is how a session's model has agents work for it: tools that start a job, wait for it, look at it and
// end it. The jobs are the workbench's own, as durable as the owner's; a session sees those that it started and no other.
package delegate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/wire"
)

// A Workbench runs jobs. Its methods may be called from any goroutine.
type Workbench interface {
	// Start begins a job, or a further turn of a conversation; it returns when the job is on disk.
	Start(ctx context.Context, s Start) (job wire.Job, note string, err error)
	// Jobs are those of a session that are listed, newest first.
	Jobs(session wire.SessionID) []wire.Job
	// Reply is what a finished job said, or why it failed.
	Reply(ctx context.Context, session wire.SessionID, job wire.JobID) string
	Cancel(ctx context.Context, session wire.SessionID, job wire.JobID) (note string, err error)
	// Changed returns a channel that gets a signal after anything changed, and what lets go of it.
	Changed() (wake <-chan struct{}, done func())
}

// A Start is a job that the model wants.
type Start struct {
	Session      wire.SessionID
	Workspace    string
	Agent        string
	Conversation wire.ConversationID // of an earlier job; empty for a new one
	Prompt       string
	Model        string
	Worktree     bool
	Unasked      bool // what the agent asks for is allowed: the owner's client said so
}

// An Agent is one that may be asked.
type Agent struct {
	Name string
	Use  string // what it is good for; may be empty
}

// Options are what the tools of one session are made of.
type Options struct {
	Workbench Workbench
	Session   wire.SessionID
	Agents    []Agent // the first one is asked when none is named
	Most      int     // running jobs of the session
	Timeout   time.Duration
	MaxWait   time.Duration
	Unasked   bool
}

// Tools returns the four tools.
func Tools(o Options) []tool.Tool {
	return []tool.Tool{agent{o}, wait{o}, status{o}, cancel{o}}
}

// Section is what the system prompt says of delegation.
func Section(o Options) string {
	var b strings.Builder
	b.WriteString("You can have coding agents work for you with the tool agent. Each call is a job that goes on in the background: give it " +
		"everything it has to know, since it does not see this conversation. Its end is told to you; wait for it with agent_wait only when you " +
		"cannot go on without it. For work on code that others touch too, set worktree. Agents that are here:\n")
	for _, a := range o.Agents {
		fmt.Fprintf(&b, "- %s", a.Name)
		if a.Use != "" {
			fmt.Fprintf(&b, ": %s", a.Use)
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}

// StatusOf is a job's state in the words of a session's events.
func StatusOf(s wire.AgentState) wire.JobStatus {
	switch s {
	case wire.StateCompleted:
		return wire.JobCompleted
	case wire.StateFailed, wire.StateInterrupted:
		return wire.JobFailed
	case wire.StateDeclined:
		return wire.JobDeclined
	case wire.StateTimeout:
		return wire.JobTimeout
	case wire.StateCancelled:
		return wire.JobCancelled
	case wire.StateUnknown, wire.StateStarting, wire.StateWorking, wire.StateAwaitingInput, wire.StateIdle, wire.StateQueued:
	}
	return wire.JobRunning
}

func change(name string, j *wire.Job) wire.JobChange {
	return wire.JobChange{Job: j.Job, Tool: name, Agent: j.Agent, Status: StatusOf(j.State), Task: j.Task}
}

// words is a schema of an object.
func words(text string) json.RawMessage { return json.RawMessage(text) }

// agent starts a job.
type agent struct{ o Options }

type agentArgs struct {
	Agent        string `json:"agent"`
	Prompt       string `json:"prompt"`
	Conversation string `json:"conversation"`
	Model        string `json:"model"`
	Worktree     bool   `json:"worktree"`
	Wait         bool   `json:"wait"`
}

// Spec implements tool.Tool.
func (t agent) Spec() provider.Tool {
	return provider.Tool{
		Name: "agent", Description: "Have an agent do a task in the background. Returns its job at once, or with wait its reply.",
		Schema: words(`{"type":"object","properties":{
"agent":{"type":"string","description":"who works; default: the first of the list"},
"prompt":{"type":"string","description":"the whole task, with all that has to be known"},
"conversation":{"type":"string","description":"go on in this conversation of an earlier job"},
"model":{"type":"string","description":"model of the agent"},
"worktree":{"type":"boolean","description":"work in a git worktree of its own"},
"wait":{"type":"boolean","description":"wait for the end and return the reply"}},
"required":["prompt"],"additionalProperties":false}`),
	}
}

// Parallel implements tool.Tool.
func (t agent) Parallel() bool { return false }

func (t agent) args(raw json.RawMessage) (a agentArgs, err error) {
	if err := tool.Decode(raw, &a); err != nil {
		return a, err
	}
	a.Agent = cmp.Or(a.Agent, t.o.Agents[0].Name)
	switch {
	case strings.TrimSpace(a.Prompt) == "":
		return a, &tool.Failure{Kind: wire.ToolInvalidArguments, Sentence: "The prompt is empty. Say what the agent is to do."}
	case len(a.Prompt) > wire.MaxPromptBytes:
		return a, &tool.Failure{Kind: wire.ToolLimit, Sentence: fmt.Sprintf("The prompt is longer than %d bytes. Put the text into a file and name it.", wire.MaxPromptBytes)}
	case a.Conversation == "" && !slices.ContainsFunc(t.o.Agents, func(x Agent) bool { return x.Name == a.Agent }):
		return a, &tool.Failure{Kind: wire.ToolUnavailable, Sentence: fmt.Sprintf("There is no agent %.40q. Use one of the list.", a.Agent)}
	}
	running := 0
	for _, j := range t.o.Workbench.Jobs(t.o.Session) {
		if !j.State.Final() {
			running++
		}
	}
	if running >= t.o.Most {
		return a, &tool.Failure{Kind: wire.ToolLimit, Sentence: fmt.Sprintf("%d jobs of this session run already, and no more may. Wait for one with agent_wait.", running)}
	}
	return a, nil
}

// Risk implements tool.Tool.
func (t agent) Risk(raw json.RawMessage) (tool.Assessment, error) {
	a, err := t.args(raw)
	if err != nil {
		return tool.Assessment{}, err
	}
	where := "here"
	if a.Worktree {
		where = "in a worktree of its own"
	}
	prompt := a.Prompt
	if runes := []rune(prompt); len(runes) > 2000 {
		prompt = string(runes[:2000]) + "…"
	}
	return tool.Assessment{Risk: tool.Delegate, Summary: fmt.Sprintf("have %s work in the background, %s:\n%s", a.Agent, where, prompt)}, nil
}

// Run implements tool.Tool.
func (t agent) Run(ctx context.Context, raw json.RawMessage, env tool.Env) tool.Result {
	a, err := t.args(raw)
	if err != nil {
		return tool.Failed(err)
	}
	j, note, err := t.o.Workbench.Start(ctx, Start{
		Session: t.o.Session, Workspace: env.Dir, Agent: a.Agent, Conversation: wire.ConversationID(a.Conversation), Prompt: a.Prompt,
		Model: a.Model, Worktree: a.Worktree, Unasked: t.o.Unasked,
	})
	if err != nil {
		return refused(err)
	}
	if a.Wait {
		return await(ctx, t.o, "agent", []wire.JobID{j.Job}, t.o.Timeout, env)
	}
	text := fmt.Sprintf("%s was given to %s", j.Job, j.Agent)
	if j.Conversation != nil {
		text += fmt.Sprintf(" (conversation %s)", *j.Conversation)
	}
	return tool.Result{Text: text + ". " + note, Jobs: []wire.JobChange{change("agent", &j)}}
}

// refused is the workbench's no, for the model.
func refused(err error) tool.Result {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return tool.Failed(err)
	}
	kind := wire.ToolErrorFailed
	switch e.Reason {
	case wire.ReasonUnavailable, wire.ReasonSignIn, wire.ReasonNotFound:
		kind = wire.ToolUnavailable
	case wire.ReasonFull, wire.ReasonTooLarge:
		kind = wire.ToolLimit
	case wire.ReasonInvalid:
		kind = wire.ToolInvalidArguments
	}
	return tool.Result{Text: e.Message + " " + e.Hint, Error: kind}
}
