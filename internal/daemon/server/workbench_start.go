package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"scv/internal/repo"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// Bounds of the words of a start (behaviour/jobs.md section 9), in bytes.
const (
	maxPath   = 4096
	maxModel  = 128
	maxEffort = 32
)

// An intake takes prompts in: it checks and masks what comes with them.
type intake struct{ *request }

// workbenchStart accepts a job: what it answers is on disk.
func (r intake) workbenchStart(cmd wire.WorkbenchStart) (answer, error) {
	req := hub.StartRequest{Key: cmd.Key, Principal: r.principal(), Agent: cmd.Agent, Origin: wire.OriginOwner, Check: cmd.Check}
	req.From = r.from
	if req.Principal.Who == "model" {
		req.Origin = wire.OriginModel
	}
	err := r.reread()
	if err != nil {
		return answer{}, err
	}
	if req.Workspace, req.Cwd, err = places(cmd.Workspace, cmd.Cwd); err != nil {
		return answer{}, err
	}
	if err = r.knownAgent(cmd.Agent); err != nil {
		return answer{}, err
	}
	if req.Model, err = word("model", cmd.Model, maxModel, "._:/@[]-", "-@"); err != nil {
		return answer{}, err
	}
	if req.Effort, err = word("effort", cmd.Effort, maxEffort, "-_", "-_"); err != nil {
		return answer{}, err
	}
	if req.Mode, err = r.mode(cmd.Mode, req.Workspace, cmd.Agent); err != nil {
		return answer{}, err
	}
	if req.Transport, err = r.fits(cmd, req.Model, req.Effort); err != nil {
		return answer{}, err
	}
	if req.Prompt, req.Task, err = r.prompt(cmd.Prompt); err != nil {
		return answer{}, err
	}
	if err = r.unmasked(cmd, req); err != nil {
		return answer{}, err
	}
	if cmd.Review != nil {
		cmd.Worktree = true
		if req.Review, err = r.review(cmd); err != nil {
			return answer{}, err
		}
	}
	if req.Tree, err = r.tree(cmd, req); err != nil {
		return answer{}, err
	}
	return r.accepted(r.Hub.Jobs().Start(req))
}

// fits returns the transport that the job asks for, and refuses what its agent is known not to offer.
func (r intake) fits(cmd wire.WorkbenchStart, model, effort string) (string, error) {
	transport := ""
	if cmd.Transport != nil {
		transport = *cmd.Transport
	}
	switch transport {
	case "", wire.TransportLive, wire.TransportCLI:
	default:
		return "", wire.Refuse(wire.ReasonInvalid, "use live or cli, or leave it out", "there is no transport %.40q", transport)
	}
	if r.Fits == nil {
		return transport, nil
	}
	return transport, r.Fits(cmd.Agent, transport, model, effort)
}

// tree plans the worktree that a job asks for; nil for none. Nothing is made before the job is on disk.
func (r intake) tree(cmd wire.WorkbenchStart, req hub.StartRequest) (*row.Tree, error) {
	if !cmd.Worktree {
		if cmd.Base != nil || cmd.Branch != nil || cmd.WithChanges {
			return nil, wire.Refuse(wire.ReasonInvalid, "add --worktree", "base, branch and changes are those of a worktree, which was not asked for")
		}
		return nil, nil
	}
	if r.Ground == nil {
		return nil, notOffered(wire.WorktreesCommand{})
	}
	w := repo.Wish{Cwd: req.Cwd, Agent: cmd.Agent, Task: req.Task, WithChanges: cmd.WithChanges}
	if cmd.Base != nil {
		w.Base = *cmd.Base
	}
	if cmd.Branch != nil {
		w.Branch = *cmd.Branch
	}
	return r.Ground.Plan(r.ctx, w)
}

// mode is the permission mode that the job names, else the configured one.
func (r intake) mode(named *wire.PermissionMode, workspace, agent string) (string, error) {
	switch {
	case named == nil && r.Mode == nil:
		return "", nil
	case named == nil:
		return r.Mode(workspace, agent)
	case !named.Valid():
		return "", wire.Refuse(wire.ReasonInvalid, "use auto, on-risk, always or read-only",
			"there is no permission mode %.40q", string(*named))
	}
	return string(*named), nil
}

func (r intake) knownAgent(name string) error {
	agents := r.Agents()
	if slices.Contains(agents, name) {
		return nil
	}
	known := "known are " + strings.Join(agents, ", ")
	if !wire.ValidAgentName(name) {
		return wire.Refuse(wire.ReasonNotFound, known, "%.40q is not an agent's name", name)
	}
	return wire.Refuse(wire.ReasonNotFound, known, "there is no agent %s", name)
}

// places resolves the workspace, and the directory in it where the agent is to run. The workspace's resolved path names
// its session, so one directory has one session whatever link led there.
func places(workspace string, cwd *string) (string, string, error) {
	ws, err := directory("workspace", workspace)
	if err != nil || cwd == nil {
		return ws, ws, err
	}
	path := *cwd
	if !filepath.IsAbs(path) {
		path = filepath.Join(ws, path)
	}
	dir, err := directory("working directory", path)
	if err != nil {
		return "", "", err
	}
	rel, err := filepath.Rel(ws, dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", "", wire.Refuse(wire.ReasonInvalid, "name a directory inside the workspace, or another workspace",
			"the working directory %s lies outside the workspace %s", dir, ws)
	}
	return ws, dir, nil
}

// directory resolves a path that must be an existing directory. Paths go to agents and into lists, so one that is not
// text is refused.
func directory(what, path string) (string, error) {
	switch {
	case !filepath.IsAbs(path):
		return "", wire.Refuse(wire.ReasonInvalid, "give it from the root on, such as /home/you/project",
			"the %s %.200q is not an absolute path", what, path)
	case len(path) > maxPath:
		return "", wire.Refuse(wire.ReasonTooLarge, "use a shorter one", "the path of the %s is longer than %d bytes", what, maxPath)
	case !utf8.ValidString(path) || strings.ContainsRune(path, 0):
		return "", wire.Refuse(wire.ReasonInvalid, "use another one", "the path of the %s holds bytes that are no text", what)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", wire.Refuse(wire.ReasonNotFound, "look whether it was moved or removed",
			"the %s %s cannot be used: %v", what, path, plainCause(err))
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", wire.Refuse(wire.ReasonNotFound, "look whether it was moved or removed",
			"the %s %s cannot be used: %v", what, path, plainCause(err))
	}
	if !info.IsDir() {
		return "", wire.Refuse(wire.ReasonInvalid, "name a directory", "the %s %s is not a directory", what, path)
	}
	return real, nil
}

// word checks an optional name that becomes part of an agent's command line.
func word(what string, text *string, limit int, signs, notFirst string) (string, error) {
	if text == nil || *text == "" {
		return "", nil
	}
	w := *text
	bad := len(w) > limit || strings.ContainsRune(notFirst, rune(w[0])) || strings.ContainsFunc(w, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(signs, c)
	})
	if bad {
		return "", wire.Refuse(wire.ReasonInvalid, "use the agent's own name of it", "%.80q is not a usable %s", w, what)
	}
	return w, nil
}
