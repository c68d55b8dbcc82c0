package model

import (
	"slices"
	"strings"
	"unicode"

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
	FieldReview
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
	Review   int // 0: nobody, 1: whoever is there, else Agents[Review-2]
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
	return []Effect{FindAgents} // what they offer may be news
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
	if m.Has(wire.FeatureReview) {
		f.Fields = append(f.Fields, FieldReview)
	} else {
		f.Review = 0
	}
	f.Review = min(f.Review, len(f.Agents)+1)
	f.Fields = append(f.Fields, FieldPrompt)
}

// AgentName is the chosen agent, empty when none is known.
func (f *Form) AgentName() string {
	if f.Agent < 0 || f.Agent >= len(f.Agents) {
		return ""
	}
	return f.Agents[f.Agent]
}

// Offered lists what the chosen agent said that it takes in a field: its models, or the efforts of the typed one.
func (f *Form) Offered(m *Model, field FormField) []string {
	i := slices.IndexFunc(m.Agents, func(a Agent) bool { return a.Name == f.AgentName() })
	switch {
	case i < 0:
	case field == FieldModel:
		return wire.ChoiceIDs(m.Agents[i].Offers.Models)
	case field == FieldEffort:
		return m.Agents[i].Offers.EffortsOf(f.Model.Text())
	}
	return nil
}

// choose puts the next of what is offered into a field that is typed, or the one before.
func (f *Form) choose(m *Model, by int) {
	list := f.Offered(m, f.At)
	if len(list) == 0 {
		m.tell(false, "the agent has not said yet what it takes here; type it")
		return
	}
	list = append(list, "") // as configured
	at := slices.Index(list, f.Text(f.At).Text())
	if at < 0 {
		at = len(list) - 1
	}
	*f.Text(f.At) = widget.NewEditor(list[(at+by+len(list))%len(list)], true)
}

// ModeName is the chosen permission mode, empty for the configured one.
func (f *Form) ModeName() string {
	if f.Mode == 0 {
		return ""
	}
	return wording.Modes()[f.Mode-1]
}

// Reviewer is who reviews the work, in words and as it is asked for; nil for nobody.
func (f *Form) Reviewer() (string, *wire.ReviewRequest) {
	switch {
	case f.Review == 0:
		return "nobody", nil
	case f.Review == 1:
		return "an agent that is there", &wire.ReviewRequest{}
	}
	name := f.Agents[f.Review-2]
	return name, &wire.ReviewRequest{Reviewers: []wire.ReviewSeat{{Agent: name}}}
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
	case "ctrl-t":
		return []Effect{Prompts{Then: openPrompts}}
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
	if by := map[string]int{"ctrl-n": 1, "ctrl-p": -1}[k.Name]; by != 0 && (f.At == FieldModel || f.At == FieldEffort) {
		f.choose(m, by)
		return nil
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
	case FieldReview:
		f.Review = around(f.Review, len(f.Agents)+2)
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
	_, cmd.Review = f.Reviewer()
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

// openPrompts lists the prompts that the owner keeps, and offers to keep the one that is typed.
func openPrompts(m *Model, all []Prompt, err error) []Effect {
	if m.Focus != OnForm {
		return nil
	}
	if err != nil {
		m.tell(true, "the kept prompts: %v", err)
	}
	var entries []Entry
	for _, p := range all {
		entries = append(entries, Entry{Keys: p.Name, Title: firstOf(p.Text), do: func(m *Model) []Effect { return edited(m, p.Text, nil) }})
	}
	text := m.Form.Prompt.Text()
	keep := Entry{Title: "keep what is typed as " + promptName(text), do: func(*Model) []Effect {
		return []Effect{KeepPrompt{Prompt: Prompt{Name: promptName(text), Text: text}, Then: keptPrompt}}
	}}
	if blank(text) {
		keep.Title, keep.Off = "keep what is typed", "nothing is typed"
	}
	return m.openMenu("Kept prompts: type to narrow, enter takes one to be changed and started", append(entries, keep))
}

func keptPrompt(m *Model, all []Prompt, err error) []Effect {
	if err != nil {
		m.tell(true, "the prompt was not kept: %v", err)
		return nil
	}
	m.tell(false, "kept as %s; ctrl-t lists it, and its file is prompts/%s.md in the home", all[0].Name, all[0].Name)
	return nil
}

// promptName is a name for a prompt from the first words of its first line.
func promptName(text string) string {
	words := strings.FieldsFunc(strings.ToLower(firstOf(text)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	var name string
	for _, w := range words[:min(len(words), 5)] {
		if len(name)+len(w) > 60 {
			break
		}
		name += "-" + w
	}
	return orElse(strings.TrimPrefix(name, "-"), "prompt")
}
