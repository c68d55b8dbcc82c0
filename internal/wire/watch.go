package wire

// WatchPage is what changed for a watcher (ours): sent only on a connection that asked with one of the watch
// commands, with that request's id. Exactly one of the three parts is there. At most one page is unsent at a
// time, so a slow reader skips intermediate values and never final ones; a log skips nothing.
type WatchPage struct {
	RequestID  RequestID `json:"request_id"`
	Epoch      string    `json:"epoch"`
	Generation uint64    `json:"generation"`
	// Full means that the page is the whole, not a change: forget what was there.
	Full      bool            `json:"full,omitzero" need:"K"`
	Workbench *WorkbenchDelta `json:"workbench,omitzero" need:"O"`
	RunLog    *RunLogPage     `json:"run_log,omitzero" need:"O"`
	Attach    *AttachPage     `json:"attach,omitzero" need:"O"`
}

// WorkbenchDelta holds the rows that changed, whole, and the ids of those that went (ours).
type WorkbenchDelta struct {
	GeneratedUnixSeconds uint64              `json:"generated_unix_seconds"`
	Sessions             []Session           `json:"sessions,omitempty" need:"K"`
	Jobs                 []Job               `json:"jobs,omitempty" need:"K"`
	Runs                 []Run               `json:"runs,omitempty" need:"K"`
	Approvals            []Approval          `json:"approvals,omitempty" need:"K"`
	Restorable           []RestorableSession `json:"restorable,omitempty" need:"K"`
	Removed              RemovedIDs          `json:"removed,omitzero" need:"K"`
	// Storage is Snapshot.Storage when it changed; empty when the ledger can be written again.
	Storage *string `json:"storage,omitzero" need:"O"`
	// Forecast is Snapshot.Forecast when it changed.
	Forecast *Forecast `json:"forecast,omitzero" need:"O"`
}

// RemovedIDs names the rows that are no longer listed (ours).
type RemovedIDs struct {
	Sessions   []SessionID  `json:"sessions,omitempty" need:"K"`
	Jobs       []JobRef     `json:"jobs,omitempty" need:"K"`
	Runs       []RunHandle  `json:"runs,omitempty" need:"K"`
	Approvals  []ApprovalID `json:"approvals,omitempty" need:"K"`
	Restorable []SessionID  `json:"restorable,omitempty" need:"K"`
}

// IsZero reports whether nothing was removed.
func (r RemovedIDs) IsZero() bool {
	return len(r.Sessions)+len(r.Jobs)+len(r.Runs)+len(r.Approvals)+len(r.Restorable) == 0
}

// EventType returns watch.page.
func (WatchPage) EventType() string { return "watch.page" }
