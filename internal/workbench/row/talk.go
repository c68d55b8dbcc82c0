package row

import (
	"encoding/json"

	"scv/internal/wire"
)

// A Talk is a session of SCV's own model loop as it is kept. Its history and its queue are rows of their own: a talk is
// small, so it can be written with each change.
type Talk struct {
	ID        wire.SessionID `json:"id"`
	Name      string         `json:"name,omitempty"` // the owner's name for it; no two that are kept share one
	Label     string         `json:"label"`          // whom it serves
	Workspace string         `json:"workspace"`      // resolved
	Start     TalkStart      `json:"start"`
	Keep      bool           `json:"keep,omitzero"`    // it goes on without a client
	Persist   bool           `json:"persist,omitzero"` // its queue outlives the daemon
	Created   uint64         `json:"created_unix_seconds"`
	Updated   uint64         `json:"updated_unix_seconds"`
	Ended     uint64         `json:"ended_unix_seconds,omitzero"`
	Paused    bool           `json:"paused,omitzero"`
	Order     []wire.QueueID `json:"order,omitempty"` // of the queue
	// Running is the start of the prompt whose turn runs, at most 200 characters: after a crash it was interrupted.
	Running string `json:"running,omitempty"`
	// Interrupted is such a prompt that was cut off. It is shown until the next turn begins, and never sent again.
	Interrupted string `json:"interrupted,omitempty"`

	Summary string    `json:"summary,omitempty"` // tells what the messages before From said
	From    uint64    `json:"from,omitzero"`     // number of the first message that the model is shown
	Next    uint64    `json:"next,omitzero"`     // number of the next message
	First   string    `json:"first,omitempty"`   // the start of the first prompt
	Pins    []string  `json:"pins,omitempty"`    // what the owner wants never to be forgotten
	Jobs    []TalkJob `json:"jobs,omitempty"`    // that its model started and that were not reported
	Input   uint64    `json:"input_tokens,omitzero"`
	Output  uint64    `json:"output_tokens,omitzero"`
}

// A TalkStart is what a session was asked to be, so that a later daemon can build it again. It holds no key.
type TalkStart struct {
	Provider     string        `json:"provider,omitempty"`
	Model        string        `json:"model,omitempty"`
	BaseURL      string        `json:"base_url,omitempty"`
	NoTools      bool          `json:"no_tools,omitzero"`
	Depth        uint32        `json:"delegation_depth,omitzero"`
	Channel      string        `json:"channel,omitempty"`
	AutoApprove  bool          `json:"auto_approve,omitzero"`
	Chat         *wire.ChatLog `json:"chat,omitempty"`
	SystemPrompt string        `json:"system_prompt,omitempty"`
	Mode         string        `json:"mode,omitempty"`
	Owner        bool          `json:"owner,omitzero"` // the owner sits at its client
}

// A TalkJob is a job that a session's model started and whose end was not told to it.
type TalkJob struct {
	Job      wire.JobID `json:"job"`
	Agent    string     `json:"agent"`
	Task     string     `json:"task,omitempty"`
	Attempts uint32     `json:"attempts,omitzero"` // report turns that failed
}

// A TalkChange is what one commit changes of a session of the model loop. All of it or nothing is on disk.
type TalkChange struct {
	Talk     Talk
	Messages []TalkMessage     // that are new
	Below    uint64            // messages with a lower number go
	Entries  []wire.QueueEntry // that are new or changed
	Gone     []wire.QueueID
	Other    *TalkChange // of the session whose queue this one took over: both or neither is on disk
}

// A TalkMessage is one message of a history, as the loop encodes it, masked.
type TalkMessage struct {
	Num  uint64
	Body json.RawMessage
}

// A TalkOld is a message that the model is not shown any more, without its text: a long history is opened without
// reading it.
type TalkOld struct {
	Num   uint64
	Bytes int    // of its body
	Head  string // the first bytes of its body, TalkHead at most
}

// TalkHead is how much of a message's body is its head, in characters.
const TalkHead = 32

// A LoadedTalk is a session of the model loop as the ledger has it.
type LoadedTalk struct {
	Talk     Talk
	Old      []TalkOld         // by number: those below Talk.From
	Messages []TalkMessage     // by number: the others
	Queue    []wire.QueueEntry // in their order
}
