package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

func newSessionsCmd(f *factory) *cobra.Command {
	return listing(&cobra.Command{
		Use: "sessions", Short: "Conversations with SCV's own model",
		Long: `Conversations with SCV's own model. One that is kept (scv exec --session NAME) goes on
without a client and over restarts of the daemon; several clients may attach to it.`,
		Example: "  scv sessions\n  scv sessions show docs\n  scv sessions attach docs",
	}, newSessionListCmd(f, nil),
		newSessionListCmd(f, nil), newSessionCmd(f, "show", "Print what was said", showSession), newSessionCmd(f, "attach", "Talk in it, line by line", attachSession),
		newSessionCmd(f, "clear", "Forget its history and its queue", clearSession), newSessionCmd(f, "rm", "End it for good; what was said can still be read", removeSession))
}

type sessionListOptions struct {
	f     *factory
	quiet bool
	all   bool
	json  jsonFlag
}

func newSessionListCmd(f *factory, runF func(context.Context, *sessionListOptions) error) *cobra.Command {
	opts := &sessionListOptions{f: f}
	cmd := &cobra.Command{
		Use: "list", Args: exactly(), Short: "List sessions, newest first",
		Example: "  scv sessions list\n  scv sessions list --all --json=id,name,first",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runSessionList(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.all, "all", "a", false, "ended ones too")
	cmd.Flags().BoolVarP(&opts.quiet, "quiet", "q", false, "print only the ids")
	addJSON[wire.SessionRecord](cmd, &opts.json)
	return cmd
}

func runSessionList(ctx context.Context, opts *sessionListOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	c, err := f.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := sessionRecords(ctx, c, opts.all)
	if err != nil {
		return err
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, all)
	}
	var rows [][]cell
	for i := range all {
		s := &all[i]
		if opts.quiet {
			if _, err := fmt.Fprintln(f.sys.Out, s.ID); err != nil {
				return err
			}
			continue
		}
		name := s.Name
		if name == "" {
			name = string(s.ID)
		}
		state := "ended"
		if s.EndedUnixSeconds == nil {
			state = "goes on"
		}
		if s.Queued > 0 {
			state += fmt.Sprintf(", %d wait", s.Queued)
		}
		rows = append(rows, []cell{
			text(name), text(s.Label), text(state),
			f.when(s.UpdatedUnixSeconds), text(s.First),
		})
	}
	if len(rows) == 0 {
		if !opts.quiet && len(all) == 0 {
			f.say("no sessions. Begin one: scv exec --session NAME PROMPT")
		}
		return nil
	}
	return f.printTable(f.sys.Out, []column{{name: "session"}, {name: "of", keep: 2}, {name: "state", keep: 4}, {name: "updated", keep: 3}, {name: "began with", keep: 1, shrink: 10}}, rows)
}

func sessionRecords(ctx context.Context, c *client.Conn, all bool) ([]wire.SessionRecord, error) {
	var out []wire.SessionRecord
	var after *string
	for {
		st, err := c.Call(ctx, wire.SessionsPage{After: after})
		if err != nil {
			return nil, err
		}
		if st.Sessions == nil {
			return out, nil
		}
		for _, s := range st.Sessions.Sessions {
			if all || s.EndedUnixSeconds == nil {
				out = append(out, s)
			}
		}
		if after = st.Sessions.Next; after == nil {
			return out, nil
		}
	}
}

// newSessionCmd is a verb on one session.
func newSessionCmd(f *factory, verb, short string, do func(context.Context, *factory, *client.Conn, *wire.SessionRecord) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " ID", Args: exactly("a session's name or id"), Short: short,
		Example: "  scv sessions " + verb + " docs",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := dialAs(cmd.Context(), f, "scv-cli")
			if err != nil {
				return err
			}
			defer c.Close()
			s, err := findSession(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if s == nil {
				return &fault{code: exitNotFound, message: fmt.Sprintf("there is no session %q", args[0]), next: "list them: scv sessions list --all"}
			}
			return do(cmd.Context(), f, c, s)
		},
	}
}

