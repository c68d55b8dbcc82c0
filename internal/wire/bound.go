package wire

// ProtocolVersion is the only version spoken; any other is refused with CodeVersionMismatch.
const ProtocolVersion = 3

// Bounds of protocol 3, in bytes unless the name says otherwise.
const (
	// MaxClientFrame bounds a frame from client to daemon, without its line ending.
	MaxClientFrame = 1 << 20
	// MaxServerFrame bounds a frame from daemon to client; a control client counts the line ending in.
	MaxServerFrame = 8 << 20
	// MinClientFrame is the least value that a session may set MaxClientFrame to.
	MinClientFrame = 4096
	// MinServerFrame is the least value that a session may set MaxServerFrame to.
	MinServerFrame = 65536
	// MaxPromptBytes bounds the prompt of a turn or a job; a longer one is refused, never cut.
	MaxPromptBytes = 256 << 10
	// MaxJobResultBytes bounds reply and error of one JobResult each; a longer one is cut and flagged.
	MaxJobResultBytes = 4096
	// MaxReplyBytes bounds the reply of a job that is kept whole (ours).
	MaxReplyBytes = 4 << 20
	// MaxRunLogPageBytes bounds the log text in one RunLogPage.
	MaxRunLogPageBytes = 256 << 10
	// MaxRunLogPageEvents bounds the events of one RunLogPage; the limit of a request is forced into 1 to it.
	MaxRunLogPageEvents = 500
	// MaxEventTextBytes bounds the text of a RunEvent.
	MaxEventTextBytes = 2000
	// MaxEventPromptBytes bounds the text of a RunEvent that records a prompt.
	MaxEventPromptBytes = 4000
	// MaxHistoryLines bounds the lines that one AttachHistory gives.
	MaxHistoryLines = 200
	// MaxInputBytes bounds the input of one AttachIO.
	MaxInputBytes = 64 << 10
	// MaxKeyBytes bounds the key of a mutating command (ours).
	MaxKeyBytes = 64
	// MaxChannelBytes bounds the channel name of SessionStart.
	MaxChannelBytes = 32
	// MaxSystemPromptBytes bounds the system prompt of SessionStart.
	MaxSystemPromptBytes = 16 << 10
	// MaxChatPartBytes bounds each part of a ChatLog.
	MaxChatPartBytes = 64
	// MaxAttachments bounds the attachments of a turn.
	MaxAttachments = 16
	// MaxQueueEntries bounds the waiting prompts of a session.
	MaxQueueEntries = 64
	// MaxQueueBytes bounds the text of the waiting prompts of a session.
	MaxQueueBytes = 4 << 20
	// MaxSessionNameBytes bounds the owner's name for a session (ours).
	MaxSessionNameBytes = 64
	// MaxSessionsPage bounds the sessions of one SessionRecords (ours).
	MaxSessionsPage = 100
	// MaxHistoryPage bounds the messages of one SessionHistory (ours).
	MaxHistoryPage = 500
	// MaxHistoryBytes bounds the text of one SessionHistory; a single larger message is given whole (ours).
	MaxHistoryBytes = 4 << 20
	// MaxSchemaBytes bounds the schema of a turn's answer (ours).
	MaxSchemaBytes = 64 << 10
	// MaxPins bounds what a session's owner pins, in number (ours).
	MaxPins = 32
	// MaxPinBytes bounds one pinned text (ours).
	MaxPinBytes = 2000
	// MaxTaskRunes bounds the task of a Job, in characters.
	MaxTaskRunes = 80
	// MaxReviewRounds bounds the rounds of a reviewed job, with all that it is extended by (ours).
	MaxReviewRounds = 20
	// DefaultReviewRounds is how many rounds a reviewed job has that names none (ours).
	DefaultReviewRounds = 3
	// MaxReviewSeats bounds the reviewers, and the builders, that a reviewed job names (ours).
	MaxReviewSeats = 8
	// MaxReviewFocus bounds the focus of a review, in bytes (ours).
	MaxReviewFocus = 2 << 10
	// MaxQuestionBytes bounds the question of ConfirmAsk.
	MaxQuestionBytes = 4096
)

