package daemon

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"scv/internal/agent"
	"scv/internal/home"
)

// An Account is how an agent is signed in and out, for the command line.
type Account struct {
	Agent   string
	Path    string   // of its program; empty when it was not found
	Login   []string // arguments of the program; nil when it has no words for it
	Status  []string // likewise; it ends with 0 when somebody is signed in
	Logout  []string // likewise
	Environ []string // to run it in, name=value
	Home    string   // the private home; empty for the owner's own
	Carried []CarriedVariables
	// Endpoint is the service that the environment or the configuration names; empty when the agent's own settings do.
	Endpoint string
}

// CarriedVariables are what an agent with a private home shares with its owner, and why.
type CarriedVariables struct {
	Names []string `json:"names"`
	Why   string   `json:"why"`
	Set   bool     `json:"set"` // at least one of them is set
}

// AccountOf returns an agent's account, with its private home made where it has one; false when there is no such agent.
func AccountOf(opt Options, name string) (Account, bool, error) {
	k := newKinds(opt)
	kind, settings, ok := k.find(name, "")
	if !ok {
		return Account{}, false, nil
	}
	if err := k.reaches(name, ""); err != nil {
		return Account{}, true, err
	}
	known := k.known[name]
	if err := known.make(opt.Home); err != nil {
		return Account{}, true, fmt.Errorf("make the private home of %s: %w", name, err)
	}
	a := Account{Agent: name, Login: kind.Account.Login, Status: kind.Account.Status, Logout: kind.Account.Logout}
	if path, err := exec.LookPath(settings.Program(kind.Command)); err == nil {
		a.Path = path
	}
	set := variables(opt.Environ, kind)
	if kind.Endpoint != "" {
		a.Endpoint = set[kind.Endpoint]
	}
	if known.private {
		a.Home = opt.Home.AgentHome(name)
		for _, c := range agent.CarriedIntoPrivateHomes() {
			a.Carried = append(a.Carried, CarriedVariables{Names: c.Names, Why: c.Why, Set: anySet(set, c.Names)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		a.Environ = append(a.Environ, name+"="+set[name])
	}
	return a, true, nil
}

// variables is the environment in which a person signs in: his whole one, for browsers and key rings, but for what a
// private home leaves behind, and with what the agent itself is given.
func variables(environ []string, kind agent.Kind) map[string]string {
	set := make(map[string]string)
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" && !(kind.Apart && secretName(name)) {
			set[name] = value
		}
	}
	maps.Copy(set, kind.Home)
	maps.Copy(set, kind.Env)
	return set
}

func anySet(set map[string]string, names []string) bool {
	for name := range set {
		if slices.ContainsFunc(names, func(n string) bool {
			prefix, is := strings.CutSuffix(n, "*")
			return name == n || is && strings.HasPrefix(name, prefix)
		}) {
			return true
		}
	}
	return false
}

// make makes the private home of an agent, if it has one.
func (a known) make(h *home.Home) error {
	for _, dir := range a.place.Dirs {
		if err := h.MakeAgentDir(dir); err != nil {
			return err
		}
	}
	for _, f := range a.place.Files {
		if err := h.PlaceAgentFile(f.Path, f.Data); err != nil {
			return err
		}
	}
	return nil
}

// makeHomes makes the private homes of all agents that have one.
func (k *kinds) makeHomes() error {
	var errs []error
	for _, name := range k.names() {
		if err := k.known[name].make(k.home); err != nil {
			errs = append(errs, fmt.Errorf("make the private home of %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
