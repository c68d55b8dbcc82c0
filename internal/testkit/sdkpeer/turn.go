package sdkpeer

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"github.com/coder/acp-go-sdk"
)

// Prompt plays the script of one turn.
func (p *peer) Prompt(ctx context.Context, q acp.PromptRequest) (acp.PromptResponse, error) {
	s, steps, err := p.begin(q)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	for len(steps) > 0 {
		step := steps[0]
		steps = steps[1:]
		if err := p.play(ctx, s, step); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			s.running = false
			if ctx.Err() != nil || errors.Is(err, errCancelled) {
				return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
			}
			return acp.PromptResponse{}, err
		}
		p.takes(s, &steps)
	}
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

func (p *peer) begin(q acp.PromptRequest) (*session, []string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[q.SessionId]
	switch {
	case s == nil:
		return nil, nil, acp.NewInvalidParams(map[string]any{"sessionId": "there is no such session"})
	case s.running:
		return nil, nil, acp.NewInvalidRequest(map[string]any{"prompt": "a turn runs"})
	}
	text := words(q.Prompt)
	s.running, s.prompts = true, append(s.prompts, text)
	return s, script(text), p.save(s)
}

// script is the steps of a prompt: what stands behind @@, apart by bars.
func script(prompt string) []string {
	_, steps, ok := strings.Cut(prompt, "@@")
	if !ok {
		return []string{"say:ok"}
	}
	return strings.Split(steps, "|")
}

// takes gives a turn what it was steered by, instead of the rest of its script. A turn whose steps are played and that was
// not steered in its last moment is over.
func (p *peer) takes(s *session, steps *[]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.steered != "" {
		*steps, s.steered = script(s.steered), ""
	}
	s.running = len(*steps) > 0
}

var errCancelled = errors.New("the turn was cancelled")

func (p *peer) play(ctx context.Context, s *session, step string) error {
	verb, arg, _ := strings.Cut(step, ":")
	switch verb {
	case "say":
		return p.tell(ctx, s.id, acp.UpdateAgentMessageText(arg))
	case "hist":
		p.mu.Lock()
		all := strings.Join(s.prompts, "\n")
		p.mu.Unlock()
		return p.tell(ctx, s.id, acp.UpdateAgentMessageText(all))
	case "shell":
		return p.shell(ctx, s, arg)
	}
	return acp.NewInvalidParams(map[string]any{"step": step})
}

// shell runs a command, with leave where the mode wants it.
func (p *peer) shell(ctx context.Context, s *session, command string) error {
	p.mu.Lock()
	s.calls++
	id, asks := acp.ToolCallId(fmt.Sprintf("call-%d", s.calls)), s.mode == modeAsk
	p.mu.Unlock()
	input := map[string]any{"command": command}
	err := p.tell(ctx, s.id, acp.StartToolCall(id, command,
		acp.WithStartKind(acp.ToolKindExecute), acp.WithStartStatus(acp.ToolCallStatusPending), acp.WithStartRawInput(input)))
	if err != nil {
		return err
	}
	status := acp.ToolCallStatusCompleted
	if asks {
		allowed, err := p.asks(ctx, s, id, command)
		if err != nil {
			return err
		}
		if !allowed {
			return p.tell(ctx, s.id, acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusFailed)))
		}
	}
	if err := p.tell(ctx, s.id, acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusInProgress))); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	c.Dir, c.SysProcAttr = s.cwd, &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	if c.Run() != nil {
		status = acp.ToolCallStatusFailed
	}
	if ctx.Err() != nil {
		return errCancelled
	}
	return p.tell(ctx, s.id, acp.UpdateToolCall(id, acp.WithUpdateStatus(status)))
}

// asks waits for the leave to run a command.
func (p *peer) asks(ctx context.Context, s *session, id acp.ToolCallId, command string) (bool, error) {
	answer, err := p.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: s.id,
		ToolCall: acp.ToolCallUpdate{
			ToolCallId: id, Title: new(command), Kind: acp.Ptr(acp.ToolKindExecute), RawInput: map[string]any{"command": command},
		},
		Options: []acp.PermissionOption{
			{Kind: acp.PermissionOptionKindAllowAlways, Name: "Always", OptionId: "always"},
			{Kind: acp.PermissionOptionKindAllowOnce, Name: "Once", OptionId: "once"},
			{Kind: acp.PermissionOptionKindRejectOnce, Name: "No", OptionId: "no"},
		},
	})
	switch {
	case err != nil:
		return false, err
	case answer.Outcome.Selected == nil:
		return false, errCancelled
	case answer.Outcome.Selected.OptionId == "always":
		return false, acp.NewInternalError(map[string]any{"answer": "a yes that counts once became one for always"})
	}
	return answer.Outcome.Selected.OptionId == "once", nil
}
