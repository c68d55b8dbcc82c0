package cli

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/wire"
)

type execOptions struct {
	f                        *factory
	args                     []string
	file, cwd, agent         string
	session, model, provider string
	schema                   string
	attach                   []string
	noTools, yes, wait, json bool
	timeout                  time.Duration
}

func newExecCmd(f *factory, runF func(context.Context, *execOptions) error) *cobra.Command {
	opts := &execOptions{f: f}
	cmd := &cobra.Command{
		Use: "exec [PROMPT]", Args: cobra.ArbitraryArgs,
		Short: "Put one prompt to the model, and print its answer",
		Long: `Put one prompt to SCV's own model, which has tools and may have agents work for it,
and print its answer as it comes; with --agent the prompt goes straight to an agent as
a job. The answer is on standard output, all else on standard error, and in a pipe only
the last message comes out. What would have to be asked is refused unless --yes says
otherwise. Without --session the conversation ends with the command, and jobs that it
started go on. Exit codes: 0 answered, 1 the turn failed, 4 no key for the model's
service, 124 the time of --timeout is over.`,
		Example: `  scv exec "what does this repository do?"
  git diff | scv exec -F - --output-schema review.json
  scv exec --session docs "go on with the second chapter"
  scv exec --agent codex "fix the failing test"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.args = args
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runExec(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&opts.agent, "agent", "", "give the prompt to this agent instead, as a job, and print its reply")
	flags.StringVar(&opts.session, "session", "", "go on in the session of this name or id, which is kept; a new name makes one")
	flags.StringVarP(&opts.file, "file", "F", "", "read the prompt from this file")
	flags.StringVarP(&opts.cwd, "cwd", "C", "", "directory to work in (default: this one)")
	flags.StringArrayVar(&opts.attach, "attach", nil, "a file to go with the prompt; may be repeated")
	flags.StringVar(&opts.model, "model", "", "the model, instead of the configured one")
	flags.StringVar(&opts.provider, "provider", "", "the profile of a model service, instead of the active one")
	flags.StringVar(&opts.schema, "output-schema", "", "a file with the JSON schema that the answer follows")
	flags.BoolVar(&opts.noTools, "no-tools", false, "let the model use no tools")
	flags.BoolVar(&opts.yes, "yes", false, "allow what would have to be asked")
	flags.BoolVar(&opts.wait, "wait", false, "stay until the jobs that the model started were reported")
	flags.BoolVar(&opts.json, "json", false, "print the events of the protocol, one JSON object a line")
	addPatience(flags, &opts.timeout, "timeout", "give up after this time, such as 10m")
	_ = cmd.RegisterFlagCompletionFunc("agent", f.completeAgents)
	return cmd
}

func runExec(ctx context.Context, opts *execOptions) error {
	if opts.agent != "" {
		return opts.job(ctx)
	}
	prompt, err := opts.f.prompt(ctx, opts.args, opts.file)
	if err != nil {
		return err
	}
	cwd, err := directory(opts.cwd)
	if err != nil {
		return err
	}
	turn := wire.TurnStart{Prompt: prompt}
	if turn.Attachments, err = attachments(opts.attach); err != nil {
		return err
	}
	if turn.Schema, err = schemaFile(opts.schema); err != nil {
		return err
	}
	if opts.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, opts.timeout, errTimeout)
		defer cancel()
	}
	talk, done, err := opts.open(ctx, cwd)
	if err != nil {
		return err
	}
	defer done()
	turn.SessionID, turn.RequestID = talk.ID(), talk.NextID()
	if err := talk.Send(ctx, turn); err != nil {
		return err
	}
	p := &performance{f: opts.f, talk: talk, request: turn.RequestID, yes: opts.yes, wait: opts.wait, json: opts.json, jobs: map[wire.JobID]bool{}}
	return opts.ended(ctx, p.follow(ctx))
}

// job gives the prompt to an agent, and prints its reply.
func (o *execOptions) job(ctx context.Context) error {
	if o.session != "" || o.schema != "" || len(o.attach) > 0 || o.noTools || o.json || o.provider != "" {
		return usage("leave them out, or leave --agent out", "--session, --provider, --attach, --output-schema, --no-tools and --json are for SCV's own model")
	}
	return runJobStart(ctx, &jobStartOptions{
		f: o.f, args: o.args, file: o.file, cwd: o.cwd, agent: o.agent, model: o.model, mode: map[bool]string{true: string(wire.ModeAuto)}[o.yes],
		wait: true, quiet: true, timeout: o.timeout,
	})
}

// ended says why the command stopped before the turn did.
func (o *execOptions) ended(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case errors.Is(context.Cause(ctx), errTimeout):
		o.f.say("the time of --timeout is over%s", o.goesOn())
		return status(exitTimeout)
	}
	o.f.say("left%s", o.goesOn())
	return status(exitInterrupted)
}

func (o *execOptions) goesOn() string {
	if o.session == "" {
		return "; the turn ends with this command, and jobs that it started go on: scv jobs"
	}
	return "; the turn goes on. Look at it: scv sessions attach " + o.session
}

// open starts a session for the prompt, or goes on in a named one.
func (o *execOptions) open(ctx context.Context, cwd string) (*client.Talk, func(), error) {
	c, err := dialAs(ctx, o.f, "scv-exec")
	if err != nil {
		return nil, nil, err
	}
	done := func() { c.Close() }
	talk, err := o.enter(ctx, c, cwd)
	if err != nil {
		done()
		return nil, nil, err
	}
	return talk, done, nil
}

func (o *execOptions) enter(ctx context.Context, c *client.Conn, cwd string) (*client.Talk, error) {
	if o.session != "" {
		r, err := findSession(ctx, c, o.session)
		if err != nil {
			return nil, err
		}
		if r != nil {
			return client.AttachTalk(ctx, c, r.ID, cwd)
		}
	}
	m := wire.SessionStart{Cwd: cwd}
	if o.session != "" {
		m.Keep, m.Name = new(true), &o.session
	}
	if o.model != "" {
		m.Model = &o.model
	}
	if o.provider != "" {
		m.Provider = &o.provider
	}
	if o.noTools {
		m.NoTools = &o.noTools
	}
	return client.StartTalk(ctx, c, m)
}

// attachments describes files as the protocol wants them.
func attachments(files []string) ([]wire.Attachment, error) {
	var out []wire.Attachment
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return nil, usage("name a file that is there", "%s cannot be attached: it is no plain file", file)
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, usage("name a file that is there", "%s cannot be attached: %s", file, cause(err))
		}
		a := wire.Attachment{Kind: "file", Path: path, Name: filepath.Base(file), Size: uint64(info.Size()), Mime: mime.TypeByExtension(filepath.Ext(path))}
		for _, kind := range []string{"image", "audio", "video"} {
			if strings.HasPrefix(a.Mime, kind+"/") {
				a.Kind = kind
			}
		}
		out = append(out, a)
	}
	return out, nil
}

func schemaFile(path string) (json.RawMessage, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("name a file that is there", "the schema cannot be read: %s", cause(err))
	}
	var object map[string]any
	if json.Unmarshal(data, &object) != nil || object == nil {
		return nil, usage(`it begins with: {"type":"object","properties":{`, "%s holds no JSON schema of an object", path)
	}
	return data, nil
}
