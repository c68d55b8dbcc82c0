package server

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"scv/internal/session/provider"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// Talks is what the server reads of the sessions of the model loop.
type Talks interface {
	List(ctx context.Context, before *row.Talk, limit int) ([]row.Talk, error)
	TalkMessages(ctx context.Context, id wire.SessionID, before uint64, limit int) ([]row.TalkMessage, error)
}

// A librarian answers what is asked of sessions of the model loop.
type librarian struct{ *request }

func (r librarian) do(cmd wire.Command) (answer, error) {
	switch cmd := cmd.(type) {
	case wire.SessionsPage:
		return r.sessionsPage(cmd)
	case wire.SessionHistoryCommand:
		return r.sessionHistory(cmd)
	case wire.SessionRemove:
		st := r.light()
		return answer{status: st}, r.Sessions.Remove(r.ctx, cmd.Session)
	}
	return answer{}, notOffered(cmd)
}

// sessionsPage lists sessions, newest first.
func (r librarian) sessionsPage(cmd wire.SessionsPage) (answer, error) {
	var before *row.Talk
	if cmd.After != nil {
		when, id, ok := strings.Cut(*cmd.After, "/")
		updated, err := strconv.ParseUint(when, 10, 63)
		if !ok || err != nil {
			return answer{}, wire.Refuse(wire.ReasonInvalid, "pass what the page before gave as next", "%.80q does not name a page", *cmd.After)
		}
		before = &row.Talk{ID: wire.SessionID(id), Updated: updated}
	}
	limit := pageOf(cmd.Limit, wire.MaxSessionsPage)
	rows, err := r.Talks.List(r.ctx, before, limit)
	if err != nil {
		return answer{}, err
	}
	page := &wire.SessionRecords{}
	for i := range rows {
		page.Sessions = append(page.Sessions, recordOf(&rows[i]))
	}
	if len(rows) == limit {
		last := &rows[limit-1]
		page.Next = new(strconv.FormatUint(last.Updated, 10) + "/" + string(last.ID))
	}
	st := r.light()
	st.Sessions = page
	return answer{status: st}, nil
}

func pageOf(asked uint32, most int) int {
	if asked == 0 || int(asked) > most {
		return most
	}
	return int(asked)
}

func recordOf(t *row.Talk) wire.SessionRecord {
	out := wire.SessionRecord{
		ID: t.ID, Name: t.Name, Label: t.Label, Workspace: t.Workspace, Model: t.Start.Model, Kept: t.Keep && t.Ended == 0, First: t.First,
		Queued: uint32(len(t.Order)), Messages: t.Next, InputTokens: t.Input, OutputTokens: t.Output,
		CreatedUnixSeconds: t.Created, UpdatedUnixSeconds: t.Updated,
	}
	if t.Ended > 0 {
		out.EndedUnixSeconds = &t.Ended
	}
	if t.Interrupted != "" {
		out.Interrupted = &t.Interrupted
	}
	return out
}

// sessionHistory gives messages of a session, newest first, as many as fit in a frame.
func (r librarian) sessionHistory(cmd wire.SessionHistoryCommand) (answer, error) {
	limit := pageOf(cmd.Limit, wire.MaxHistoryPage)
	before := cmd.Before
	if before == 0 {
		before = ^uint64(0)
	}
	rows, err := r.Talks.TalkMessages(r.ctx, cmd.Session, before, limit)
	if err != nil {
		return answer{}, err
	}
	page := &wire.SessionHistory{Session: cmd.Session}
	size := 0
	for i, m := range rows {
		if size += len(m.Body); size > wire.MaxHistoryBytes && i > 0 {
			page.Before = new(rows[i-1].Num)
			break
		}
		message, err := messageOf(m)
		if err != nil {
			return answer{}, err
		}
		page.Messages = append(page.Messages, message)
	}
	if page.Before == nil && len(rows) == limit {
		page.Before = new(rows[limit-1].Num)
	}
	st := r.light()
	st.SessionHistory = page
	return answer{status: st}, nil
}

func messageOf(m row.TalkMessage) (wire.SessionMessage, error) {
	var from provider.Message
	if err := json.Unmarshal(m.Body, &from); err != nil {
		return wire.SessionMessage{}, err
	}
	out := wire.SessionMessage{Number: m.Num, Role: string(from.Role), Text: from.Text}
	for _, i := range from.Images {
		out.Images = append(out.Images, i.Path)
	}
	for _, c := range from.Calls {
		out.Calls = append(out.Calls, wire.SessionCall{ID: wire.CallID(c.ID), Name: c.Name, Arguments: c.Arguments})
	}
	for _, r := range from.Results {
		out.Results = append(out.Results, wire.SessionResult{ID: wire.CallID(r.ID), Name: r.Name, Text: r.Text, Failed: r.Failed})
	}
	return out, nil
}
