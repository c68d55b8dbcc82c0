package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"scv/internal/agent"
	"scv/internal/daemon/server"
	"scv/internal/daemon/talk"
	"scv/internal/home/config"
	"scv/internal/repo"
	"scv/internal/safe/redact"
	"scv/internal/session"
	"scv/internal/session/delegate"
	"scv/internal/session/mcp"
	"scv/internal/session/provider"
	"scv/internal/session/provider/catalog"
	"scv/internal/session/provider/service"
	"scv/internal/session/skill"
	"scv/internal/session/tool/file"
	"scv/internal/session/tool/shell"
	"scv/internal/session/tool/web"
	"scv/internal/workbench/ledger"
	"scv/internal/workbench/row"
)

// newSessions is the room of the model loop over a recovered workbench. It follows the ends of jobs until ctx ends.
func newSessions(ctx context.Context, opt Options, log *slog.Logger, b *bench, set *settings) (*session.Host, error) {
	w := delegations(b, set)
	host, err := session.NewHost(ctx, session.Options{
		Build: newBuilder(opt, log, func(s talk.Site) (delegate.Options, bool) { return delegation(s, w, set) }).Build,
		Job:   w.Report, Journal: shelf{ledger.TalksOf(b.store), b.rest}, Bench: b.hub.Sessions(), Mask: b.served.Mask, Log: log, Now: opt.Now,
	})
	if err != nil {
		return nil, err
	}
	b.wg.Go(func() { w.Follow(ctx, host.Ended) })
	return host, nil
}

// A shelf keeps sessions in the ledger. Memory that a turn of the model took is given back as after a job: once nothing
// was written for a while.
type shelf struct {
	ledger.Talks
	rest *time.Timer
}

// SaveTalk implements session.Journal.
func (s shelf) SaveTalk(ctx context.Context, c row.TalkChange) error {
	err := s.Talks.SaveTalk(ctx, c)
	s.rest.Reset(restAfter)
	return err
}

// newBuilder builds sessions; without agents their models have nobody to ask.
func newBuilder(opt Options, log *slog.Logger, agents func(talk.Site) (delegate.Options, bool)) *talk.Builder {
	load := opt.Settings
	if load == nil {
		load = func() (*config.Config, error) { return opt.Config, nil }
	}
	return talk.New(talk.Options{Home: opt.Home, Environ: opt.Environ, Load: load, Open: openService, Tools: toolsOf(opt), Delegation: agents, Log: log})
}

// openService makes the client of a model service.
func openService(_ context.Context, p config.Provider, key func(context.Context) (redact.Secret, error), l config.Loop) (provider.Provider, error) {
	return catalog.Open(p.Kind, p.WireAPI, service.Profile{
		Name: p.Name, BaseURL: p.BaseURL, Key: key, Headers: p.Headers, Timeout: p.Timeout, Retries: p.Retries, NoImages: !p.Images,
		Bounds: service.Bounds{Event: l.Event, Response: l.Response, Text: l.Assistant, Arguments: l.Arguments, Calls: l.Call},
	})
}

// toolsOf makes the tools of a session, by the settings that it began with.
func toolsOf(opt Options) func(context.Context, talk.Site) (talk.Kit, error) {
	shelf := new(mcp.Shelf)
	return func(ctx context.Context, s talk.Site) (talk.Kit, error) {
		work, err := file.Open(s.Talk.Workspace, file.Bounds{Read: s.Loop.Read, Write: s.Loop.Write})
		if err != nil {
			return talk.Kit{}, err
		}
		found, err := skillsOf(opt, s)
		if err != nil {
			return talk.Kit{}, errors.Join(err, work.Close())
		}
		kit := talk.Kit{Tools: append(work.Tools(true), found.Tool()), Parts: found.Prompt(), Close: work.Close}
		kit.Tools = append(kit.Tools, shell.Bash(shell.Settings{
			Environ: commandEnviron(opt, s), Timeout: s.Loop.CommandTimeout, Most: s.Loop.MaxTimeout, Output: s.Loop.Output,
		}))
		if w := s.Loop.Web; w.Enabled {
			kit.Tools = append(kit.Tools, web.Fetch(web.Settings{
				Bytes: w.Bytes, Timeout: w.Timeout, Redirects: w.Redirects, Private: w.Private, Trusted: w.Unasked,
			}))
		}
		if servers := serversOf(opt, s); len(servers) > 0 {
			set := shelf.Open(ctx, servers)
			kit.Tools, kit.Parts = append(kit.Tools, set.Tools()...), append(kit.Parts, set.Parts()...)
			kit.Close = func() error { return errors.Join(set.Close(), work.Close()) }
		}
		return kit, nil
	}
}

// serversOf are the servers of the Model Context Protocol that the owner configured. Their programs inherit what the
// model's commands do.
func serversOf(opt Options, s talk.Site) []mcp.Server {
	var out []mcp.Server
	for _, m := range s.Loop.Servers {
		environ := commandEnviron(opt, s)
		for _, name := range slices.Sorted(maps.Keys(m.Env)) {
			environ = append(environ, name+"="+m.Env[name])
		}
		out = append(out, mcp.Server{
			Name: m.Name, Command: m.Command, Environ: environ, Dir: s.Talk.Workspace, URL: m.URL, Headers: m.Headers, Timeout: m.Timeout,
		})
	}
	return out
}

