package model

import (
	"cmp"
	"slices"

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
