package wire

// Command is what a DaemonControl asks for; the types of the command files, as values, are all of them.
type Command interface {
	// Action returns the protocol's tag, such as workbench_start.
	Action() string
}

// Keyed is a command that changes something and may carry a key of its client (ours): a request repeated with
// the same key is answered like the first and does nothing more.
type Keyed interface {
	Command
	// ClientKey returns the key, or empty; at most MaxKeyBytes.
	ClientKey() string
}

// StatusCommand asks for the daemon's state.
type StatusCommand struct{}

// ReloadCommand makes the daemon read its accounts and configuration again.
type ReloadCommand struct{}

// DelegationsCommand lists the runs that are alive, or all.
type DelegationsCommand struct {
	All bool `json:"all" need:"D"`
}

// DelegationKillCommand ends a run, or every orphaned one.
type DelegationKillCommand struct {
	Handle  *RunHandle `json:"handle,omitzero" need:"O"`
	Orphans bool       `json:"orphans" need:"D"`
	Key     string     `json:"key,omitempty" need:"K"` // ours
}

// RestartWhenIdle plans a restart to another release.
type RestartWhenIdle struct {
	Version        *string `json:"version,omitzero" need:"O"`
	Commit         *string `json:"commit,omitzero" need:"O"`
	Parent         *string `json:"parent,omitzero" need:"O"`
	MaxWaitSeconds *uint64 `json:"max_wait_seconds,omitzero" need:"O"` // default 600, at most 3600
}

// ConfirmAsk puts a question to the owner's chat.
type ConfirmAsk struct {
	Question       string  `json:"question"` // at most MaxQuestionBytes
	Parent         *string `json:"parent,omitzero" need:"O"`
	TimeoutSeconds *uint64 `json:"timeout_seconds,omitzero" need:"O"` // default 1800, at most 14400
}

// ConfirmStatus asks where a question stands.
type ConfirmStatus struct {
	ID string `json:"id"`
}

// MailStatus asks for the actions of mail accounts.
type MailStatus struct {
	Account *string `json:"account,omitzero" need:"O"`
}

// MailCancel withdraws one mail action, or all of an account.
type MailCancel struct {
	Account string  `json:"account"`
	ID      *string `json:"id,omitzero" need:"O"`
	All     bool    `json:"all" need:"D"`
}

// ChannelSet configures an account of a channel.
type ChannelSet struct {
	Channel     string       `json:"channel"`
	Account     string       `json:"account"`
	Enabled     bool         `json:"enabled"`
	Workspace   *string      `json:"workspace" need:"N"`
	RemoteTools *RemoteTools `json:"remote_tools,omitzero" need:"O"`
	Senders     *Senders     `json:"senders,omitzero" need:"O"`
	Purpose     *Purpose     `json:"purpose,omitzero" need:"O"`
}

// ChannelLogout signs an account out.
type ChannelLogout struct {
	Channel string `json:"channel"`
	Account string `json:"account"`
}

// Why asks what the state of a job rests on (ours).
type Why struct {
	Session SessionID `json:"session"`
	Job     JobID     `json:"job"`
}

// DaemonStop ends the daemon, and with All every run too (ours).
type DaemonStop struct {
	All bool   `json:"all,omitzero" need:"K"`
	Key string `json:"key,omitempty" need:"K"`
}

// DaemonRestart hands the daemon's place over to a program, with no moment in which nobody listens, and leaves every
// run alone (ours). The answer comes when the program is ready; that it serves shows in its own status.
type DaemonRestart struct {
	// Exe is the program's full path; empty for the file that the daemon was started from.
	Exe string `json:"exe,omitempty" need:"K"`
	// Environ is the environment to start it in, name=value; empty for the daemon's own. Never logged or kept.
	Environ []string `json:"environ,omitempty" need:"K"`
	// WhenIdle refuses with ReasonBusy while a turn runs.
	WhenIdle bool `json:"when_idle,omitzero" need:"K"`
}

// RestartFailed begins the sentence among DaemonStatus.Problems that says why the last restart changed nothing.
const RestartFailed = "the last restart failed: "

// Action returns status.
func (StatusCommand) Action() string { return "status" }

// Action returns reload.
func (ReloadCommand) Action() string { return "reload" }

// Action returns delegations.
func (DelegationsCommand) Action() string { return "delegations" }

// Action returns delegation_kill.
func (DelegationKillCommand) Action() string { return "delegation_kill" }

// Action returns restart_when_idle.
func (RestartWhenIdle) Action() string { return "restart_when_idle" }

// Action returns confirm_ask.
func (ConfirmAsk) Action() string { return "confirm_ask" }

// Action returns confirm_status.
func (ConfirmStatus) Action() string { return "confirm_status" }

// Action returns mail_status.
func (MailStatus) Action() string { return "mail_status" }

// Action returns mail_cancel.
func (MailCancel) Action() string { return "mail_cancel" }

// Action returns channel_set.
func (ChannelSet) Action() string { return "channel_set" }

// Action returns channel_logout.
func (ChannelLogout) Action() string { return "channel_logout" }

// Action returns why.
func (Why) Action() string { return "why" }

// Action returns daemon_stop.
func (DaemonStop) Action() string { return "daemon_stop" }

// Action returns daemon_restart.
func (DaemonRestart) Action() string { return "daemon_restart" }

// ClientKey returns the key.
func (c DelegationKillCommand) ClientKey() string { return c.Key }

// ClientKey returns the key.
func (c DaemonStop) ClientKey() string { return c.Key }