// skillsOf gathers skills and the project's instructions. They are read now and not again.
func skillsOf(opt Options, s talk.Site) (skill.Set, error) {
	from := skill.Sources{
		Dir: s.Talk.Workspace, ProjectDir: s.Loop.Skills.ProjectDir, Scan: s.Loop.Skills.Scan, Most: s.Loop.Skills.Most,
		Bytes: s.Loop.Skills.Bytes, Trusted: skill.Trusts(s.Loop.Skills.Trusted),
	}
	project, err := os.OpenRoot(s.Talk.Workspace)
	if err != nil {
		return skill.Set{}, err
	}
	defer project.Close()
	from.Workspace = project.FS()
	dir := s.Loop.Skills.UserDir
	if below, ok := strings.CutPrefix(dir, "~/.scv/"); ok { // the default names this home, wherever it is
		dir = filepath.Join(opt.Home.Path(), below)
	} else if below, ok := strings.CutPrefix(dir, "~/"); ok {
		dir = filepath.Join(opt.value("HOME"), below)
	}
	own, err := os.OpenRoot(dir)
	switch {
	case err == nil:
		defer own.Close()
		from.User = own.FS()
	case dir != "" && !errors.Is(err, fs.ErrNotExist):
		return skill.Set{}, fmt.Errorf("skills.user_dir cannot be read: %w", err)
	}
	return skill.Gather(from), nil
}

// commandEnviron is what the model's commands inherit: what an agent of no kind would. The marker of a run says to a
// daemon that such a command is not the owner's own. A session that is itself inside of a run keeps that run's, so that
// what its commands start counts by the run's depth.
func commandEnviron(opt Options, s talk.Site) []string {
	marks := map[string]string{"SCV_HOME": opt.Home.Path(), "SCV_RUN": string(s.Talk.ID), "SCV_PARENT": string(s.Talk.ID)}
	for _, name := range []string{"SCV_RUN", "SCV_PARENT", "SCV_DELEGATION_DEPTH"} {
		if above := opt.value(name); opt.alone && above != "" {
			marks[name] = above
		}
	}
	return agent.Environment(opt.Environ, agent.Kind{}, agent.Launch{}, marks)
}

// delegations is the workbench as the models of sessions see it.
func delegations(b *bench, set *settings) talk.Workbench {
	return talk.Workbench{
		Hub: b.hub, Mask: b.served.Mask, Saved: b.store.Result, Mode: set.workspaceMode,
		Plan: func(ctx context.Context, cwd, agent, task string) (*row.Tree, error) {
			return b.served.Ground.Plan(ctx, repo.Wish{Cwd: cwd, Agent: agent, Task: task})
		},
	}
}

// delegation is what the model of a session may have agents do; false when it may not, or none is here.
func delegation(s talk.Site, w talk.Workbench, set *settings) (delegate.Options, bool) {
	o := delegate.Options{
		Workbench: w, Session: s.Talk.ID, Most: s.Loop.Background, Timeout: s.Loop.AgentTimeout, MaxWait: s.Loop.MaxTimeout,
		Unasked: s.Talk.Start.AutoApprove, Agents: set.newest().here(s.Loop.Prefer),
	}
	return o, o.Most > 0 && int(s.Talk.Start.Depth) < s.Loop.Depth && len(o.Agents) > 0
}

// here are the agents whose programs are installed, those that the owner prefers first. The demo agents and
// SCV itself are not there unless he names them.
func (k *kinds) here(prefer []string) []delegate.Agent {
	var out []delegate.Agent
	add := func(name string) {
		kind, settings, ok := k.find(name, "")
		if _, err := exec.LookPath(settings.Program(kind.Command)); ok && err == nil {
			out = append(out, delegate.Agent{Name: name})
		}
	}
	for _, name := range prefer {
		add(name)
	}
	for _, name := range k.names() {
		if !slices.Contains(prefer, name) && !aside(name) {
			add(name)
		}
	}
	return out
}

// ServeStdio speaks the protocol with one client on two files: one session of the model loop, with no daemon behind it.
// Its diagnostics go to Options.Stderr. It returns when the input ends or ctx does, after the session has ended.
func ServeStdio(ctx context.Context, opt Options, in, out *os.File) error {
	opt = opt.withDefaults()
	opt.alone = true
	log := opt.logTo(opt.Stderr, slog.LevelWarn)
	mask := opt.logged.mask.Load
	host, err := session.NewHost(ctx, session.Options{Build: newBuilder(opt, log, nil).Build, Mask: mask, Log: log, Now: opt.Now})
	if err != nil {
		return err
	}
	srv := server.New(server.Options{Version: opt.Version, Log: log, Now: opt.Now, Started: opt.Now(), Stdio: true, Stall: stdioStall})
	srv.Ready(server.Workbench{Home: opt.Home, Mask: mask, Sessions: host})
	srv.Speak(ctx, server.Stdio(in, out))
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	host.Close(bounded)
	return nil
}

// stdioStall is how long the client of a pipe may leave an answer unread: it may be a program that was stopped.
const stdioStall = time.Hour