// Counts and sizes of a Snapshot and of a takeover.
const (
	// MaxFinishedJobs is how many finished jobs a Snapshot lists; unfinished and resumable ones are all listed.
	MaxFinishedJobs = 200
	// MaxEndedRuns is how many ended runs a Snapshot lists; live ones are all listed.
	MaxEndedRuns = 200
	// MaxRestorable is how many restorable sessions a Snapshot lists.
	MaxRestorable = 32
	// MaxTakeovers is how many takeovers may run at once.
	MaxTakeovers = 8
	// MinCols and the next three clamp the size of a taken-over terminal, in cells.
	MinCols = 20
	// MaxCols is the widest terminal.
	MaxCols = 400
	// MinRows is the lowest terminal.
	MinRows = 5
	// MaxRows is the highest terminal.
	MaxRows = 200
	// DefaultCols is the width when none was asked for.
	DefaultCols = 100
	// DefaultRows is the height when none was asked for.
	DefaultRows = 30
)

// Defaults that a daemon announces in SessionStarted.
const (
	// DefaultContextTokens is context_max_tokens.
	DefaultContextTokens = 128000
	// DefaultTranscriptBytes is max_transcript_bytes.
	DefaultTranscriptBytes = 8 << 20
	// DefaultTranscriptItems is max_transcript_items.
	DefaultTranscriptItems = 10000
	// DefaultPromptHistoryBytes is max_prompt_history_bytes.
	DefaultPromptHistoryBytes = 1 << 20
	// DefaultPromptHistoryItems is max_prompt_history_items.
	DefaultPromptHistoryItems = 200
)

// NoDeadline is the expires_unix_seconds of an approval that has no deadline (ours: 2100-01-01).
const NoDeadline uint64 = 4102444800

// Features that Initialized may announce (ours).
const (
	// FeatureWatch: workbench_watch and run_log_watch.
	FeatureWatch = "watch"
	// FeatureKey: the key of mutating commands.
	FeatureKey = "key"
	// FeatureReason: reason and hint of errors.
	FeatureReason = "reason"
	// FeatureWhy: the action why.
	FeatureWhy = "why"
	// FeatureResultPage: after of job_result, next and size of its reply.
	FeatureResultPage = "result_page"
	// FeatureJobsPage: the action jobs_page.
	FeatureJobsPage = "jobs_page"
	// FeatureStop: the action daemon_stop.
	FeatureStop = "stop"
	// FeatureTransport: transport of workbench_start.
	FeatureTransport = "transport"
	// FeatureRestart: the action daemon_restart.
	FeatureRestart = "restart"
	// FeatureMode: mode of workbench_start.
	FeatureMode = "mode"
	// FeatureKeep: keep of session.start, and session.attach.
	FeatureKeep = "keep"
	// FeatureSessions: name of session.start, schema of turn.start, session.pin, and the actions sessions_page,
	// session_history and session_remove.
	FeatureSessions = "sessions"
	// FeatureDigest: digest of approvals and answers.
	FeatureDigest = "digest"
	// FeatureApprovals: the actions approvals_page, approval_rules, approval_rule_add, approval_rule_remove and
	// approval_test, and reason, equal and remember of workbench_approve.
	FeatureApprovals = "approvals"
	// FeatureQueue: job_prompt, job_edit, job_move, conversation_pause and conversation_resume.
	FeatureQueue = "queue"
	// FeatureFollow: workbench_retry and workbench_fork.
	FeatureFollow = "follow"
	// FeatureTerminal: attach_watch, shell of attach and attach_end, cells of a span.
	FeatureTerminal = "terminal"
	// FeatureTyped: typist, from and again of attach_io, and typed of its answer.
	FeatureTyped = "typed"
	// FeatureHolds: the action agent_resume, and check of workbench_start.
	FeatureHolds = "holds"
	// FeatureTail: tail of run_log.
	FeatureTail = "tail"
	// FeatureWorktree: worktrees with base, branch and with_changes, and the actions worktree_prune and
	// worktree_trust.
	FeatureWorktree = "worktree"
	// FeatureClean: the action worktree_clean.
	FeatureClean = "clean"
	// FeatureDiff: the actions job_diff, job_commit and job_apply.
	FeatureDiff = "diff"
	// FeatureFinished: finished of workbench.
	FeatureFinished = "finished"
	// FeatureForecast: the action forecast.
	FeatureForecast = "forecast"
	// FeatureReview: review of workbench_start, reviewed and round of job_diff, and the actions job_review and review_decide.
	FeatureReview = "review"
)
