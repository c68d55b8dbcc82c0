package daemon

import (
	"errors"
	"log/slog"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"scv/internal/agent"
	"scv/internal/agent/catalog"
	"scv/internal/agent/shell"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/home/offer"
	"scv/internal/repo"
	"scv/internal/safe/redact"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
)

// kinds are the agents of this release with the owner's settings. It does not change once made.
type kinds struct {
	home   *home.Home
	config *config.Config
	known  map[string]known
	shell  string // the owner's
}

// known is an agent with the owner's settings, by transport. Words are the wire's: acp for a live one, cli.
type known struct {
	by     map[string]choice
	prefer string // the transport of a job that asks for none

	private bool // it has a home of its own, which is place
	place   agent.PrivateHome
}

type choice struct {
	kind     agent.Kind
	settings agent.Settings
}

func newKinds(opt Options) *kinds {
	k := &kinds{home: opt.Home, config: opt.Config, known: make(map[string]known), shell: opt.value("SHELL")}
	for _, entry := range catalog.Builtin() {
		k.add(opt, entry)
	}
	for _, name := range opt.Config.OwnAgents() {
		own := opt.Config.Agent(name)
		if own.Transport == config.TransportACP {
			k.add(opt, catalog.Entry{Live: new(catalog.ACP(name, own.Command))})
		} else {
			k.add(opt, catalog.Entry{CLI: new(catalog.Plain(name, own.Command, own.Stdin))})
		}
	}
	return k
}

// add puts an agent in with the owner's settings. His own command takes the prompt as its last argument, as upstream's
// does, so it is used live only when he says so.
func (k *kinds) add(opt Options, entry catalog.Entry) {
	own := opt.Config.Agent(entry.Name())
	a := known{by: make(map[string]choice)}
	for _, kind := range []*agent.Kind{entry.CLI, entry.Live} {
		if kind == nil {
			continue
		}
		kind.Granted, kind.Env = own.EnvPass, own.Env
		if own.Private {
			*kind, a.place, a.private = kind.InPrivateHome(opt.Home.AgentHome(kind.Name))
		}
		settings := agent.Settings{Command: own.Command, Args: own.Args, OwnCommand: own.Command != "", Model: own.Model, Effort: own.Effort, Quiet: own.Quiet}
		if settings.OwnCommand {
			settings.ModelArgs, settings.EffortArgs, settings.PromptArgs = own.ModelArgs, own.EffortArgs, own.PromptArgs
		}
		if kind.Command == "scv" && !settings.OwnCommand {
			settings.Command = opt.Exe // the dialect adds the argument by which main knows the demo agent
		}
		a.by[string(kind.Transport)] = choice{*kind, settings}
		a.prefer = string(kind.Transport)
	}
	if _, cli := a.by[wire.TransportCLI]; cli && (own.Transport == config.TransportCLI || own.Command != "" && own.Transport != config.TransportLive) {
		a.prefer = wire.TransportCLI
	}
	k.known[entry.Name()] = a
}

// find returns an agent over the transport that a run's row names; empty for the one that a new job would get.
func (k *kinds) find(name, transport string) (agent.Kind, agent.Settings, bool) {
	if name == wire.ShellAgent { // it is no agent that a job may ask for
		return shell.Kind(), agent.Settings{Command: k.shell}, true
	}
	if transport == wire.TransportTerminal { // any that goes on with the conversation there
		transport = ""
	}
	a, ok := k.known[name]
	if transport == "" {
		transport = a.prefer
	}
	c, is := a.by[transport]
	return c.kind, c.settings, ok && is
}

// transport is the word for a new run's transport. Forced is what its conversation asks for: live, cli or nothing. What an
// agent does not have is not forced on it: fits has refused such a job, and a conversation may outlive the settings.
func (k *kinds) transport(name, forced string) string {
	a := k.known[name]
	if forced == wire.TransportLive {
		forced = wire.TransportACP
	}
	if _, ok := a.by[forced]; ok {
		return forced
	}
	return a.prefer
}

// fits refuses a job that its agent is known not to be able to serve: over this transport, or with this model.
func (k *kinds) fits(name, forced, model string) error {
	a, ok := k.known[name]
	if !ok {
		return nil
	}
	transport := k.transport(name, forced)
	if want := strings.Replace(forced, wire.TransportLive, wire.TransportACP, 1); want != "" && want != transport {
		return wire.Refuse(wire.ReasonUnavailable, "leave --transport out", "%s cannot be started %s", name,
			map[string]string{wire.TransportACP: "as a live process", wire.TransportCLI: "with one process per turn"}[want])
	}
	if k.config.Agent(name).Private && !a.private {
		return wire.Refuse(wire.ReasonUnavailable, "take agents."+name+".home out of config.toml, or set variables in agents."+name+".env",
			"it is not known how %s would be given a home of its own", name)
	}
	if own := a.by[transport].settings.OwnCommand && transport == wire.TransportCLI; model == "" || own || !k.config.CheckModels {
		return nil
	}
	said, err := offer.Read(k.home, name)
	if err != nil {
		return nil // it is not known what it offers
	}
	return said.Fits(name, model)
}

// offered keeps what an agent says that it can do, for completion and for fits.
func (k *kinds) offered(log *slog.Logger) func(name string, o wire.AgentOffer) {
	return func(name string, o wire.AgentOffer) {
		if err := offer.Write(k.home, name, o); err != nil {
			log.Warn("what an agent offers was not kept", "agent", name, "error", err)
		}
	}
}

