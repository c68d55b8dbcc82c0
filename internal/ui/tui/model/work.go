package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// queueActions change what waits in a conversation, and go on from what has ended. Those without a key are in the palette.
func queueActions() []Action {
	const old = "this daemon cannot"
	waits := func(m *Model) string {
		switch {
		case noJob(m) != "":
			return noJob(m)
		case m.List.Selected().Job.State != wire.StateQueued:
			return "it does not wait in a queue"
		case !m.Has(wire.FeatureQueue):
			return old
		}
		return ""
	}
	talks := func(m *Model) string {
		if _, _, ok := conversationOf(m.List.Selected()); !ok {
			return "choose a job or run with a conversation"
		}
		if !m.Has(wire.FeatureQueue) {
			return old
		}
		return ""
	}
	ended := func(m *Model) string {
		switch {
		case noJob(m) != "":
			return noJob(m)
		case !m.List.Selected().Job.State.Final():
			return "it has not ended"
		case !m.Has(wire.FeatureFollow):
			return old
		}
		return ""
	}
	conversation := func(format string) func(*Model) string {
		return func(m *Model) string {
			_, c, _ := conversationOf(m.List.Selected())
			return "scv jobs queue " + format + " " + cmp.Or(string(c), "CONVERSATION")
		}
	}
	return []Action{
		{Keys: []string{"r"}, Title: "retry: the same prompt as a new job", Where: either, CLI: line("scv jobs retry {}"), off: ended, do: retry},
		{Title: "fork: go on in a new conversation", Where: either, CLI: line("scv jobs fork {} PROMPT"), off: ended, do: openFork},
		{Title: "edit the prompt that waits", Where: either, CLI: line("scv jobs queue edit {}"), off: waits, do: editQueued},
		{Title: "earlier in its queue", Where: either, CLI: line("scv jobs queue move {} --before ID"), off: waits, do: func(m *Model) []Effect { return moveQueued(m, -1) }},
		{Title: "later in its queue", Where: either, CLI: line("scv jobs queue move {} --after ID"), off: waits, do: func(m *Model) []Effect { return moveQueued(m, 1) }},
		{Title: "pause the queue", Where: either, CLI: conversation("pause"), off: talks, do: func(m *Model) []Effect {
			session, c, _ := conversationOf(m.List.Selected())
			return []Effect{m.call(wire.ConversationPause{Session: session, Conversation: c, Key: m.Opts.NewKey()}, "what waits in "+string(c)+" stays")}
		}},
		{Title: "let a paused queue go on", Where: either, CLI: conversation("resume"), off: talks, do: func(m *Model) []Effect {
			session, c, _ := conversationOf(m.List.Selected())
			return []Effect{m.call(wire.ConversationResume{Session: session, Conversation: c, Key: m.Opts.NewKey()}, "what waits in "+string(c)+" goes on")}
		}},
	}
}

// retry asks first: a second run costs what the first one cost.
func retry(m *Model) []Effect {
	job := m.List.Selected().Job
	ref := job.Ref()
	return m.ask("Give the prompt of "+names(m, []*wire.Job{job})+" anew, as a new job?", func(m *Model) []Effect {
		session, id, _ := ref.Split()
		return []Effect{m.call(wire.WorkbenchRetry{Session: session, Job: id, Key: m.Opts.NewKey()}, string(id)+" is tried again")}
	})
}