// showSession prints a history, oldest first.
func showSession(ctx context.Context, f *factory, c *client.Conn, s *wire.SessionRecord) error {
	var all []wire.SessionMessage
	var before uint64
	for {
		st, err := c.Call(ctx, wire.SessionHistoryCommand{Session: s.ID, Before: before})
		if err != nil {
			return err
		}
		if st.SessionHistory == nil {
			break
		}
		all = append(all, st.SessionHistory.Messages...)
		if st.SessionHistory.Before == nil {
			break
		}
		before = *st.SessionHistory.Before
	}
	for _, m := range slices.Backward(all) {
		if err := printMessage(f.sys.Out, &m); err != nil {
			return err
		}
	}
	return nil
}

func printMessage(out io.Writer, m *wire.SessionMessage) error {
	var b strings.Builder
	mark := map[string]string{"user": "> ", "assistant": "", "tool": "  "}[m.Role]
	if m.Text != "" {
		for line := range strings.Lines(plain.Block(m.Text)) {
			b.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	for _, call := range m.Calls {
		fmt.Fprintf(&b, "  %s %s\n", call.Name, plain.Line(string(call.Arguments)))
	}
	for _, r := range m.Results {
		fmt.Fprintf(&b, "  = %s\n", plain.Line(firstLine(r.Text)))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// attachSession talks in a session: each line that is typed is a prompt.
func attachSession(ctx context.Context, f *factory, c *client.Conn, s *wire.SessionRecord) error {
	talk, err := client.AttachTalk(ctx, c, s.ID, s.Workspace)
	if err != nil {
		return err
	}
	if r := talk.Started.Restored; r != nil {
		if r.Interrupted != nil {
			f.say("this prompt was cut off, and is not sent again: %s", *r.Interrupted)
		}
		if r.Queued > 0 {
			f.say("%s paused", plain.Count(r.Queued, "prompt"))
		}
	}
	f.say("attached to %s; each line is a prompt, ctrl-D leaves and the session goes on", s.ID)
	in := bufio.NewReader(f.sys.In)
	for {
		line, err := untilEnd(ctx, func() (string, error) { return in.ReadString('\n') })
		prompt := strings.TrimSpace(line)
		if prompt != "" {
			turn := wire.TurnStart{RequestID: talk.NextID(), SessionID: talk.ID(), Prompt: prompt}
			if err := talk.Send(ctx, turn); err != nil {
				return err
			}
			p := &performance{f: f, talk: talk, request: turn.RequestID, jobs: map[wire.JobID]bool{}}
			if err := p.follow(ctx); err != nil && ctx.Err() != nil {
				return f.detached(ctx, err, "the session")
			}
		}
		if err != nil {
			return ctx.Err()
		}
	}
}

func clearSession(ctx context.Context, f *factory, c *client.Conn, s *wire.SessionRecord) error {
	talk, err := client.AttachTalk(ctx, c, s.ID, s.Workspace)
	if err != nil {
		return err
	}
	id := talk.NextID()
	if err := talk.Send(ctx, wire.SessionClear{RequestID: id, SessionID: s.ID}); err != nil {
		return err
	}
	for {
		event, err := talk.Next(ctx)
		if err != nil {
			return err
		}
		switch e := event.(type) {
		case wire.SessionCleared:
			f.say("the session %s is empty now", s.ID)
			return nil
		case wire.ErrorEvent:
			return e.Err()
		}
	}
}

func removeSession(ctx context.Context, f *factory, c *client.Conn, s *wire.SessionRecord) error {
	if s.EndedUnixSeconds != nil {
		return &fault{code: exitConflict, message: fmt.Sprintf("the session %s has ended already", s.ID), next: "its history goes by its age; read it: scv sessions show " + string(s.ID)}
	}
	_, err := c.Call(ctx, wire.SessionRemove{Session: s.ID})
	if err == nil {
		f.say("the session %s has ended", s.ID)
	}
	return err
}
