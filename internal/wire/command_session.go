package wire

import "encoding/json"

// SessionsPage asks for the sessions of the model loop that are kept on disk, newest first, ended ones too (ours).
type SessionsPage struct {
	After *string `json:"after,omitzero" need:"O"` // SessionRecords.Next of the page before
	Limit uint32  `json:"limit,omitzero" need:"K"` // at most MaxSessionsPage; 0: as many
}

// SessionHistoryCommand asks for messages of a session of the model loop, newest first (ours).
type SessionHistoryCommand struct {
	Session SessionID `json:"session"`
	Before  uint64    `json:"before,omitzero" need:"K"` // number of a message; 0: from the newest
	Limit   uint32    `json:"limit,omitzero" need:"K"`  // at most MaxHistoryPage; 0: as many
}

// SessionRemove ends a session that is kept, for good (ours): its history stays readable until it is too old.
type SessionRemove struct {
	Session SessionID `json:"session"`
}

// SessionRecord is a session of the model loop as it is kept (ours).
type SessionRecord struct {
	ID                 SessionID `json:"id"`
	Name               string    `json:"name,omitempty" need:"K"`
	Label              string    `json:"label"`
	Workspace          string    `json:"workspace"`
	Model              string    `json:"model,omitempty" need:"K"` // that was asked for; empty for the configured one
	Kept               bool      `json:"kept,omitzero" need:"K"`   // a client may attach to it
	First              string    `json:"first,omitempty" need:"K"` // start of its first prompt
	Queued             uint32    `json:"queued,omitzero" need:"K"`
	Interrupted        *string   `json:"interrupted,omitzero" need:"O"`
	Messages           uint64    `json:"messages,omitzero" need:"K"` // that were ever in its history
	InputTokens        uint64    `json:"input_tokens,omitzero" need:"K"`
	OutputTokens       uint64    `json:"output_tokens,omitzero" need:"K"`
	CreatedUnixSeconds uint64    `json:"created_unix_seconds"`
	UpdatedUnixSeconds uint64    `json:"updated_unix_seconds"`
	EndedUnixSeconds   *uint64   `json:"ended_unix_seconds,omitzero" need:"O"`
}

// SessionRecords is a page of them.
type SessionRecords struct {
	Sessions []SessionRecord `json:"sessions,omitempty" need:"K"`
	Next     *string         `json:"next,omitzero" need:"O"` // opaque; absent at the end
}

// SessionMessage is one message of a history, masked (ours).
type SessionMessage struct {
	Number  uint64          `json:"number"`
	Role    string          `json:"role"` // user, assistant or tool
	Text    string          `json:"text,omitempty" need:"K"`
	Images  []string        `json:"images,omitempty" need:"K"` // paths
	Calls   []SessionCall   `json:"calls,omitempty" need:"K"`  // of an assistant
	Results []SessionResult `json:"results,omitempty" need:"K"`
}

// SessionCall is a call of a tool in a history.
type SessionCall struct {
	ID        CallID          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// SessionResult is what a call came to.
type SessionResult struct {
	ID     CallID `json:"id"`
	Name   string `json:"name"`
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitzero" need:"K"`
}

// SessionHistory is a page of messages, newest first; at most about MaxHistoryBytes of text.
type SessionHistory struct {
	Session  SessionID        `json:"session"`
	Messages []SessionMessage `json:"messages,omitempty" need:"K"`
	Before   *uint64          `json:"before,omitzero" need:"O"` // of the next page; absent at the beginning
}

// Action returns sessions_page.
func (SessionsPage) Action() string { return "sessions_page" }

// Action returns session_history.
func (SessionHistoryCommand) Action() string { return "session_history" }

// Action returns session_remove.
func (SessionRemove) Action() string { return "session_remove" }
