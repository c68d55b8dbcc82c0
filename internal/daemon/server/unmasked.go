package server

import (
	"slices"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
)

// unmasked refuses a start whose paths or names hold what looks like a credential. They are kept and shown as they are,
// since a process is started with them, so they cannot be masked (T62).
func (r intake) unmasked(cmd wire.WorkbenchStart, req hub.StartRequest) error {
	named := []string{"path of the workspace", req.Workspace, "path of the working directory", req.Cwd, "model", req.Model, "effort", req.Effort}
	for _, name := range []*string{cmd.Base, cmd.Branch} {
		if name != nil {
			named = append(named, "branch", *name)
		}
	}
	return r.clean(named...)
}

// clean takes names and texts in turn and refuses the first text that the mask would change. It is not repeated.
func (r intake) clean(named ...string) error {
	for pair := range slices.Chunk(named, 2) {
		if r.Mask().Text(pair[1]) != pair[1] {
			return wire.Refuse(wire.ReasonInvalid, "rename it, or give another one",
				"the %s holds what looks like a credential, which would be kept and shown", pair[0])
		}
	}
	return nil
}
