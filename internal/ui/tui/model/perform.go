package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// views open a list each.
func views() []Action {
	open := func(v View) func(*Model) []Effect {
		return func(m *Model) []Effect {
			m.List.View, m.List.Top, m.Focus, m.Detail.Open = v, 0, OnList, false
			switch v {
			case ViewAgents:
				return []Effect{FindAgents}
			case ViewWorktrees:
				return []Effect{listTrees(m)}
			default:
			}
			return nil
		}
	}
	say := func(s string) func(*Model) string { return func(*Model) string { return s } }
	lists := []Action{
		{Keys: []string{"1"}, Title: "all that is going on", CLI: say("scv jobs list"), do: open(ViewAll)},
		{Keys: []string{"2"}, Title: "jobs", CLI: say("scv jobs list --all"), do: open(ViewJobs)},
		{Keys: []string{"3"}, Title: "runs", CLI: say("scv agents ps --all"), do: open(ViewRuns)},
		{Keys: []string{"4"}, Title: "sessions", do: open(ViewSessions)},
		{Keys: []string{"5", "w"}, Title: "worktrees", CLI: say("scv agents worktrees"), off: noTrees, do: open(ViewWorktrees)},
		{Keys: []string{"6"}, Title: "agents of this machine", CLI: say("scv agents list"), do: open(ViewAgents)},
	}
	for i := range lists {
		lists[i].Where = either
	}
	return append(lists,
		Action{Keys: []string{"!"}, Title: "only what needs me", Where: either, CLI: say("scv jobs list --state awaiting_input"), do: func(m *Model) []Effect {
			m.List.Mine = !m.List.Mine
			return nil
		}},
		Action{Keys: []string{":"}, Title: "palette: all actions", Where: either, move: true, do: openPalette},
		Action{Keys: []string{"?"}, Title: "help: all keys", Where: either, move: true, do: openHelp},
	)
}

func noTrees(m *Model) string {
	if !m.Has(featureWorktree) {
		return "this daemon makes no worktrees"
	}
	return ""
}

func listTrees(m *Model) Effect {
	return Call{Cmd: wire.WorktreesCommand{}, Then: func(m *Model, st *wire.DaemonStatus, err error) []Effect {
		if err != nil {
			m.fail(err)
			return nil
		}
		m.Trees = st.Worktrees
		return nil
	}}
}

// jobActions do something with the selected item, or with the marked ones.
func jobActions() []Action {
	return []Action{
		{Keys: []string{"A"}, Title: "approvals: name a request", Where: either, CLI: func(*Model) string { return "scv approvals list" }, do: func(m *Model) []Effect { return m.Cards.focus(m) }},
		{Keys: []string{"n"}, Title: "new job", Where: either, CLI: func(*Model) string { return "scv jobs start PROMPT" }, do: openForm},
		{Keys: []string{"s"}, Title: "send a prompt", Where: either, CLI: line("scv jobs send {} PROMPT"), off: talkable, do: openSend},
		{Keys: []string{"l"}, Title: "log, and follow it", Where: either, CLI: line("scv jobs log -f {}"), off: noJob, do: func(m *Model) []Effect {
			m.Detail.Body.Follow = true
			return show(PaneLog)(m)
		}},
		{Keys: []string{"d"}, Title: "diff: what it changed", Where: either, CLI: line("scv jobs diff {}"), off: func(m *Model) string {
			return without(m, PaneDiff, "choose a job; this daemon may not tell what it changed")
		}, do: show(PaneDiff)},
		{Title: "forecast: which jobs would conflict", Where: either, CLI: func(*Model) string { return "scv forecast" }, off: func(m *Model) string {
			return without(m, PaneForecast, "choose a job or worktree of one that works in a worktree")
		}, do: show(PaneForecast)},
		{Title: "result", Where: either, CLI: line("scv jobs result {}"), off: noJob, do: show(PaneResult)},
		{Keys: []string{"i"}, Title: "info", Where: either, do: show(PaneInfo)},
		{Title: "why: what the state rests on", Where: either, CLI: line("scv why {}"), off: noJob, do: show(PaneWhy)},
		{Title: "usage", Where: either, CLI: func(*Model) string { return "scv usage" }, off: noJob, do: show(PaneUsage)},
		{Keys: []string{"x"}, Title: "stop", Where: either, CLI: line("scv jobs cancel {}"), off: func(m *Model) string { return none(m, stoppable, "it has ended") }, do: stop},
		{Keys: []string{"D"}, Title: "remove a job from the list; files and branches stay", Where: either, CLI: line("scv jobs dismiss {}"), off: func(m *Model) string { return none(m, dismissable, "only what has ended is removed; x stops it first") }, do: dismiss},
		{Keys: []string{"r"}, Title: "resume what was interrupted", Where: either, CLI: line("scv jobs resume {}"), off: notResumable, do: resume},
		{Keys: []string{"space"}, Title: "mark", Where: inList, off: noJob, do: mark},
		{Keys: []string{"y"}, Title: "copy", Where: either, do: openCopy},
	}
}

