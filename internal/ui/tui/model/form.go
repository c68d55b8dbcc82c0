package model

import (
	"slices"

	"scv/internal/ui/tui/widget"
	"scv/internal/ui/wording"
	"scv/internal/wire"
)

// A FormField is one field of the form of a new job.
type FormField uint8

// The fields, top down. Those of a worktree and a review are there when the daemon can make them.
const (
	FieldAgent FormField = iota
	FieldModel
	FieldEffort
	FieldPermission
	FieldCwd
	FieldWorktree
	FieldPrompt
)

// featureWorktree is the word by which a daemon announces worktrees of its own for jobs.
const featureWorktree = "worktree"

// A Form is a new job before it is started. It keeps what was typed when it is left.
type Form struct {
	At       FormField
	Agents   []string // to choose from; those that were found first
	Agent    int
	Mode     int // 0: as configured, else wording.Modes()[Mode-1]
	Worktree bool
	Model    widget.Editor
	Effort   widget.Editor
	Cwd      widget.Editor
	Prompt   widget.Editor
	Fields   []FormField
	back     Focus
	used     bool
}

// openForm shows the form, as it was left.
func openForm(m *Model) []Effect {
	f := &m.Form
	if !f.used {
		f.used = true
		f.Model, f.Effort, f.Cwd = widget.NewEditor("", true), widget.NewEditor("", true), widget.NewEditor(m.Opts.Cwd, true)
	}
	f.offer(m)
	if m.Focus != OnForm {
		f.back = m.Focus
	}
	f.At, m.Focus = FieldPrompt, OnForm
	if !m.Looked {
		return []Effect{FindAgents}
	}
	return nil
}

// offer lists the agents to choose from and the fields that this daemon understands.
func (f *Form) offer(m *Model) {
	chosen := f.AgentName()
	f.Agents = nil
	for _, found := range []bool{true, false} {
		for _, a := range m.Agents {
			if (a.Path != "") == found {
				f.Agents = append(f.Agents, a.Name)
			}
		}
	}
	works := func(name string) bool {
		return slices.ContainsFunc(m.Agents, func(a Agent) bool { return a.Name == name && a.Path != "" && !a.BuiltIn() })
	}
	if i := slices.IndexFunc(f.Agents, works); chosen == "" && i >= 0 {
		f.Agent = i
	} else if i := slices.Index(f.Agents, chosen); i >= 0 {
		f.Agent = i
	} else if i := slices.Index(f.Agents, "demo"); i >= 0 {
		f.Agent = i
	}
	f.Fields = []FormField{FieldAgent, FieldModel, FieldEffort, FieldPermission, FieldCwd}
	if !m.Has(wire.FeatureMode) {
		f.Fields = slices.DeleteFunc(f.Fields, func(x FormField) bool { return x == FieldPermission })
		f.Mode = 0
	}
	if m.Has(featureWorktree) {
		f.Fields = append(f.Fields, FieldWorktree)
	}
	f.Fields = append(f.Fields, FieldPrompt)
}

// AgentName is the chosen agent, empty when none is known.
func (f *Form) AgentName() string {
	if f.Agent < 0 || f.Agent >= len(f.Agents) {
		return ""
	}
	return f.Agents[f.Agent]
}

// ModeName is the chosen permission mode, empty for the configured one.
func (f *Form) ModeName() string {
	if f.Mode == 0 {
		return ""
	}
	return wording.Modes()[f.Mode-1]
}

// Text is the editor of a field that is typed, nil for one that is chosen.
func (f *Form) Text(field FormField) *widget.Editor {
	switch field {
	case FieldModel:
		return &f.Model
	case FieldEffort:
		return &f.Effort
	case FieldCwd:
		return &f.Cwd
	case FieldPrompt:
		return &f.Prompt
	default:
	}
	return nil
}

