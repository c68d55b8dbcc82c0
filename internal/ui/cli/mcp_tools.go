package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/internal/client"
	"scv/internal/safe/plain"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// benchTools are the workbench as a client of the Model Context Protocol sees it. Calls may run side by side: each has a
// connection of its own.
type benchTools struct{ f *factory }

// Bounds of a wait.
const (
	mcpWait    = 600 * time.Second
	mcpMaxWait = 3600 * time.Second
)

// decode reads the arguments of a call; what is wrong with them is said to the model.
func decode(args json.RawMessage, into any) error {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the arguments cannot be read: %w; call again with arguments that follow the schema", err)
	}
	return nil
}

// A jobLine is a job as a model reads it.
type jobLine struct {
	Job       string          `json:"job"`
	Agent     string          `json:"agent"`
	State     wire.AgentState `json:"state"`
	Detail    string          `json:"detail,omitempty"`
	Task      string          `json:"task,omitempty"`
	Workspace string          `json:"workspace,omitempty"`
}

func jobLineOf(view *wire.Snapshot, j *wire.Job) jobLine {
	return jobLine{
		Job: wording.Name(view, j), Agent: j.Agent, State: j.State, Detail: plain.Line(value(j.Detail)), Task: plain.Line(j.Task), Workspace: j.Workspace,
	}
}

func lines(all []jobLine) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	for i := range all {
		if err := e.Encode(all[i]); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

func (b benchTools) list(ctx context.Context, args json.RawMessage) (string, error) {
	var a struct {
		All bool `json:"all"`
	}
	if err := decode(args, &a); err != nil {
		return "", err
	}
	r, view, err := b.f.asking(ctx)
	if err != nil {
		return "", told(err)
	}
	defer r.close()
	var out []jobLine
	for _, j := range slices.Backward(view.Jobs) {
		if a.All || !j.State.Final() {
			out = append(out, jobLineOf(view, &j))
		}
	}
	if len(out) == 0 {
		return "There are no such jobs.", nil
	}
	return lines(out)
}

func (b benchTools) start(ctx context.Context, args json.RawMessage) (string, error) {
	var a struct {
		Agent     string `json:"agent"`
		Prompt    string `json:"prompt"`
		Directory string `json:"directory"`
		Model     string `json:"model"`
		Worktree  bool   `json:"worktree"`
	}
	if err := decode(args, &a); err != nil {
		return "", err
	}
	if strings.TrimSpace(a.Prompt) == "" || !wire.ValidAgentName(a.Agent) {
		return "", errors.New("an agent's name and a prompt are needed")
	}
	cwd, err := directory(a.Directory)
	if err != nil {
		return "", told(err)
	}
	cmd := wire.WorkbenchStart{Workspace: workspace(cwd), Agent: a.Agent, Prompt: a.Prompt, Cwd: &cwd, Key: client.NewKey(), Worktree: a.Worktree}
	if a.Model != "" {
		cmd.Model = &a.Model
	}
	st, err := b.f.call(ctx, cmd)
	if err != nil {
		return "", told(err)
	}
	return acceptedLine(st)
}

// acceptedLine names the job that came of a prompt, or says where the prompt went.
func acceptedLine(st *wire.DaemonStatus) (string, error) {
	note := plain.Line(value(st.WorkbenchNote))
	if st.WorkbenchJob == nil {
		return orElse(note, "It went into the running turn."), nil
	}
	_, job, ok := st.WorkbenchJob.Split()
	if !ok {
		return "", fmt.Errorf("the daemon named the job %.80q, which is no name", string(*st.WorkbenchJob))
	}
	return strings.TrimSpace("Accepted as " + string(job) + ". " + note), nil
}

func (b benchTools) send(ctx context.Context, args json.RawMessage) (string, error) {
	var a struct {
		Job    string `json:"job"`
		Prompt string `json:"prompt"`
		Steer  bool   `json:"steer"`
	}
	if err := decode(args, &a); err != nil {
		return "", err
	}
	if strings.TrimSpace(a.Prompt) == "" {
		return "", errors.New("the prompt is empty")
	}
	session, conversation, err := b.f.conversation(ctx, a.Job)
	if err != nil {
		return "", told(err)
	}
	mode := wire.SendQueue
	if a.Steer {
		mode = wire.SendSteer
	}
	st, err := b.f.call(ctx, wire.WorkbenchSend{Session: session, Conversation: conversation, Prompt: a.Prompt, Mode: mode, Key: client.NewKey()})
	if err != nil {
		return "", told(err)
	}
	return acceptedLine(st)
}

func (b benchTools) result(ctx context.Context, args json.RawMessage) (string, error) {
	var a struct {
		Job string `json:"job"`
	}
	if err := decode(args, &a); err != nil {
		return "", err
	}
	r, refs, err := b.f.resolve(ctx, []string{a.Job})
	if err != nil {
		return "", told(err)
	}
	defer r.close()
	res, err := b.f.wholeResult(ctx, r, refs[0])
	if err != nil {
		return "", told(err)
	}
	if !res.State.Final() {
		return "", fmt.Errorf("%s has not ended; it is %s. Wait for it first", res.Job, res.State)
	}
	head := fmt.Sprintf("%s %s", res.Job, res.State)
	if why := orElse(value(res.Detail), firstLine(value(res.Error))); why != "" {
		head += ": " + plain.Line(why)
	}
	return head + "\n\n" + plain.Block(value(res.Reply)), nil
}

func (b benchTools) wait(ctx context.Context, args json.RawMessage) (string, error) {
	var a struct {
		Jobs    []string `json:"jobs"`
		Seconds int      `json:"timeout_seconds"`
	}
	if err := decode(args, &a); err != nil {
		return "", err
	}
	limit := mcpWait
	if a.Seconds > 0 {
		limit = min(time.Duration(a.Seconds)*time.Second, mcpMaxWait)
	}
	if len(a.Jobs) == 0 {
		return "", errors.New("name at least one job")
	}
	r, refs, err := b.f.resolve(ctx, a.Jobs)
	if err != nil {
		return "", told(err)
	}
	r.close()
	var out []jobLine
	w := &waiter{
		f: b.f, want: func(s wire.AgentState) bool { return s.Final() || s.NeedsAttention() },
		each: func(view *wire.Snapshot, job *wire.Job) error {
			out = append(out, jobLineOf(view, job))
			return nil
		},
	}
	_, err = w.wait(ctx, limit, refs)
	text, encodeErr := lines(out)
	switch {
	case errors.Is(err, errTimeout):
		return text + fmt.Sprintf("%d of %d have not ended within %s; they go on.", len(refs)-len(out), len(refs), limit), nil
	case err != nil:
		return "", told(err)
	}
	return text, encodeErr
}