// chosen are the marked jobs, or the selected one.
func (m *Model) chosen(want func(*wire.Job) bool) []*wire.Job {
	var out []*wire.Job
	if len(m.List.Marks) == 0 {
		if it := m.List.Selected(); it != nil && it.Job != nil && want(it.Job) {
			out = append(out, it.Job)
		}
		return out
	}
	for i := range m.Data.Jobs {
		if job := &m.Data.Jobs[i]; m.List.Marks["j "+string(job.Ref())] && want(job) {
			out = append(out, job)
		}
	}
	return out
}

// none says why nothing chosen is wanted.
func none(m *Model, want func(*wire.Job) bool, why string) string {
	if len(m.List.Marks) == 0 && noJob(m) != "" {
		return noJob(m)
	}
	if len(m.chosen(want)) == 0 {
		return why
	}
	return ""
}

func stoppable(j *wire.Job) bool   { return !j.State.Final() }
func dismissable(j *wire.Job) bool { return j.State.Final() }

func notResumable(m *Model) string {
	return none(m, func(j *wire.Job) bool { return j.Resumable }, "only what was interrupted is resumed")
}

// without says why the selected item has no such pane; empty when it has.
func without(m *Model, p Pane, why string) string {
	if slices.Contains(m.PanesOf(m.List.Selected()), p) {
		return ""
	}
	return why
}

// names lists jobs in a question, so that a person sees what it is about.
func names(m *Model, jobs []*wire.Job) string {
	if len(jobs) == 1 {
		return fmt.Sprintf("%s %q", m.Name(&Item{Job: jobs[0]}), jobs[0].Task)
	}
	var names []string
	for _, j := range jobs[:min(len(jobs), 5)] {
		names = append(names, m.Name(&Item{Job: j}))
	}
	if len(jobs) > 5 {
		names = append(names, fmt.Sprintf("and %d more", len(jobs)-5))
	}
	return fmt.Sprintf("%s (%s)", plain.Count(len(jobs), "job"), strings.Join(names, ", "))
}

func stop(m *Model) []Effect {
	jobs := m.chosen(stoppable)
	return m.ask("Stop "+names(m, jobs)+"? What it did stays.", each(jobs, func(m *Model, j wire.JobRef) Effect {
		session, id, _ := j.Split()
		return m.call(wire.WorkbenchCancel{Session: session, Job: id, Key: m.Opts.NewKey()}, string(id)+" is asked to stop")
	}))
}

func dismiss(m *Model) []Effect {
	jobs := m.chosen(dismissable)
	return m.ask("Remove "+names(m, jobs)+" from the list? Files and branches stay.", each(jobs, func(m *Model, j wire.JobRef) Effect {
		session, id, _ := j.Split()
		return m.call(wire.WorkbenchDismiss{Session: session, Job: id, Key: m.Opts.NewKey()}, string(id)+" is removed from the list")
	}))
}

