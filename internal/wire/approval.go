package wire

// Approval is a question of a job that waits for the owner's answer. A snapshot lists those that wait; the history has
// all of them.
type Approval struct {
	ID                 ApprovalID `json:"id"`
	Session            SessionID  `json:"session"` // empty for a question that no job asked
	Job                JobID      `json:"job"`     // likewise
	Name               string     `json:"name"`    // the tool, in the agent's word
	Risk               string     `json:"risk"`
	Cwd                string     `json:"cwd"`
	Summary            string     `json:"summary"`
	SinceUnixSeconds   uint64     `json:"since_unix_seconds"`
	ExpiresUnixSeconds uint64     `json:"expires_unix_seconds"` // NoDeadline when there is none

	// Digest stands for the text shown; an answer that carries it must match (ours).
	Digest *string `json:"digest,omitzero" need:"O"`
	// Rev only rises, over restarts too; the higher one wins (ours).
	Rev uint64 `json:"rev,omitzero" need:"K"`

	// All below is ours.

	Kind     ApprovalKind     `json:"kind,omitempty" need:"K"` // absent: a request of an agent
	Run      *RunHandle       `json:"run,omitzero" need:"O"`
	Agent    string           `json:"agent,omitempty" need:"K"`
	Turn     *uint32          `json:"turn,omitzero" need:"O"`
	Tool     string           `json:"tool,omitempty" need:"K"`     // the agent's own name of it
	Command  string           `json:"command,omitempty" need:"K"`  // the literal command that will run
	Paths    []string         `json:"paths,omitempty" need:"K"`    // files that are read or changed, as the agent named them
	Diff     string           `json:"diff,omitempty" need:"K"`     // of a change
	Options  []ApprovalOption `json:"options,omitempty" need:"K"`  // what the agent offers
	Warnings []string         `json:"warnings,omitempty" need:"K"` // what to look at twice, one sentence each
	// Left is how many bytes of the texts are left out here; approvals_page with the id gives them whole.
	Left  uint64        `json:"left,omitzero" need:"K"`
	State ApprovalState `json:"state,omitempty" need:"K"` // absent: it waits

	Approved            *bool   `json:"approved,omitzero" need:"O"` // the answer, once there is one
	AnsweredUnixSeconds *uint64 `json:"answered_unix_seconds,omitzero" need:"O"`
	By                  string  `json:"by,omitempty" need:"K"`     // who answered: a person and the way, a rule, a deadline
	Rule                string  `json:"rule,omitempty" need:"K"`   // id of the rule that answered
	Reason              string  `json:"reason,omitempty" need:"K"` // given with the answer
}

// ApprovalKind tells what asks; open (ours).
type ApprovalKind string

// The kinds of this release.
const (
	ApprovalRequest  ApprovalKind = "request"  // an agent wants to do something
	ApprovalQuestion ApprovalKind = "question" // somebody wants a yes or no
	ApprovalKindOdd  ApprovalKind = unknownWord
)

func (ApprovalKind) words() words { return openWords("request", "question") }

// ApprovalState is where a question stands; open (ours).
type ApprovalState string

// The states: open, then answered and delivered, or one of the others.
const (
	ApprovalOpen      ApprovalState = "open"
	ApprovalAnswered  ApprovalState = "answered"  // on disk, and not yet told to who asked
	ApprovalDelivered ApprovalState = "delivered" // told
	ApprovalExpired   ApprovalState = "expired"   // denied by its deadline, and told
	ApprovalCancelled ApprovalState = "cancelled" // with its turn, by the owner
	ApprovalVoid      ApprovalState = "void"      // the agent took it back, or ended
	ApprovalStateOdd  ApprovalState = unknownWord
)

func (ApprovalState) words() words {
	return openWords("open", "answered", "delivered", "expired", "cancelled", "void")
}

// ApprovalOption is an answer that an agent offers (ours).
type ApprovalOption struct {
	ID   string `json:"id"`
	Kind string `json:"kind"` // allow_once, allow_always, reject_once, reject_always; other words may come
	Name string `json:"name,omitempty" need:"K"`
}

// ApprovalHistory is a page of approvals, newest first (ours).
type ApprovalHistory struct {
	Approvals List[Approval] `json:"approvals"`
	Next      *string        `json:"next,omitzero" need:"O"` // of the page after this one
}