// key takes a key while the form is open.
func (f *Form) key(m *Model, k Key) []Effect {
	switch k.Name {
	case "esc", "ctrl-c":
		m.Focus = f.back
		if !blank(f.Prompt.Text()) {
			m.tell(false, "not started; n brings the form back as it was")
		}
		return nil
	case "tab", "down":
		f.step(1)
		return nil
	case "shift-tab", "up":
		f.step(-1)
		return nil
	case "ctrl-o":
		return []Effect{Edit{Text: f.Prompt.Text(), Then: edited}}
	case "ctrl-s":
		return f.start(m)
	case "enter":
		if f.At == FieldPrompt {
			return f.start(m)
		}
		f.step(1)
		return nil
	case "ctrl-j", "alt-enter":
		k = Key{Text: "\n"}
	}
	if e := f.Text(f.At); e != nil {
		if !e.Press(k.Name, k.Text) {
			m.tell(true, "a prompt takes at most %d bytes; that was not added", wire.MaxPromptBytes)
		}
		return nil
	}
	f.turn(k)
	return nil
}

func (f *Form) step(by int) {
	n := len(f.Fields)
	f.At = f.Fields[(max(slices.Index(f.Fields, f.At), 0)+by+n)%n]
}

// turn changes a field that is chosen.
func (f *Form) turn(k Key) {
	by := map[string]int{"left": -1, "right": 1, "space": 1}[k.Name]
	around := func(at, n int) int { return (at + by + max(n, 1)) % max(n, 1) }
	switch f.At {
	case FieldAgent:
		f.Agent = around(f.Agent, len(f.Agents))
	case FieldPermission:
		f.Mode = around(f.Mode, len(wording.Modes())+1)
	case FieldWorktree:
		f.Worktree = f.Worktree != (by != 0)
	default:
	}
}

// start asks for the job. The form stays until the daemon has taken it, so that nothing typed is lost.
func (f *Form) start(m *Model) []Effect {
	switch {
	case blank(f.Prompt.Text()):
		f.At = FieldPrompt
		m.tell(true, "write what the agent should do first")
		return nil
	case f.AgentName() == "":
		m.tell(true, "no agent is known yet; 6 lists what was found")
		return nil
	}
	cwd := f.Cwd.Text()
	cmd := wire.WorkbenchStart{Agent: f.AgentName(), Prompt: f.Prompt.Text(), Cwd: &cwd, Worktree: f.Worktree, Key: m.Opts.NewKey()}
	if s := f.Model.Text(); s != "" {
		cmd.Model = &s
	}
	if s := f.Effort.Text(); s != "" {
		cmd.Effort = &s
	}
	if s := f.ModeName(); s != "" {
		cmd.Mode = new(wire.PermissionMode(s))
	}
	m.tell(false, "starting")
	return []Effect{Start{Cmd: cmd, Then: func(m *Model, st *wire.DaemonStatus, err error) []Effect {
		if err != nil {
			m.fail(err)
			return nil
		}
		m.Form.Prompt = widget.Editor{}
		if m.Focus == OnForm {
			m.Focus = OnList
		}
		if st.WorkbenchJob != nil {
			m.List.View, m.List.Filter, m.List.Mine = ViewAll, "", false
			m.List.keys[ViewAll], m.Detail.Pane = "j "+string(*st.WorkbenchJob), PaneLog
		}
		m.tell(false, "%s", orElse(text(st.WorkbenchNote), "the job is accepted"))
		return nil
	}}}
}

// edited takes the prompt back from the owner's editor.
func edited(m *Model, text string, err error) []Effect {
	if err != nil {
		m.fail(err)
		return nil
	}
	e := widget.NewEditor("", false)
	if !e.Insert(text) {
		m.tell(true, "a prompt takes at most %d bytes; the form keeps the text from before", wire.MaxPromptBytes)
		return nil
	}
	m.Form.Prompt, m.Form.At = e, FieldPrompt
	return nil
}
