// Package sdkpeer is an agent that speaks the Agent Client Protocol by the Go library of a third party, so that our own
// client is tried against somebody else's reading of the protocol. It has no model: the prompt holds a script, as with the
// fake model. It runs the commands of its script for real, asks in its mode "ask", is steered by the extension that
// adapters of known agents have, and goes on with earlier sessions. Tests run it as a process; nothing else does.
package sdkpeer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"
)

// Name is what the program is called, and Version that of the library which it is written with.
const (
	Name    = "acp-go-sdk"
	Version = "0.13.0"
)

// Modes of a session: what it does with a command.
const (
	modeAsk = "ask"
	modeRun = "yolo"
)

// Main serves one client until its input ends, and returns the exit code. Sessions are kept below home.
func Main(args []string, home string, in io.Reader, out io.Writer) int {
	if len(args) > 1 && args[1] == "--version" {
		fmt.Fprintln(out, Name, Version)
		return 0
	}
	p := &peer{home: filepath.Join(home, "sessions"), sessions: map[acp.SessionId]*session{}}
	p.conn = acp.NewAgentSideConnection(p, out, in)
	<-p.conn.Done()
	return 0
}

// A peer is the agent. The library calls its methods from goroutines of its own.
type peer struct {
	home string
	conn *acp.AgentSideConnection

	mu       sync.Mutex
	sessions map[acp.SessionId]*session
	made     int
}

// A session is one conversation. The peer's lock guards it.
type session struct {
	id      acp.SessionId
	cwd     string
	mode    acp.SessionModeId
	prompts []string // that it was given, with what it was steered by
	running bool
	steered string // what the running turn should go on with
	calls   int
}

// Initialize tells what it can do.
func (p *peer) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{
		ProtocolVersion:   acp.ProtocolVersionNumber,
		AgentInfo:         &acp.Implementation{Name: Name, Version: Version},
		AgentCapabilities: acp.AgentCapabilities{LoadSession: true},
		Meta:              map[string]any{"steering": map[string]any{"supported": true}},
	}, nil
}

// NewSession begins a conversation.
func (p *peer) NewSession(_ context.Context, q acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	s := &session{id: acp.SessionId(fmt.Sprintf("session-%d-%d", os.Getpid(), p.made)), cwd: q.Cwd, mode: modeAsk}
	p.sessions[s.id] = s
	return acp.NewSessionResponse{SessionId: s.id, Modes: s.modes()}, p.save(s)
}

// LoadSession goes on with a conversation of an earlier process, and repeats what was said, as the protocol wants it.
func (p *peer) LoadSession(ctx context.Context, q acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	data, err := os.ReadFile(p.file(q.SessionId))
	if err != nil {
		return acp.LoadSessionResponse{}, acp.NewInvalidParams(map[string]any{"sessionId": "there is no such session"})
	}
	s := &session{id: q.SessionId, cwd: q.Cwd, mode: modeAsk}
	if err := json.Unmarshal(data, &s.prompts); err != nil {
		return acp.LoadSessionResponse{}, err
	}
	for _, prompt := range s.prompts {
		for _, update := range []acp.SessionUpdate{acp.UpdateUserMessageText(prompt), acp.UpdateAgentMessageText("as said before")} {
			if err := p.tell(ctx, s.id, update); err != nil {
				return acp.LoadSessionResponse{}, err
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions[s.id] = s
	return acp.LoadSessionResponse{Modes: s.modes()}, nil
}

func (s *session) modes() *acp.SessionModeState {
	return &acp.SessionModeState{CurrentModeId: s.mode, AvailableModes: []acp.SessionMode{{Id: modeAsk, Name: "Ask"}, {Id: modeRun, Name: "Run"}}}
}

// file is where the prompts of a session are kept. The id is one of ours, or a client's.
func (p *peer) file(id acp.SessionId) string {
	return filepath.Join(p.home, filepath.Base(string(id))+".json")
}

// save keeps the prompts of a session.
func (p *peer) save(s *session) error {
	data, err := json.Marshal(s.prompts)
	return errors.Join(err, os.MkdirAll(p.home, 0o700), os.WriteFile(p.file(s.id), data, 0o600))
}

// SetSessionMode changes what is done with commands from now on.
func (p *peer) SetSessionMode(_ context.Context, q acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[q.SessionId]
	if s == nil || q.ModeId != modeAsk && q.ModeId != modeRun {
		return acp.SetSessionModeResponse{}, acp.NewInvalidParams(map[string]any{"modeId": string(q.ModeId)})
	}
	s.mode = q.ModeId
	return acp.SetSessionModeResponse{}, nil
}

// HandleExtensionMethod takes a text into the running turn, or says that none runs.
func (p *peer) HandleExtensionMethod(_ context.Context, method string, params json.RawMessage) (any, error) {
	if method != "_session/steering" {
		return nil, acp.NewMethodNotFound(method)
	}
	var q struct {
		SessionID acp.SessionId      `json:"sessionId"`
		Prompt    []acp.ContentBlock `json:"prompt"`
	}
	if err := json.Unmarshal(params, &q); err != nil {
		return nil, acp.NewInvalidParams(map[string]any{"params": err.Error()})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[q.SessionID]
	if s == nil || !s.running {
		return map[string]any{"outcome": "promptRequired", "reason": "noRunningTurn"}, nil
	}
	s.steered = words(q.Prompt)
	s.prompts = append(s.prompts, s.steered)
	return map[string]any{"outcome": "injected"}, p.save(s)
}

func words(blocks []acp.ContentBlock) string {
	var out strings.Builder
	for _, b := range blocks {
		if b.Text != nil {
			out.WriteString(b.Text.Text)
		}
	}
	return out.String()
}

// tell sends an update of a session.
func (p *peer) tell(ctx context.Context, id acp.SessionId, update acp.SessionUpdate) error {
	return p.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: id, Update: update})
}

// Cancel has nothing to do: the library ends the context of the turn.
func (p *peer) Cancel(context.Context, acp.CancelNotification) error { return nil }

// Authenticate needs nothing.
func (p *peer) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}

// CloseSession is not offered.
func (p *peer) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionClose)
}

// ListSessions is not offered.
func (p *peer) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

// ResumeSession is not offered: a session is loaded.
func (p *peer) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionResume)
}

// SetSessionConfigOption is not offered.
func (p *peer) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}
