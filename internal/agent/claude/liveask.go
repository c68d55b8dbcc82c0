package claude

import (
	"encoding/json"
	"strings"

	"scv/internal/agent"
)

// asked is what is kept of an open request: the call's id, by which its result is known.
type asked struct {
	Tool string `json:"tool,omitempty"`
}

// call is a request of claude's.
type call struct {
	Subtype string    `json:"subtype"`
	Tool    string    `json:"tool_name"`
	Shown   string    `json:"display_name"`
	Input   agent.Raw `json:"input"`
	ToolID  string    `json:"tool_use_id"`
	Reason  string    `json:"decision_reason"`
	Form    bool      `json:"requires_user_interaction"` // more than yes or no is asked for
}

// request reads a request of claude's. One that needs no owner, or that nobody would see, is answered at once: claude
// waits for ever.
func (d *live) request(e event) []agent.Fact {
	s := &d.state
	c := e.Request
	no := response{Subtype: "success", ID: e.RequestID}
	switch {
	case c.Subtype != "can_use_tool":
		no.Subtype, no.Error = "error", "not offered by this client: "+agent.Shorten(c.Subtype, agent.MaxSubject)
	case !s.Active:
		no.Response = decision{"deny", "no turn runs, so nobody can be asked; the owner's next message may ask for this"}
	case c.Form:
		no.Response = decision{"deny", "nobody can choose or fill in anything here: ask in your answer, and the owner's next message will tell"}
	default:
		data := encode(asked{c.ToolID})
		return s.Ask(agent.Asked{Request: e.RequestID, Data: data}, approvalOf(c, s.Cwd))
	}
	s.spare(c.ToolID)
	s.Owe(e.RequestID, responseLine(no))
	return nil
}

// spare notes that a call was refused, but not by the mode.
func (t *talk) spare(tool string) {
	if tool == "" {
		return
	}
	if t.DeniedIDs == nil {
		t.DeniedIDs = make(map[string]bool)
	}
	t.DeniedIDs[tool] = true
}

// input holds what tools of claude's are called with, as far as an approval tells it apart.
type input struct {
	Command  string `json:"command"`
	File     string `json:"file_path"`
	Notebook string `json:"notebook_path"`
	Path     string `json:"path"`
	Pattern  string `json:"pattern"`
	URL      string `json:"url"`
	Query    string `json:"query"`
	Content  string `json:"content"`
	edit
	Edits []edit `json:"edits"`
}

type edit struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
}

// approvalOf is a call as the owner is shown it, whole.
func approvalOf(c call, cwd string) agent.Approval {
	a := agent.Approval{
		Name: agent.Choose(c.Shown, c.Tool), Tool: c.Tool, Cwd: cwd,
		Options: []agent.Option{
			{ID: "allow", Kind: "allow_once", Name: "Allow once"},
			{ID: "deny", Kind: "reject_once", Name: "Deny"},
		},
	}
	var in input
	// A field of another type than expected leaves the others readable; what is not understood is shown as it is.
	err := json.Unmarshal(c.Input, &in)
	for _, path := range []string{in.File, in.Notebook, in.Path} {
		if path != "" {
			a.Paths = append(a.Paths, path)
		}
	}
	a.Summary = c.Tool + " " + string(c.Input)
	switch c.Tool {
	case "Bash":
		a.Command = in.Command
		a.Risk = agent.RiskOf("execute", nil)
		if err == nil && in.Command != "" {
			a.Summary = in.Command
		}
	case "Edit", "MultiEdit":
		a.Risk, a.Diff = agent.RiskOf("edit", a.Paths), in.diff()
		if err == nil && a.Diff != "" {
			a.Summary = c.Tool + " " + in.File + "\n" + a.Diff
		}
	case "Write":
		a.Risk, a.Diff = agent.RiskOf("edit", a.Paths), agent.Diff(in.File, "", in.Content)
		if err == nil {
			a.Summary = "Write " + in.File + "\n" + in.Content
		}
	case "NotebookEdit":
		a.Risk = agent.RiskOf("edit", a.Paths)
	case "Read", "NotebookRead", "Glob", "Grep", "LS":
		a.Risk = agent.RiskOf("read", append(a.Paths, in.Pattern))
	case "WebFetch", "WebSearch":
		a.Risk = agent.RiskOf("fetch", nil)
	default:
		a.Risk = agent.RiskOf("", nil)
	}
	return a
}

// diff is the change that an edit asks for. Where in the file it is, claude does not say.
func (in input) diff() string {
	var out strings.Builder
	for _, e := range append([]edit{in.edit}, in.Edits...) {
		out.WriteString(agent.Diff(in.File, e.Old, e.New))
	}
	return out.String()
}