func resume(m *Model) []Effect {
	jobs := m.chosen(func(j *wire.Job) bool { return j.Resumable })
	return each(jobs, func(m *Model, j wire.JobRef) Effect {
		session, id, _ := j.Split()
		return m.call(wire.WorkbenchResume{Session: session, Job: id, Key: m.Opts.NewKey()}, string(id)+" is resumed")
	})(m)
}

// each does one thing to each of the jobs as they were named, and takes the marks off.
func each(jobs []*wire.Job, do func(*Model, wire.JobRef) Effect) func(*Model) []Effect {
	var refs []wire.JobRef
	for _, j := range jobs {
		refs = append(refs, j.Ref())
	}
	return func(m *Model) []Effect {
		clear(m.List.Marks)
		var out []Effect
		for _, ref := range refs {
			out = append(out, do(m, ref))
		}
		return out
	}
}

func mark(m *Model) []Effect {
	it := m.List.Selected()
	if m.List.Marks[it.Key] {
		delete(m.List.Marks, it.Key)
	} else {
		m.List.Marks[it.Key] = true
	}
	m.List.choose(m.List.at + 1)
	return nil
}

// openCopy lists what can be copied of the selected item.
func openCopy(m *Model) []Effect {
	it := m.List.Selected()
	if it == nil {
		m.tell(false, "there is nothing to copy")
		return nil
	}
	var entries []Entry
	put := func(what, text string) {
		if text != "" {
			entries = append(entries, Entry{Title: what, CLI: firstOf(text), do: func(*Model) []Effect { return []Effect{Copy{What: what, Text: text}} }})
		}
	}
	put("name", m.Name(it))
	if it.Job != nil {
		put("task", it.Job.Task)
		put("directory", it.Job.Cwd)
		put("detail", text(it.Job.Detail))
	}
	if it.Run != nil {
		put("directory", it.Run.Cwd)
	}
	body := m.Detail.Body.Text()
	put("what the pane shows", body)
	if body != "" {
		entries = append(entries, Entry{Title: "open what the pane shows in $PAGER", do: func(*Model) []Effect { return []Effect{Page{Text: body}} }})
	}
	return m.openMenu("Copy", entries)
}

func firstOf(text string) string {
	line, _, cut := strings.Cut(text, "\n")
	if cut {
		line += " .."
	}
	return line
}

// cardActions are in the table for the help; Cards reads the keys itself.
func cardActions() []Action {
	id := func(format string) func(*Model) string {
		return func(m *Model) string {
			name := "ID"
			if a := m.Cards.Selected(m); a != nil {
				name = string(a.ID)
			}
			return strings.ReplaceAll(format, "{}", name)
		}
	}
	do := func(key string) func(*Model) []Effect {
		return func(m *Model) []Effect { return m.Cards.key(m, Key{Name: key}) }
	}
	return []Action{
		{Keys: []string{"y"}, Title: "approve the named request", Where: inCards, CLI: id("scv approvals approve {}"), do: do("y")},
		{Keys: []string{"N"}, Title: "deny the named request, and tell the agent why", Where: inCards, CLI: id("scv approvals deny {} --reason WHY"), do: do("N")},
		{Keys: []string{"m"}, Title: "more answers: to all that ask the same, or as a rule", Where: inCards, CLI: id("scv approvals approve {} --remember command"), do: do("m")},
		{Keys: []string{"n"}, Title: "deny the named request", Where: inCards, CLI: id("scv approvals deny {}"), do: do("n")},
		{Keys: []string{"e"}, Title: "explain: why it asks", Where: inCards, do: do("e")},
		{Keys: []string{"o"}, Title: "open the job that asks", Where: inCards, do: do("o")},
		{Keys: []string{"j", "down", "tab", "A"}, Title: "next request", Where: inCards, move: true, do: do("j")},
		{Keys: []string{"k", "up", "shift-tab"}, Title: "request before", Where: inCards, move: true, do: do("k")},
	}
}