// editQueued opens the whole prompt of a queued job in the owner's editor and gives the daemon what comes back, unless it
// was changed elsewhere meanwhile.
func editQueued(m *Model) []Effect {
	session, job := m.List.Selected().Job.Session, m.List.Selected().Job.Job
	return []Effect{Call{Cmd: wire.JobPrompt{Session: session, Job: job}, Then: func(m *Model, st *wire.DaemonStatus, err error) []Effect {
		switch {
		case err != nil || st.Prompt == nil:
			m.tell(true, "%s", sentence(err))
			return nil
		case st.Prompt.Masked:
			m.tell(true, "a secret in that prompt is hidden, so it cannot be edited here. Next: scv jobs queue edit %s PROMPT", job)
			return nil
		}
		before, revision := st.Prompt.Text, st.Prompt.Revision
		return []Effect{Edit{Text: before, Then: func(m *Model, text string, err error) []Effect {
			switch {
			case err != nil:
				m.fail(err)
				return nil
			case text == before || blank(text):
				m.tell(false, "the prompt of %s is as it was", job)
				return nil
			}
			cmd := wire.JobEdit{Session: session, Job: job, Prompt: text, Revision: &revision, Key: m.Opts.NewKey()}
			return []Effect{m.call(cmd, string(job)+" waits with the other prompt")}
		}}}
	}}}
}

// moveQueued puts a queued job before or behind its neighbour.
func moveQueued(m *Model, by int) []Effect {
	job := m.List.Selected().Job
	if job.Conversation == nil {
		m.tell(false, "it waits for no conversation but for room; it goes on by itself")
		return nil
	}
	queue := waiting(m.Data.Jobs, job.Session, *job.Conversation)
	at := slices.IndexFunc(queue, func(j wire.Job) bool { return j.Job == job.Job })
	to := at + by
	if to < 0 || to >= len(queue) {
		m.tell(false, "nothing waits on that side of it")
		return nil
	}
	cmd := wire.JobMove{Session: job.Session, Job: job.Job, Revision: new(job.Revision), Key: m.Opts.NewKey()}
	if by < 0 {
		cmd.Before = &queue[to].Job
	} else {
		cmd.After = &queue[to].Job
	}
	return []Effect{m.call(cmd, string(job.Job)+" is moved")}
}

// waiting are the queued jobs of a conversation, in the order in which they run.
func waiting(jobs []wire.Job, session wire.SessionID, c wire.ConversationID) []wire.Job {
	place := func(j wire.Job) uint64 { return cmp.Or(j.Place, j.Job.Number()) }
	var out []wire.Job
	for _, j := range jobs {
		if j.State == wire.StateQueued && j.Session == session && j.Conversation != nil && *j.Conversation == c {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b wire.Job) int { return cmp.Compare(place(a), place(b)) })
	return out
}

// homeActions go where an agent works, bring work out of worktrees and worktrees away. Each asks first and names the thing; the daemon refuses what
// would lose work, and says what.
func homeActions() []Action {
	job := func(m *Model) string {
		switch {
		case noJob(m) != "":
			return noJob(m)
		case m.List.Selected().Job.Worktree == nil:
			return "it does not work in a worktree of its own"
		case !m.Has(wire.FeatureDiff):
			return "this daemon cannot"
		}
		return ""
	}
	tree := func(m *Model) string {
		if it := m.List.Selected(); it == nil || it.Tree == nil {
			return "choose a worktree first: 5"
		}
		return ""
	}
	shell := func(m *Model) string {
		if _, _, ok := conversationOf(m.List.Selected()); !ok {
			return "choose a job or run with a conversation"
		}
		if !m.Has(wire.FeatureTerminal) {
			return "this daemon cannot"
		}
		return ""
	}
	return []Action{
		{Keys: []string{"t"}, Title: "take over in its agent's own terminal", Where: either, CLI: line("scv jobs attach {}"), off: noTerminal, do: takeOver},
		{Title: "your shell where it works", Where: either, CLI: line("scv jobs shell {}"), off: shell, do: openShell},
		{Title: "look at its open terminal, without typing", Where: either, CLI: line("scv jobs attach --read-only {}"), off: notOpen, do: lookOn},
		{Title: "close its terminal", Where: either, CLI: line("scv jobs attach --end {}"), off: notOpen, do: closeTerminal},
		{Keys: []string{"b"}, Title: "bring its work home", Where: either, CLI: line("scv jobs apply {}"), off: job, do: openApply},
		{Title: "commit what it left", Where: either, CLI: line("scv jobs commit {}"), off: job, do: commitWork},
		{Keys: []string{"D"}, Title: "remove a worktree; its branch stays", Where: either, CLI: line("scv agents worktrees rm {}"), off: tree, do: func(m *Model) []Effect { return removeTree(m, false) }},
		{Title: "remove a worktree with the work that is only in it", Where: either, CLI: line("scv agents worktrees rm --force {}"), off: tree, do: func(m *Model) []Effect { return removeTree(m, true) }},
		{Title: "remove all worktrees that hold nobody's work", Where: either, CLI: func(*Model) string { return "scv agents worktrees prune --yes" }, off: noTrees, do: prune},
	}
}

