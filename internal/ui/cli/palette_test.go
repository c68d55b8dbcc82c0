package cli

import (
	"io"
	"strings"
	"testing"
	"time"

	"scv/internal/ui/tui/model"
)

// TestPaletteNamesRealCommands looks at what the dashboard says to type instead of a key: each is a command of this tree.
func TestPaletteNamesRealCommands(t *testing.T) {
	m := model.New(model.Options{})
	at := time.Unix(1, 0)
	m.Update(model.Resized{Cols: 100, Rows: 40}, at)
	m.Update(model.Key{Name: "?"}, at)
	seen := 0
	for _, e := range m.Menu.Entries {
		if e.CLI == "" {
			continue
		}
		seen++
		root := newRoot(newFactory(System{Out: io.Discard, Err: io.Discard, Now: time.Now, Version: "1"}))
		words := strings.Fields(e.CLI)
		cmd, rest, err := root.Find(words[1:])
		if err != nil || words[0] != "scv" || cmd == root && len(words) > 1 && !strings.HasPrefix(words[1], "-") {
			t.Errorf("%q of the action %q is no command: %v", e.CLI, e.Title, err)
			continue
		}
		for _, word := range rest {
			if cmd.HasSubCommands() && word == strings.ToLower(word) && !strings.HasPrefix(word, "-") {
				t.Errorf("%q: %s has no command %s", e.CLI, cmd.CommandPath(), word)
			}
			if name, ok := strings.CutPrefix(word, "--"); ok && cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
				t.Errorf("%q: %s has no flag --%s", e.CLI, cmd.CommandPath(), name)
			}
		}
	}
	if seen < 15 {
		t.Errorf("only %d actions tell of a command", seen)
	}
}
