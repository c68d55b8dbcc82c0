package ground

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"scv/internal/home"
	"scv/internal/workbench/row"
)

// cacheDir holds, below the home, the caches that the owner has no folder of his own for.
const cacheDir = "cache"

// Caches are the variables, with their values, by which what is built in one worktree is found again in the others: of
// each that is configured the owner's own value, else a folder of the home. Who works in no worktree gets none.
func (g *Ground) Caches(o row.Order) map[string]string {
	names := g.Config.Caches()
	if o.Conversation.Plan == "" || len(names) == 0 {
		return nil
	}
	set := map[string]string{}
	for _, name := range names {
		if set[name] = environ(g.Environ, name); set[name] != "" {
			continue
		}
		root, dir := g.Home.Root(), cacheDir+"/"+name
		for _, at := range []string{cacheDir, dir} {
			if err := root.Mkdir(at, home.DirMode); err != nil && !errors.Is(err, fs.ErrExist) {
				g.Log.Warn("a shared cache cannot be made", "name", name, "error", err)
			}
		}
		set[name] = filepath.Join(g.Home.Path(), dir)
	}
	return set
}

func environ(all []string, name string) string {
	for _, entry := range all {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
