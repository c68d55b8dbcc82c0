// Package talk builds what a session of the model loop works with, from the settings of the moment: the model's service,
// its system prompt, its tools and bounds. It knows configuration, environment and the workbench; sessions know none of
// them. Its methods may be called from any goroutine.
package talk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/safe/redact"
	"scv/internal/session"
	"scv/internal/session/delegate"
	"scv/internal/session/loop"
	"scv/internal/session/provider"
	"scv/internal/session/tool"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// Options are what a Builder is made of.
type Options struct {
	Home    *home.Home
	Environ []string
	// Load reads the settings of now; a session keeps those that it began with.
	Load func() (*config.Config, error)
	// Open makes the client of a service.
	Open func(ctx context.Context, p config.Provider, key func(context.Context) (redact.Secret, error), l config.Loop) (provider.Provider, error)
	// Tools makes the tools of a session.
	Tools func(ctx context.Context, s Site) (Kit, error)
	// Delegation is what a session's model may have agents do; nil or false when there is nobody to ask.
	Delegation func(s Site) (delegate.Options, bool)
	Log        *slog.Logger
}

// A Site is where a session's tools work.
type Site struct {
	Talk   row.Talk
	Config *config.Config
	Loop   config.Loop
}

// A Kit is what tools make of a session.
type Kit struct {
	Tools []tool.Tool
	Parts []string // of the system prompt, such as the instructions of a project
	Close func() error
}

// A Builder builds sessions.
type Builder struct{ o Options }

// New makes a builder.
func New(o Options) *Builder { return &Builder{o} }

// keyPatience bounds a command that prints a key.
const keyPatience = 10 * time.Second

// maxKey bounds a key, in bytes.
const maxKey = 8 << 10

// Build makes what a session works with. Without a key it is built all the same: its turns fail and say what is missing,
// so a dashboard that opens a session when it starts goes on.
func (b *Builder) Build(ctx context.Context, t row.Talk) (session.Setup, error) {
	c, err := b.o.Load()
	if err == nil {
		c, err = c.ForWorkspace(b.o.Home, t.Workspace)
	}
	if err != nil {
		return session.Setup{}, fmt.Errorf("the settings cannot be used: %w", err)
	}
	p, err := c.Provider(t.Start.Provider, b.o.Environ)
	if err != nil {
		return session.Setup{}, err
	}
	if t.Start.Model != "" {
		p.Model = t.Start.Model
	}
	if t.Start.BaseURL != "" {
		p.BaseURL = t.Start.BaseURL
	}
	l := c.Loop()
	service, err := b.service(ctx, p, l)
	if err != nil {
		return session.Setup{}, err
	}
	mode := wire.PermissionMode(c.Policy.Mode)
	out := session.Setup{
		Provider: service, Images: p.Images,
		Loop: loop.Config{Model: p.Model, Effort: p.Effort, Mode: mode, Owner: t.Start.Owner, Limits: limits(l)},
		Announced: wire.SessionStarted{
			Cwd: t.Workspace, Model: p.Model, ContextMaxTokens: uint64(l.Window), MaxServerFrameBytes: uint64(l.ServerFrame),
			MaxTranscriptBytes: uint64(l.Transcript), MaxTranscriptItems: uint64(l.TranscriptItems),
			MaxPromptHistoryBytes: uint64(l.Prompts), MaxPromptHistoryItems: uint64(l.PromptItems), Keys: l.Keys, Mode: &mode,
		},
	}
	var kit Kit
	if !t.Start.NoTools && b.o.Tools != nil {
		if kit, err = b.o.Tools(ctx, Site{Talk: t, Config: c, Loop: l}); err != nil {
			return session.Setup{}, err
		}
	}
	if !t.Start.NoTools && b.o.Delegation != nil {
		if o, ok := b.o.Delegation(Site{Talk: t, Config: c, Loop: l}); ok {
			kit.Tools = append(kit.Tools, delegate.Tools(o)...)
			kit.Parts = append(kit.Parts, delegate.Section(o))
		}
	}
	out.Tools, out.Close = kit.Tools, kit.Close
	for _, one := range kit.Tools {
		out.Loop.Tools = append(out.Loop.Tools, one.Spec())
	}
	out.Loop.System = system(t, l, p, kit)
	return out, nil
}

