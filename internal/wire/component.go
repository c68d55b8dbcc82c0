package wire

// ComponentHealth is one account of a chat or mail channel.
type ComponentHealth struct {
	ID                     string         `json:"id"` // <channel>:<account>
	Channel                string         `json:"channel" need:"D"`
	Account                string         `json:"account"`
	BotID                  *string        `json:"bot_id" need:"N"`
	UserID                 *string        `json:"user_id" need:"N"`
	Enabled                bool           `json:"enabled"`
	State                  ComponentState `json:"state"`
	LastSuccessUnixSeconds *uint64        `json:"last_success_unix_seconds" need:"N"`
	Error                  *string        `json:"error" need:"N"`
	Restarts               uint64         `json:"restarts"`
	RemoteTools            RemoteTools    `json:"remote_tools" need:"D=none"`
	Senders                *Senders       `json:"senders,omitzero" need:"O"`
	Purpose                *Purpose       `json:"purpose,omitzero" need:"O"`
	Mail                   *MailCounts    `json:"mail,omitzero" need:"O"`
}

// MailCounts are the figures of a mail account; each may be missing.
type MailCounts struct {
	Claimed              uint64   `json:"claimed" need:"D"`
	Queued               uint64   `json:"queued" need:"D"`
	SeenToday            uint64   `json:"seen_today" need:"D"`
	TriagedToday         uint64   `json:"triaged_today" need:"D"`
	ReportedToday        uint64   `json:"reported_today" need:"D"`
	TokensToday          uint64   `json:"tokens_today" need:"D"`
	TokenBudget          uint64   `json:"token_budget" need:"D"`
	LastCheckUnixSeconds *uint64  `json:"last_check_unix_seconds" need:"N"`
	Provider             *string  `json:"provider,omitzero" need:"O"`
	Messages24h          uint64   `json:"messages_24h" need:"D"`
	Actions              []string `json:"actions,omitempty" need:"K"`
	ActionsOpen          uint64   `json:"actions_open,omitzero" need:"K"`
	ActionsExecuting     uint64   `json:"actions_executing,omitzero" need:"K"`
	ActionsUnknown       uint64   `json:"actions_unknown,omitzero" need:"K"`
	ActionsDone24h       uint64   `json:"actions_done_24h,omitzero" need:"K"`
}

// MailAction is something that a mail account wants to do.
type MailAction struct {
	Account            string  `json:"account"`
	ID                 string  `json:"id"`
	Kind               string  `json:"kind"`
	State              string  `json:"state"`
	CreatedUnixSeconds uint64  `json:"created_unix_seconds"`
	ExpiresUnixSeconds *uint64 `json:"expires_unix_seconds,omitzero" need:"O"`
}

// ComponentState is what an account does; closed.
type ComponentState string

// The states of protocol 3.
const (
	ComponentDisabled     ComponentState = "disabled"
	ComponentStarting     ComponentState = "starting"
	ComponentConnected    ComponentState = "connected"
	ComponentDisconnected ComponentState = "disconnected"
	ComponentBackoff      ComponentState = "backoff"
	ComponentStopping     ComponentState = "stopping"
	ComponentStopped      ComponentState = "stopped"
	ComponentFailed       ComponentState = "failed"
)

func (ComponentState) words() words {
	return closedWords("disabled", "starting", "connected", "disconnected", "backoff", "stopping", "stopped", "failed")
}

// Purpose is what an account is for; closed.
type Purpose string

// The purposes of protocol 3.
const (
	PurposeChat Purpose = "chat"
	PurposeMail Purpose = "mail"
)

func (Purpose) words() words { return closedWords("chat", "mail") }

// RemoteTools is who may use tools through an account; closed. The zero value is written as none.
type RemoteTools string

// The settings of protocol 3.
const (
	RemoteToolsNone  RemoteTools = "none"
	RemoteToolsOwner RemoteTools = "owner"
)

func (RemoteTools) words() words { return closedWords("none", "owner") }

// MarshalText writes the setting, the zero value as none.
func (r RemoteTools) MarshalText() ([]byte, error) {
	if r == "" {
		r = RemoteToolsNone
	}
	return []byte(r), nil
}

// Senders is whom an account listens to; closed.
type Senders string

// The settings of protocol 3.
const (
	SendersOwner  Senders = "owner"
	SendersAnyone Senders = "anyone"
)

func (Senders) words() words { return closedWords("owner", "anyone") }