// openApply lists the ways of bringing work home.
func openApply(m *Model) []Effect {
	it := m.List.Selected()
	session, id, branch, name := it.Job.Session, it.Job.Job, it.Job.Worktree.Branch, m.Name(it)
	var entries []Entry
	for _, way := range []struct {
		how         wire.ApplyHow
		title, flag string
	}{
		{wire.ApplyMerge, "Merge it", "--merge"},
		{wire.ApplySquash, "As one commit", "--squash"},
		{wire.ApplyRebase, "Each of its commits anew on top", "--rebase"},
		{wire.ApplyFiles, "Only the files, without a commit", "--worktree-only"},
	} {
		entries = append(entries, Entry{Title: way.title, CLI: "scv jobs apply " + way.flag + " " + name, do: func(m *Model) []Effect {
			question := fmt.Sprintf("%s: bring %s (branch %s) onto what the checkout has? It stops before any conflict.", way.title, name, branch)
			return m.ask(question, func(m *Model) []Effect {
				m.tell(false, "bringing %s home", name)
				return []Effect{m.call(wire.JobApply{Session: session, Job: id, How: way.how}, string(id)+" is brought home")}
			})
		}})
	}
	return m.openMenu("Bring the work of "+name+" home", entries)
}

func commitWork(m *Model) []Effect {
	job := m.List.Selected().Job
	session, id := job.Session, job.Job
	return m.ask("Commit what "+names(m, []*wire.Job{job})+" left in its worktree, on its branch and in your name?", func(m *Model) []Effect {
		return []Effect{m.call(wire.JobCommit{Session: session, Job: id}, "what "+string(id)+" left is committed")}
	})
}

// treesChanged tells what was done, and lists the worktrees anew.
func treesChanged(done string) func(*Model, *wire.DaemonStatus, error) []Effect {
	return func(m *Model, st *wire.DaemonStatus, err error) []Effect {
		if err != nil {
			m.fail(err)
			return nil
		}
		m.tell(false, "%s", orElse(text(st.WorkbenchNote), done))
		return []Effect{listTrees(m)}
	}
}

func removeTree(m *Model, force bool) []Effect {
	w := m.List.Selected().Tree
	path, question := w.Path, "Remove the worktree "+w.Path+"? Its branch "+w.Branch+" stays."
	if force {
		question = "Remove the worktree " + w.Path + " with ALL THAT IS ONLY THERE: what is not committed, and files that git does not know? Its branch stays."
	}
	return m.ask(question, func(m *Model) []Effect {
		return []Effect{Call{Cmd: wire.WorktreeRemove{Path: path, Force: force, Key: m.Opts.NewKey()}, Then: treesChanged(path + " is removed")}}
	})
}

