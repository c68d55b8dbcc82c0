package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"scv/internal/agent"
	"scv/internal/run/control"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// Terminals serve the screens of runs whose agent has a terminal. A Launcher calls them from the goroutines of its runs;
// they return at once.
type Terminals interface {
	// Open says that the shim of a run lives or lived. It may be said more than once.
	Open(o row.Order)
	// Note is for the one who holds the terminal.
	Note(h wire.RunHandle, text string)
	// Close says how a run ended, or why it was not started.
	Close(h wire.RunHandle, exit string)
}

// noTerminals serve nothing.
type noTerminals struct{}

func (noTerminals) Open(row.Order)               {}
func (noTerminals) Note(wire.RunHandle, string)  {}
func (noTerminals) Close(wire.RunHandle, string) {}

// A takeover is a run whose agent has a terminal. It serves no turns, and nothing is said to it but by whoever types.
type takeover struct{ *run }

// plan says how the agent goes on with its conversation in a terminal, or how the owner's shell starts.
func (r takeover) plan(ctx context.Context) (row.TurnWish, agent.Launch, error) {
	c := &r.o.Conversation
	w := row.TurnWish{
		Session: c.Session, Cwd: c.Cwd, Vendor: c.Vendor, Model: c.Model, Effort: c.Effort, Mode: c.Mode,
	}
	if err := beginning(r).stillWanted(); err != nil {
		return w, agent.Launch{}, err
	}
	if r.kind.Terminal == nil {
		return w, agent.Launch{}, wire.Refuse(wire.ReasonRefused, "scv jobs send", "%s has no terminal in which it goes on with a conversation", r.kind.Name)
	}
	launch, err := r.kind.Terminal(r.set, talk(r).service(w))
	if err != nil {
		return w, launch, err
	}
	notes, err := r.c.Ground.Prepare(ctx, r.o)
	if err != nil {
		return w, launch, err
	}
	launch.Note = strings.TrimSpace(strings.Join(append([]string{launch.Note}, notes...), " "))
	env := terminalVariables(beginning(r).environ)
	maps.Copy(env, launch.Env)
	launch.Env = env
	return w, launch, nil
}

// terminalVariables tell a program what its terminal can do, which is what ours can (terminal.md section 8).
func terminalVariables(environ func(string) string) map[string]string {
	env := map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"}
	locale, name := "", "LC_CTYPE"
	for _, n := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale = environ(n); locale != "" {
			if n == "LC_ALL" {
				name = n
			}
			break
		}
	}
	if l := strings.ToLower(locale); !strings.Contains(l, "utf-8") && !strings.Contains(l, "utf8") {
		env[name] = "C.UTF-8"
	}
	return env
}

// withoutTerminal leaves out what tells of the terminal that the daemon was started in: programs would speak to that one.
func withoutTerminal(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "TMUX", "TMUX_PANE", "STY", "WT_SESSION", "VTE_VERSION", "WINDOWID", "COLUMNS", "LINES":
			return true
		}
		return strings.HasPrefix(name, "TERM_PROGRAM") || strings.HasPrefix(name, "KITTY_")
	})
}

// size is that of the terminal at its start; nil of a run without one.
func (r takeover) size() *control.Size {
	t := r.o.Run.Terminal
	if t == nil {
		return nil
	}
	return &control.Size{Cols: t.Cols, Rows: t.Rows}
}

// exitWords say how a terminal ended, as clients of every release know it.
func (r takeover) exitWords(x agent.Exit) string {
	switch {
	case x.OOM:
		return "ended because memory ran out"
	case r.c.Hub.Wishes(r.h).Stop:
		return "SCV ended it, as you asked"
	case x.Signal != "":
		return "killed by signal " + x.Signal
	}
	return fmt.Sprintf("exit %d", x.Code)
}

// muted is a kind as far as the fold of a terminal goes.
func muted(k agent.Kind) agent.Kind {
	k.Transport, k.Dialect, k.Version = wire.TransportTerminal, wire.TransportTerminal, 1
	k.New = func(agent.Settings) agent.Dialect { return agent.Mute{} }
	return k
}