// ApprovalsPage asks for approvals of any state, newest first, or for one by its id with its texts whole (ours).
type ApprovalsPage struct {
	ID    ApprovalID `json:"id,omitempty" need:"K"`
	After *string    `json:"after,omitzero" need:"O"` // ApprovalHistory.Next of the page before
	Limit *uint32    `json:"limit,omitzero" need:"O"`
}

// Action returns approvals_page.
func (ApprovalsPage) Action() string { return "approvals_page" }

// Remember makes a rule of an answer (ours).
type Remember struct {
	Scope   RuleScope `json:"scope"`
	Repo    bool      `json:"repo,omitzero" need:"K"` // only in the workspace of the question
	Seconds uint64    `json:"for,omitzero" need:"K"`  // 0: until it is removed
}

// RuleScope is what a rule made of an answer looks at; closed (ours).
type RuleScope string

// The scopes.
const (
	RuleTool    RuleScope = "tool"
	RuleCommand RuleScope = "command"
	RulePath    RuleScope = "path"
)

func (RuleScope) words() words { return closedWords("tool", "command", "path") }

// ApprovalRule allows or denies what it matches, before anybody is asked (ours). Every part that is given must match.
type ApprovalRule struct {
	ID      string      `json:"id,omitempty" need:"K"` // given by the daemon
	Effect  RuleEffect  `json:"effect"`
	Tool    string      `json:"tool,omitempty" need:"K"`
	Command string      `json:"command,omitempty" need:"K"` // beginning of a command, by words
	Path    string      `json:"path,omitempty" need:"K"`    // a file, or a folder with all below it
	Repo    string      `json:"repo,omitempty" need:"K"`    // absolute workspace in which it holds
	Expires *uint64     `json:"expires_unix_seconds,omitzero" need:"O"`
	Made    uint64      `json:"made_unix_seconds,omitzero" need:"K"`
	By      string      `json:"by,omitempty" need:"K"`
	From    *ApprovalID `json:"from,omitzero" need:"O"` // the answer that it was made of
}

// RuleEffect is what a rule does; closed (ours).
type RuleEffect string

// The effects. A denial beats a permission.
const (
	RuleAllow RuleEffect = "allow"
	RuleDeny  RuleEffect = "deny"
)

func (RuleEffect) words() words { return closedWords("allow", "deny") }

// ApprovalRules asks for the rules (ours).
type ApprovalRules struct{}

// Action returns approval_rules.
func (ApprovalRules) Action() string { return "approval_rules" }

// ApprovalRuleAdd adds a rule (ours).
type ApprovalRuleAdd struct {
	Rule ApprovalRule `json:"rule"`
	Key  string       `json:"key,omitempty" need:"K"`
}

// Action returns approval_rule_add.
func (ApprovalRuleAdd) Action() string { return "approval_rule_add" }

// ClientKey returns the client's key.
func (c ApprovalRuleAdd) ClientKey() string { return c.Key }

// ApprovalRuleRemove removes a rule (ours).
type ApprovalRuleRemove struct {
	ID  string `json:"id"`
	Key string `json:"key,omitempty" need:"K"`
}

// Action returns approval_rule_remove.
func (ApprovalRuleRemove) Action() string { return "approval_rule_remove" }

// ClientKey returns the client's key.
func (c ApprovalRuleRemove) ClientKey() string { return c.Key }

// ApprovalTest asks what would be decided, without asking anybody (ours).
type ApprovalTest struct {
	Mode    PermissionMode `json:"mode"`
	Risk    string         `json:"risk"`
	Cwd     string         `json:"cwd"`
	Repo    string         `json:"repo,omitempty" need:"K"`
	Tool    string         `json:"tool,omitempty" need:"K"`
	Command string         `json:"command,omitempty" need:"K"`
	Paths   []string       `json:"paths,omitempty" need:"K"`
}

// Action returns approval_test.
func (ApprovalTest) Action() string { return "approval_test" }

// ApprovalVerdict is what is decided and why (ours).
type ApprovalVerdict struct {
	Decision RuleDecision `json:"decision"`
	Why      string       `json:"why"`
	Rule     string       `json:"rule,omitempty" need:"K"`
}

// RuleDecision is what happens with a request; open (ours).
type RuleDecision string

// The decisions.
const (
	DecideAllow RuleDecision = "allow"
	DecideDeny  RuleDecision = "deny"
	DecideAsk   RuleDecision = "ask"
	DecideOdd   RuleDecision = unknownWord
)

func (RuleDecision) words() words { return openWords("allow", "deny", "ask") }