func (k *kinds) names() []string { return slices.Sorted(maps.Keys(k.known)) }

func (k *kinds) mode(name string) string { return k.config.Agent(name).Mode }

// afterLimit reports whether the owner lets an agent go on by itself once its usage limit is renewed.
func (k *kinds) afterLimit(name string) bool { return k.config.Agent(name).AfterLimit }

// budget is what an agent may spend a day; of the empty name, all of them together.
func (k *kinds) budget(name string) float64 {
	if name == "" {
		return k.config.Limits.DailyUSD
	}
	return k.config.Agent(name).DailyUSD
}

// workspaceMode is the mode of a job that names none: the owner's, which the project may tighten.
func (k *kinds) workspaceMode(workspace, name string) (string, error) {
	c, err := k.config.ForWorkspace(k.home, workspace)
	if err != nil {
		return "", wire.Refuse(wire.ReasonInvalid, "correct it, then start the job again", "the project's configuration is wrong: %s", sentences(err))
	}
	return c.Agent(name).Mode, nil
}

func sentences(err error) string {
	var out []string
	for _, p := range config.Problems(err) {
		out = append(out, p.Error())
	}
	if len(out) == 0 {
		return err.Error()
	}
	return strings.Join(out, " ")
}

// terminal reports whether an agent goes on with its conversations in a terminal of its own.
func (k *kinds) terminal(name string) bool {
	kind, _, ok := k.find(name, "")
	return ok && kind.Terminal != nil
}

// limits are those of the hub. A daemon that itself lives inside a run has as many levels less.
func limits(c *config.Config, inside string) hub.Limits {
	levels, _ := strconv.Atoi(inside) // absent or odd: it is the owner's own
	depth := c.Limits.Depth - max(levels, 0)
	if depth <= 0 {
		depth = -1
	}
	return hub.Limits{
		Depth:   depth,
		Running: c.Limits.Running, Unfinished: c.Limits.Unfinished, MemoryFloor: uint64(max(c.Limits.MemoryFloorMB, 0)) << 20,
		Idle: time.Duration(c.Limits.IdleMinutes) * time.Minute, FinishedListed: wire.MaxFinishedJobs, EndedListed: wire.MaxEndedRuns,
	}
}

// room is what worktrees may take.
func room(c *config.Config) repo.Room {
	return repo.Room{Floor: uint64(max(c.Worktrees.FloorMB, 0)) << 20, Most: uint64(max(c.Worktrees.MaxMB, 0)) << 20}
}

// problems are what is wrong and does not keep the daemon from serving: sentences of its own, then the configuration's
// warnings.
func problems(c *config.Config, lost string, more func() string) func() []string {
	return func() []string {
		var out []string
		for _, text := range []string{lost, more()} {
			if text != "" {
				out = append(out, text)
			}
		}
		for _, p := range c.Warnings {
			out = append(out, p.Error())
		}
		return out
	}
}

// newMasker knows the values of the daemon's environment that look like credentials by their variable's name, and hides
// them wherever they turn up.
func newMasker(environ []string) *redact.Masker {
	var secrets []redact.Secret
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if ok && value != "" && secretName(name) {
			secrets = append(secrets, redact.Secret(value))
		}
	}
	return redact.New(secrets...)
}

// ownEnviron lists what the configuration sets for agents, as an environment: it may hold secrets too.
func ownEnviron(c *config.Config) []string {
	var out []string
	for _, a := range c.Agents {
		for name, text := range a.Env {
			out = append(out, name+"="+text)
		}
	}
	return out
}

func secretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PAT"}, func(end string) bool {
		return strings.HasSuffix(name, end)
	})
}

// An AgentInfo is an agent as a list of agents shows it.
type AgentInfo struct {
	Name      string
	Command   string   // as configured or the agent's own
	Path      string   // where it was found; empty when it was not
	Transport string   // chosen for a job that asks for none, as Run.Transport names it
	Can       []string // transports that a job may ask for: live, cli
	Mode      string
	Model     string
	SignIn    string   // the one command that signs in
	Install   string   // the one command that installs it
	Passed    []string // names of the environment's variables that it inherits; a trailing * matches a prefix
	Problem   string   // why it cannot be started, or empty
}

// Agents lists the agents of this release as they are configured and found on this machine.
func Agents(opt Options) []AgentInfo {
	k := newKinds(opt)
	var out []AgentInfo
	for _, name := range k.names() {
		kind, settings, _ := k.find(name, "")
		info := AgentInfo{
			Name: name, Command: settings.Program(kind.Command), Transport: string(kind.Transport), Can: k.can(name), Mode: k.mode(name),
			Model: settings.Model, SignIn: kind.SignIn, Install: kind.Install, Passed: slices.Concat(agent.CommonVariables(), kind.Pass, kind.Granted),
		}
		path, err := exec.LookPath(info.Command)
		switch {
		case err == nil:
			info.Path = path
		case errors.Is(err, exec.ErrNotFound):
			info.Problem = "it was not found"
		default:
			info.Problem = plain(err)
		}
		out = append(out, info)
	}
	return out
}

// can lists the words by which a job may ask for a transport.
func (k *kinds) can(name string) []string {
	var out []string
	for _, word := range []string{wire.TransportLive, wire.TransportCLI} {
		if k.fits(name, word, "") == nil {
			out = append(out, word)
		}
	}
	return out
}

func plain(err error) string {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
