//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"scv/internal/client"
	"scv/internal/testkit/fakemodel"
	"scv/internal/testkit/realagent"
	"scv/internal/wire"
)

// talks is a lab with live agents.
type talks struct{ *lab }

// secondTurn compares how long a prompt takes whose answer is a word: as a further turn of a live agent, and with a
// process of its own. Agents are those that SCV_REAL_CODEX and SCV_REAL_CLAUDE name; they talk to a model of ours.
func secondTurn(ctx context.Context, exe string) (string, error) {
	var out []string
	for _, name := range []string{"codex", "claude"} {
		path := os.Getenv("SCV_REAL_" + strings.ToUpper(name))
		if path == "" {
			out = append(out, name+" is not installed")
			continue
		}
		got, err := inLab(ctx, exe, 0, func(l *lab) (string, error) { return talks{l}.secondTurn(ctx, name, path) })
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, name+" "+got)
	}
	return strings.Join(out, "; "), nil
}

// real restarts the daemon with an agent in its PATH whose model is ours.
func (l talks) real(ctx context.Context, name, path string) (stop func() error, err error) {
	if err := l.stop(ctx); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: fakemodel.New(nil)}
	go func() { _ = server.Serve(listener) }() // ends with stop
	url, base := "http://"+listener.Addr().String(), filepath.Dir(l.home)
	bin, own := filepath.Join(base, "bin"), filepath.Join(base, "agent")
	err = errors.Join(os.Mkdir(bin, 0o700), os.Mkdir(own, 0o700), os.Symlink(path, filepath.Join(bin, name)),
		os.WriteFile(filepath.Join(own, "config.toml"), []byte(realagent.CodexConfig(url, 0)), 0o600))
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	l.env = []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + base, "CODEX_HOME=" + own, "CLAUDE_CONFIG_DIR=" + own,
		"ANTHROPIC_API_KEY=any", "ANTHROPIC_BASE_URL=" + url, "IS_SANDBOX=1",
	}
	if _, err := l.start(ctx); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return server.Close, nil
}

func (l talks) secondTurn(ctx context.Context, name, path string) (got string, err error) {
	stop, err := l.real(ctx, name, path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.stop(context.WithoutCancel(ctx)), stop()) }()
	const rounds = 8
	medians := map[string]time.Duration{}
	for _, over := range []string{wire.TransportLive, wire.TransportCLI} {
		var all []time.Duration
		session, conversation, err := l.firstTurn(ctx, name, over)
		if err != nil {
			return "", err
		}
		for n := range rounds {
			took, err := l.turn(ctx, wire.WorkbenchSend{
				Session: session, Conversation: conversation, Prompt: fmt.Sprintf("@@say:word %d", n), Mode: wire.SendQueue, Key: client.NewKey(),
			})
			if err != nil {
				return "", err
			}
			all = append(all, took)
		}
		medians[over] = quantile(all, 0.5)
	}
	live, cli := medians[wire.TransportLive], medians[wire.TransportCLI]
	return fmt.Sprintf("1/%.1f (%.0f of %.0f ms)", float64(cli)/float64(live), ms(live), ms(cli)), nil
}

// firstTurn begins a conversation, so that what is measured is a further turn for either.
func (l talks) firstTurn(ctx context.Context, name, over string) (wire.SessionID, wire.ConversationID, error) {
	mode := wire.ModeAuto
	if _, err := l.turn(ctx, wire.WorkbenchStart{Workspace: l.work, Agent: name, Prompt: "@@say:first", Mode: &mode, Transport: &over, Key: client.NewKey()}); err != nil {
		return "", "", err
	}
	var session wire.SessionID
	var conversation wire.ConversationID
	err := l.until(ctx, func(s *wire.Snapshot) bool {
		session, conversation = s.Jobs[0].Session, *s.Jobs[0].Conversation
		return s.Jobs[0].State.Final()
	})
	return session, conversation, err
}

// turn gives a prompt and returns the time to the end of its answer.
func (l talks) turn(ctx context.Context, cmd wire.Command) (time.Duration, error) {
	conn, err := l.dial(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	began := time.Now()
	st, err := conn.Call(ctx, cmd)
	if err != nil {
		return 0, err
	}
	_, id, _ := st.WorkbenchJob.Split()
	var took time.Duration
	state := wire.StateUnknown
	err = l.until(ctx, func(s *wire.Snapshot) bool {
		for _, j := range s.Jobs {
			if j.Job == id && j.State.Final() {
				took, state = time.Since(began), j.State
			}
		}
		return state.Final()
	})
	if err == nil && state != wire.StateCompleted {
		err = fmt.Errorf("%s is %s", id, state)
	}
	return took, err
}

// jobOf starts a job of an agent.
func (l talks) jobOf(ctx context.Context, conn *client.Conn, agent, prompt string) (wire.JobRef, error) {
	st, err := conn.Call(ctx, wire.WorkbenchStart{Workspace: l.work, Agent: agent, Prompt: prompt, Key: client.NewKey()})
	if err != nil {
		return "", err
	}
	return wire.JobRef(*st.WorkbenchJob), nil
}