func limits(l config.Loop) loop.Limits {
	return loop.Limits{
		Steps: l.Steps, Window: l.Window, Reserve: l.Reserve, Safety: l.Safety, BytesPerToken: l.PerToken, Summary: l.Summary,
		HistoryBytes: l.HistoryBytes, HistoryMessages: l.HistoryMessages, Output: l.Output, Calls: l.Call, Arguments: l.Arguments,
	}
}

// service opens the model's service, or says in its place why it cannot be asked.
func (b *Builder) service(ctx context.Context, p config.Provider, l config.Loop) (provider.Provider, error) {
	if p.Model == "" {
		return missing{fmt.Sprintf("no model is named for %s: write model = \"...\" in its table of config.toml, or set SCV_MODEL", p.Name)}, nil
	}
	if !keyed(p, b.o.Environ) {
		return missing{fmt.Sprintf("there is no key for the model service: set %s, or write api_key_file in the table of %s in config.toml", p.APIKeyEnv, p.Name)}, nil
	}
	return b.o.Open(ctx, p, b.key(p), l)
}

// keyed reports whether a key is named anywhere. A service of the owner's own address may need none.
func keyed(p config.Provider, environ []string) bool {
	return p.APIKey != "" || len(p.APIKeyCmd) > 0 || p.APIKeyFile != "" || variable(environ, p.APIKeyEnv) != "" || p.BaseURL != ""
}

func variable(environ []string, name string) (value string) {
	for _, entry := range environ {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value = rest
		}
	}
	return value
}

// key finds a profile's key each time it is wanted, so that one that was renewed is used. No error repeats it.
func (b *Builder) key(p config.Provider) func(context.Context) (redact.Secret, error) {
	return func(ctx context.Context) (redact.Secret, error) {
		switch {
		case p.APIKey != "":
			return p.APIKey, nil
		case len(p.APIKeyCmd) > 0:
			return b.printed(ctx, p)
		case p.APIKeyFile != "":
			return b.filed(p)
		}
		return redact.Secret(variable(b.o.Environ, p.APIKeyEnv)), nil
	}
}

func (b *Builder) printed(ctx context.Context, p config.Provider) (redact.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, keyPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.APIKeyCmd[0], p.APIKeyCmd[1:]...)
	cmd.Env = b.o.Environ
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("the command that prints the key of %s failed: %w", p.Name, exitOnly(err))
	}
	return trimmed(out, "the command that prints the key of "+p.Name)
}

// exitOnly is how a command ended, without what it printed.
func exitOnly(err error) error {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return errors.New(e.ProcessState.String())
	}
	return err
}

func (b *Builder) filed(p config.Provider) (redact.Secret, error) {
	path := p.APIKeyFile
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(variable(b.o.Environ, "HOME"), rest)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the file with the key of %s is not there: %s", p.Name, path)
	case err != nil:
		return "", fmt.Errorf("the file with the key of %s: %w", p.Name, err)
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("other users may read the key of %s: chmod 600 %s", p.Name, path)
	case info.Size() > maxKey:
		return "", fmt.Errorf("the file with the key of %s is no key: it is longer than %d bytes", p.Name, maxKey)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the file with the key of %s: %w", p.Name, err)
	}
	return trimmed(data, "the file with the key of "+p.Name)
}

func trimmed(data []byte, what string) (redact.Secret, error) {
	key := bytes.TrimSpace(data)
	if len(key) == 0 || len(key) > maxKey || bytes.ContainsAny(key, "\r\n\x00") {
		return "", fmt.Errorf("%s gives no key: one line is wanted", what)
	}
	return redact.Secret(key), nil
}

// missing stands for a service that cannot be asked.
type missing struct{ sentence string }

// Stream implements provider.Provider.
func (m missing) Stream(context.Context, provider.Request, func(provider.Piece)) (provider.Answer, error) {
	return provider.Answer{}, &provider.Fault{Class: provider.SignIn, Sentence: m.sentence}
}

// Count implements provider.Provider.
func (missing) Count(context.Context, provider.Request) (int, bool, error) { return 0, false, nil }
