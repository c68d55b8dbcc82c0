package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"scv/internal/client"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// A performance shows one turn of a session, from its start to its end.
type performance struct {
	f       *factory
	talk    *client.Talk
	request wire.RequestID
	yes     bool
	wait    bool // for the reports of the jobs that it starts
	json    bool

	streamed bool   // of the message under way, something is on the screen
	last     string // the last whole message
	over     bool
	code     int
	jobs     map[wire.JobID]bool // that are not reported
}

// follow shows events until the turn is over, and its jobs were told if that is wanted.
func (p *performance) follow(ctx context.Context) error {
	for !p.over || p.wait && len(p.jobs) > 0 {
		event, err := p.talk.Next(ctx)
		if err != nil {
			return err
		}
		if p.json {
			if err := p.print(event); err != nil {
				return err
			}
		}
		if err := p.take(ctx, event); err != nil {
			return err
		}
	}
	if len(p.jobs) > 0 && !p.json {
		p.f.say("still at work: %s that the model started. Look at it: scv jobs", plain.Count(len(p.jobs), "job"))
	}
	return status(p.code)
}

func (p *performance) print(event wire.ServerEvent) error {
	data, err := wire.Encode(event)
	if err != nil {
		return err
	}
	_, err = p.f.sys.Out.Write(append(data, '\n'))
	return err
}

// live reports whether an answer is shown as it comes: to a person, not into a pipe.
func (p *performance) live() bool { return p.f.columns > 0 && !p.json }

func (p *performance) take(ctx context.Context, event wire.ServerEvent) error {
	switch e := event.(type) {
	case wire.AssistantDelta:
		if p.live() {
			p.streamed = true
			_, err := io.WriteString(p.f.sys.Out, plain.Block(e.Content))
			return err
		}
	case wire.AssistantCompleted:
		p.last = e.Content
		if p.streamed {
			p.streamed = false
			_, err := fmt.Fprintln(p.f.sys.Out)
			return err
		}
	case wire.ToolStarted:
		p.note("%s …", e.Name)
	case wire.ToolCompleted:
		p.tool(e)
	case wire.ApprovalRequested:
		return p.answer(ctx, e)
	case wire.TurnCompleted:
		return p.ended(e.RequestID, e.Origin, exitOK, "")
	case wire.TurnCancelled:
		return p.ended(e.RequestID, e.Origin, exitFailed, "the turn was cancelled")
	case wire.TurnFailed:
		return p.failed(e)
	case wire.BackgroundReported:
		for _, r := range e.Reports {
			delete(p.jobs, r.Job)
			p.f.say("%s is %s: %s", r.Job, r.Status, firstLine(r.Reply))
		}
	case wire.QueueEnqueued:
		p.note("the session is busy; the prompt waits as number %d", e.Position+1)
	case wire.ErrorEvent:
		return e.Err()
	}
	return nil
}

// note tells a person what goes on; a pipe is told nothing.
func (p *performance) note(format string, args ...any) {
	if p.live() {
		p.f.say(format, args...)
	}
}

func (p *performance) tool(e wire.ToolCompleted) {
	for _, j := range e.Jobs {
		if j.Status == wire.JobRunning {
			p.jobs[j.Job] = true
		} else {
			delete(p.jobs, j.Job)
		}
	}
	if e.Success {
		return
	}
	p.note("%s: %s", e.Name, firstLine(e.Output))
}

// answer answers what the session asks: there is nobody who could look at it.
func (p *performance) answer(ctx context.Context, e wire.ApprovalRequested) error {
	if !p.yes && !p.json {
		p.f.say("refused %s, which would have to be asked (%s). To allow it: --yes", e.Name, firstLine(e.Summary))
	}
	return p.talk.Send(ctx, wire.ApprovalResolve{RequestID: p.talk.NextID(), SessionID: e.SessionID, ApprovalID: e.ApprovalID, Approved: p.yes})
}

// ended takes the end of a turn: of ours, or of one in which the model told what jobs came to.
func (p *performance) ended(id wire.RequestID, origin *wire.TurnOrigin, code int, why string) error {
	if origin != nil {
		for _, j := range origin.Jobs {
			delete(p.jobs, j)
		}
	}
	if id != p.request && (origin == nil || !p.wait) {
		return nil
	}
	if id == p.request {
		p.over, p.code = true, code
	}
	if why != "" {
		p.f.say("%s", why)
		return nil
	}
	if p.json || p.live() {
		return nil
	}
	_, err := io.WriteString(p.f.sys.Out, strings.TrimRight(plain.Block(p.last), "\n")+"\n")
	return err
}

func (p *performance) failed(e wire.TurnFailed) error {
	if e.RequestID != p.request {
		return nil
	}
	code := exitFailed
	if e.Class != nil && *e.Class == wire.ClassAuth {
		code = exitSignIn
	}
	if p.last != "" && !p.live() && !p.json {
		if _, err := fmt.Fprintln(p.f.sys.Out, strings.TrimRight(plain.Block(p.last), "\n")); err != nil {
			return err
		}
	}
	p.over, p.code = true, code
	if !p.json {
		return &fault{code: code, message: e.Message, next: "look at the settings: scv config show   Then ask again"}
	}
	return nil
}

// findSession looks a session that is kept up by its name or id; nil when there is none.
func findSession(ctx context.Context, c *client.Conn, name string) (*wire.SessionRecord, error) {
	var after *string
	for {
		st, err := c.Call(ctx, wire.SessionsPage{After: after})
		if err != nil {
			return nil, err
		}
		if st.Sessions == nil {
			return nil, errors.New("the daemon answered without the sessions")
		}
		for i := range st.Sessions.Sessions {
			s := &st.Sessions.Sessions[i]
			if string(s.ID) == name || s.Name == name && s.Kept || len(name) >= 4 && strings.HasPrefix(string(s.ID), name) {
				return s, nil
			}
		}
		if after = st.Sessions.Next; after == nil {
			return nil, nil
		}
	}
}
