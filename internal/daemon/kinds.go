package daemon

import (
	"errors"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"scv/internal/agent"
	"scv/internal/agent/claude"
	"scv/internal/agent/codex"
	"scv/internal/agent/demo"
	"scv/internal/home"
	"scv/internal/home/config"
	"scv/internal/safe/redact"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
)

// kinds are the agents of this release with the owner's settings. It does not change once made.
type kinds struct {
	home   *home.Home
	config *config.Config
	known  map[string]known
}

type known struct {
	kind     agent.Kind
	settings agent.Settings
}

func newKinds(opt Options) *kinds {
	k := &kinds{home: opt.Home, config: opt.Config, known: make(map[string]known)}
	for _, kind := range []agent.Kind{codex.Kind(), claude.Kind(), demo.Kind(), demo.LiveKind()} {
		own := opt.Config.Agent(kind.Name)
		kind.Pass = slices.Concat(kind.Pass, own.EnvPass)
		settings := agent.Settings{Command: own.Command, Args: own.Args, OwnCommand: own.Command != "", Model: own.Model, Effort: own.Effort}
		if settings.OwnCommand {
			settings.Args = own.CommandLine("", "")
		}
		if kind.Command == "scv" && !settings.OwnCommand {
			settings.Command = opt.Exe // the dialect adds the argument by which main knows the demo agent
		}
		k.known[kind.Name] = known{kind: kind, settings: settings}
	}
	return k
}

func (k *kinds) find(name string) (agent.Kind, agent.Settings, bool) {
	a, ok := k.known[name]
	return a.kind, a.settings, ok
}

func (k *kinds) names() []string { return slices.Sorted(maps.Keys(k.known)) }

func (k *kinds) mode(name string) string { return k.config.Agent(name).Mode }

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

// live reports whether one process of an agent serves several turns.
func (k *kinds) live(name string) bool { return k.known[name].kind.Transport != agent.TransportCLI }

func (k *kinds) transport(name string) string { return string(k.known[name].kind.Transport) }

func limits(c *config.Config) hub.Limits {
	return hub.Limits{
		Running: c.Limits.Running, Unfinished: c.Limits.Unfinished, MemoryFloor: uint64(max(c.Limits.MemoryFloorMB, 0)) << 20,
		Idle: time.Duration(c.Limits.IdleMinutes) * time.Minute, FinishedListed: wire.MaxFinishedJobs, EndedListed: wire.MaxEndedRuns,
	}
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

func secretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PAT"}, func(end string) bool {
		return strings.HasSuffix(name, end)
	})
}

// An AgentInfo is an agent as a list of agents shows it.
type AgentInfo struct {
	Name      string
	Command   string // as configured or the agent's own
	Path      string // where it was found; empty when it was not
	Transport string
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
		kind, settings, _ := k.find(name)
		info := AgentInfo{
			Name: name, Command: settings.Program(kind.Command), Transport: string(kind.Transport), Mode: k.mode(name),
			Model: settings.Model, SignIn: kind.SignIn, Install: kind.Install, Passed: slices.Concat(agent.CommonVariables(), kind.Pass),
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

func plain(err error) string {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