func screenActions() []Action {
	effect := func(e Effect) func(*Model) []Effect { return func(*Model) []Effect { return []Effect{e} } }
	return []Action{
		{Keys: []string{"m"}, Title: "mouse on or off", Where: either, do: func(m *Model) []Effect {
			m.Mouse = !m.Mouse
			if m.Mouse {
				m.tell(false, "the mouse chooses and scrolls; %s gives it back to the terminal for selecting text", m.Opts.Keys.Shown("m"))
				return []Effect{MouseOn}
			}
			return []Effect{MouseOff}
		}},
		{Keys: []string{"p"}, Title: "plain lines, for a screen reader", Where: either, CLI: func(*Model) string { return "scv --plain" }, do: effect(Plain)},
		{Keys: []string{"ctrl-l"}, Title: "draw the screen anew", Where: either | inCards | inTyping, do: effect(Redraw)},
		{Keys: []string{"ctrl-z"}, Title: "suspend", Where: either | inCards | inTyping, do: effect(Suspend)},
		{Title: "start the daemon", Where: either, CLI: func(*Model) string { return "scv start" }, off: func(m *Model) string {
			if m.Link.Up {
				return "it runs"
			}
			return ""
		}, do: effect(StartThere)},
		{Keys: []string{"q", "ctrl-c"}, Title: "quit; the daemon and all jobs go on", Where: either, do: effect(Quit)},
	}
}

// typingActions are keys of lines, forms and menus, told in the help.
func typingActions() []Action {
	return []Action{
		{Keys: []string{"enter"}, Title: "send, start, or do the chosen", Where: inTyping},
		{Keys: []string{"ctrl-j", "alt-enter"}, Title: "a line break in a prompt", Where: inTyping},
		{Keys: []string{"tab", "shift-tab"}, Title: "of a message: auto, queue or steer; of a form: next field", Where: inTyping},
		{Keys: []string{"ctrl-o"}, Title: "new job: the prompt in $EDITOR", Where: inTyping},
		{Keys: []string{"ctrl-t"}, Title: "new job: kept prompts, and keep this one", Where: inTyping},
		{Keys: []string{"ctrl-s"}, Title: "new job: start it, from every field", Where: inTyping},
		{Keys: []string{"esc", "ctrl-c"}, Title: "leave; what was typed is kept", Where: inTyping},
		{Keys: []string{"y"}, Title: "yes to a question; every other key is no", Where: inTyping},
	}
}

// Keys lists every key that is bound, for the test of the help.
func Keys() []string {
	var out []string
	for _, a := range actions() {
		out = append(out, a.Keys...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A Question is asked before something is ended or forgotten. Only y answers it with yes.
type Question struct {
	Text string
	yes  func(*Model) []Effect
	back Focus
	late time.Time // when it came by itself, after an answer of the daemon; zero: a key asked for it
}

// ask puts a question that only y answers with yes.
func (m *Model) ask(question string, yes func(*Model) []Effect) []Effect {
	m.Ask = Question{Text: question, yes: yes, back: m.Focus}
	m.Focus = OnConfirm
	return nil
}

// askLate puts a question that no key asked for just now: keys that were meant for something else answer nothing.
func (m *Model) askLate(question string, yes func(*Model) []Effect) []Effect {
	m.ask(question, yes)
	m.Ask.late = m.at
	return nil
}

func (q *Question) key(m *Model, k Key) []Effect {
	if m.at.Sub(q.late) < guard {
		m.tell(false, "that key was ignored: the question came less than half a second ago")
		return nil
	}
	m.Focus = q.back
	if k.Name != "y" {
		m.tell(false, "nothing was done")
		return nil
	}
	return q.yes(m)
}