// prune asks which worktrees may go, and removes them when the owner says so.
func prune(*Model) []Effect {
	return []Effect{Call{Cmd: wire.WorktreePrune{}, Then: func(m *Model, st *wire.DaemonStatus, err error) []Effect {
		if err != nil {
			m.fail(err)
			return nil
		}
		var may []string
		if st.Prune != nil {
			for _, e := range *st.Prune {
				if e.Kept == nil {
					may = append(may, e.Path)
				}
			}
		}
		if len(may) == 0 {
			m.tell(false, "no worktree may go without losing something")
			return nil
		}
		shown := strings.Join(may[:min(len(may), 5)], ", ")
		if len(may) > 5 {
			shown += fmt.Sprintf(" and %d more", len(may)-5)
		}
		if m.Focus != OnList && m.Focus != OnDetail {
			m.tell(false, "%s may go. Next: scv agents worktrees prune", plain.Count(len(may), "worktree"))
			return nil
		}
		return m.askLate(fmt.Sprintf("Remove %s, clean, merged and unused (%s)? What was on a branch stays there.", plain.Count(len(may), "worktree"), shown), func(*Model) []Effect {
			return []Effect{Call{Cmd: wire.WorktreePrune{Apply: true}, Then: treesChanged(fmt.Sprintf("removed %s; what was on a branch stays there", plain.Count(len(may), "worktree")))}}
		})
	}}}
}

// openQueue lists what waits in the open session.
func openQueue(m *Model) []Effect {
	t := &m.Chat.Talk
	pause, title := !t.Paused, "pause: what waits stays"
	if !pause {
		title = "go on: what waits is asked, one after the other"
	}
	entries := []Entry{{Title: title, do: func(m *Model) []Effect {
		return m.Chat.ask(m, letter{}, func(id wire.RequestID, session wire.SessionID) wire.ClientMessage {
			return wire.SessionPause{RequestID: id, SessionID: session, Paused: pause}
		})
	}}}
	for i := range t.Queue {
		entries = append(entries, waitingEntries(t.Queue, i)...)
	}
	return m.openMenu(fmt.Sprintf("%d prompts wait: type to narrow, enter does it", len(t.Queue)), entries)
}

// waitingEntries are what can be done with a prompt that waits. It is named as it was listed: one that was changed meanwhile
// by another client stays as that client wants it.
func waitingEntries(queue []wire.QueueEntry, i int) []Entry {
	e := queue[i]
	name := fmt.Sprintf("%d: %s", i+1, firstOf(e.Prompt))
	move := func(before *wire.QueueID) func(*Model) []Effect {
		return func(m *Model) []Effect {
			return m.Chat.ask(m, letter{}, func(id wire.RequestID, session wire.SessionID) wire.ClientMessage {
				return wire.QueueMove{RequestID: id, SessionID: session, QueueID: e.QueueID, Revision: e.Revision, BeforeQueueID: before}
			})
		}
	}
	out := []Entry{{Title: "edit " + name, do: func(*Model) []Effect { return []Effect{Edit{Text: e.Prompt, Then: editWaiting(e)}} }}}
	if i > 0 {
		out = append(out, Entry{Title: "earlier " + name, do: move(&queue[i-1].QueueID)})
	}
	if i+2 < len(queue) {
		out = append(out, Entry{Title: "later " + name, do: move(&queue[i+2].QueueID)})
	} else if i+1 < len(queue) {
		out = append(out, Entry{Title: "later " + name, do: move(nil)})
	}
	return append(out, Entry{Title: "take out " + name, do: func(m *Model) []Effect {
		return m.ask("Take out the prompt that waits: "+firstOf(e.Prompt)+"?", func(m *Model) []Effect {
			return m.Chat.ask(m, letter{}, func(id wire.RequestID, session wire.SessionID) wire.ClientMessage {
				return wire.QueueRemove{RequestID: id, SessionID: session, QueueID: e.QueueID, Revision: e.Revision}
			})
		})
	}})
}

// editWaiting gives a waiting prompt the text that comes back from the editor.
func editWaiting(e wire.QueueEntry) func(*Model, string, error) []Effect {
	return func(m *Model, text string, err error) []Effect {
		switch {
		case err != nil:
			m.fail(err)
			return nil
		case text == e.Prompt || blank(text):
			m.tell(false, "the prompt waits as it was")
			return nil
		}
		return m.Chat.ask(m, letter{}, func(id wire.RequestID, session wire.SessionID) wire.ClientMessage {
			return wire.QueueUpdate{RequestID: id, SessionID: session, QueueID: e.QueueID, Revision: e.Revision, Prompt: text}
		})
	}
}
