// Package offer keeps what each agent said of itself at its last start, in one file of the home per agent: its models,
// modes and efforts, for completion and for refusing what it does not know. The daemon writes it, anyone reads it. It is
// a copy that may be old or missing, so nothing depends on it.
package offer

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"scv/internal/home"
	"scv/internal/wire"
)

// maxBytes bounds a file that is read.
const maxBytes = 256 << 10

// An Offer is what an agent said.
type Offer struct{ wire.AgentOffer }

func name(agent string) string { return "agents/" + agent + ".json" }

// Read returns what an agent said; an error when nothing is known that can be read.
func Read(h *home.Home, agent string) (Offer, error) {
	var o Offer
	if !wire.ValidAgentName(agent) {
		return o, fs.ErrNotExist
	}
	f, err := h.Root().Open(name(agent))
	if err != nil {
		return o, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(data, &o.AgentOffer)
}

// Write keeps what an agent says; what is the same already is not written again. Another process may read meanwhile: it
// finds the old file or the new one.
func Write(h *home.Home, agent string, o wire.AgentOffer) error {
	if !wire.ValidAgentName(agent) {
		return fs.ErrInvalid
	}
	data, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	root := h.Root()
	if old, err := root.ReadFile(name(agent)); err == nil && string(old) == string(data) {
		return nil
	}
	if err := root.Mkdir("agents", home.DirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	next := name(agent) + ".new"
	if err := root.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	if err := root.Rename(next, name(agent)); err != nil {
		return errors.Join(err, remove(root, next))
	}
	return nil
}

func remove(root *os.Root, name string) error {
	if err := root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Fits refuses a model or an effort that the agent does not offer; an empty one is the agent's own. A short form of a
// model, such as the end of a name behind a slash, is left to the agent to judge, and so is everything whose list is not
// known or not the whole one.
func (o Offer) Fits(agent, model, effort string) error {
	if model != "" && o.Whole && !slices.ContainsFunc(o.Models, named(model)) {
		if ids := wire.ChoiceIDs(o.Models); len(ids) > 0 {
			return refuse(agent, "the model "+model, ids)
		}
	}
	list := o.EffortsOf(model)
	if effort == "" || len(list) == 0 || slices.Contains(list, effort) {
		return nil
	}
	what := "the effort " + effort
	if model != "" {
		what += " with the model " + model
	}
	return refuse(agent, what, list)
}

func named(model string) func(wire.AgentChoice) bool {
	return func(m wire.AgentChoice) bool { return strings.Contains(strings.ToLower(m.ID), strings.ToLower(model)) }
}

func refuse(agent, what string, known []string) error {
	if len(known) > 8 {
		known = slices.Concat(known[:8], []string{"..."})
	}
	return wire.Refuse(wire.ReasonInvalid, "choose one of them, or switch the check off: scv config set policy.check_models false",
		"%s does not offer %s; when it was last asked it offered %s", agent, what, strings.Join(known, ", "))
}
