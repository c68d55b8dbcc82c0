package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// agentsDir holds the private homes of agents. An upstream release keeps its agents' homes there too.
const agentsDir = "agents"

// AgentHome is the absolute path of an agent's private home, which need not exist. The name is a valid agent's.
func (h *Home) AgentHome(name string) string { return h.join(agentsDir + "/" + filepath.Base(name)) }

// MakeAgentDir makes a directory of an agent's private home, private whatever the umask. One that is there must be a
// directory of ours.
func (h *Home) MakeAgentDir(path string) error {
	name, err := h.below(path)
	if err != nil {
		return err
	}
	if err := h.ensureDir(agentsDir); err != nil {
		return err
	}
	return h.ensureDir(name)
}

// PlaceAgentFile writes a file of an agent's private home, unless there is one.
func (h *Home) PlaceAgentFile(path, data string) error {
	name, err := h.below(path)
	if err != nil {
		return err
	}
	f, err := h.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, FileMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return unusable(path, err)
	}
	_, err = f.WriteString(data)
	return errors.Join(err, f.Close())
}

// below is a path as the root names it.
func (h *Home) below(path string) (string, error) {
	name, ok := strings.CutPrefix(path, h.join(agentsDir)+"/")
	if !ok || !filepath.IsLocal(name) {
		return "", errors.New("not in the private home of an agent: " + path)
	}
	return agentsDir + "/" + name, nil
}
