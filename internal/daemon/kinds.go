package daemon

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"scv/internal/agent"
	"scv/internal/agent/catalog"
	"scv/internal/agent/nested"
	"scv/internal/agent/shell"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/home/offer"
	"scv/internal/safe/redact"
	"scv/internal/wire"
)

// kinds are the agents of this release with the owner's settings of one moment. It does not change once made.
type kinds struct {
	home   *home.Home
	config *config.Config
	known  map[string]known
	shell  string // the owner's
	masker *redact.Masker
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
			settings.Command = opt.Exe // the dialect adds the arguments by which main knows what to be
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
	if on := a.wire(forced); on != "" {
		if _, ok := a.by[on]; ok {
			return on
		}
	}
	return a.prefer
}

// wire is the wire's word for the transport that a job asks for: a live agent is a nested scv, or it is not.
func (a known) wire(forced string) string {
	if forced != wire.TransportLive {
		return forced
	}
	if _, nested := a.by[wire.TransportSCV]; nested {
		return wire.TransportSCV
	}
	return wire.TransportACP
}

// aside reports whether an agent is chosen only by whoever names it: the demo agents, and SCV itself.
func aside(name string) bool { return strings.HasPrefix(name, "demo") || name == nested.Name }

// fits refuses a job that its agent is known not to be able to serve: over this transport, or with this model or effort,
// where empty ones are the owner's own.
func (k *kinds) fits(name, forced, model, effort string) error {
	a, ok := k.known[name]
	if !ok {
		return nil
	}
	if err := k.reaches(name, forced); err != nil || !k.config.CheckModels {
		return err
	}
	transport := k.transport(name, forced)
	own := a.by[transport].settings
	if own.OwnCommand && transport == wire.TransportCLI {
		return nil
	}
	said, err := offer.Read(k.home, name)
	if err != nil {
		return nil // it is not known what it offers
	}
	return said.Fits(name, cmp.Or(model, own.Model), cmp.Or(effort, own.Effort))
}

// reaches refuses a transport that a known agent does not have, and a home of its own that it cannot be given.
func (k *kinds) reaches(name, forced string) error {
	a := k.known[name]
	transport := k.transport(name, forced)
	if want := a.wire(forced); want != "" && want != transport {
		return wire.Refuse(wire.ReasonUnavailable, "leave --transport out", "%s cannot be started %s", name,
			map[bool]string{true: "with one process per turn", false: "as a live process"}[want == wire.TransportCLI])
	}
	if k.config.Agent(name).Private && !a.private {
		return wire.Refuse(wire.ReasonUnavailable, "take agents."+name+".home out of config.toml, or set variables in agents."+name+".env",
			"it is not known how %s would be given a home of its own", name)
	}
	return nil
}

// offered keeps what an agent says that it can do, for completion and for fits.
func (k *kinds) offered(log *slog.Logger, name string, o wire.AgentOffer) {
	if err := offer.Write(k.home, name, o); err != nil {
		log.Warn("what an agent offers was not kept", "agent", name, "error", err)
	}
}

func (k *kinds) names() []string { return slices.Sorted(maps.Keys(k.known)) }

// reviewers are the agents that may review a builder's work when nobody is named: others that are installed first, and the
// builder's own kind last. The demo agent reviews only itself.
func (k *kinds) reviewers(builder string) (all []string) {
	for _, name := range k.names() {
		if name == builder || aside(name) || strings.HasPrefix(builder, "demo") {
			continue
		}
		kind, settings, _ := k.find(name, "")
		if _, err := exec.LookPath(settings.Program(kind.Command)); err == nil {
			all = append(all, name)
		}
	}
	return append(all, builder)
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

// newMasker knows the values that look like credentials by their name, of the daemon's environment and of what the
// configuration holds, and hides them wherever they turn up.
func newMasker(named []string) *redact.Masker {
	var secrets []redact.Secret
	for _, entry := range named {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || value == "" || !secretName(name) {
			continue
		}
		secrets = append(secrets, redact.Secret(value))
		// The header Authorization has a word before its credential, which is also met without it.
		if scheme, rest, two := strings.Cut(value, " "); two && slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(scheme)) {
			secrets = append(secrets, redact.Secret(strings.TrimSpace(rest)))
		}
	}
	return redact.New(secrets...)
}

// secretName reports whether the value of a variable, a header or a key of the configuration is a credential.
func secretName(name string) bool {
	name = "_" + strings.ReplaceAll(strings.ToUpper(name), "-", "_")
	return slices.ContainsFunc([]string{"_API_KEY", "_APIKEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PAT", "_AUTHORIZATION", "_COOKIE"}, func(end string) bool {
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
			Name: name, Command: settings.Program(kind.Command), Transport: string(kind.Transport), Can: k.can(name), Mode: k.config.Agent(name).Mode,
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
		if k.reaches(name, word) == nil {
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
