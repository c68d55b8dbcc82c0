package wire

import "encoding/json"

// ProjectSummary is a project at a glance.
type ProjectSummary struct {
	ID                       string        `json:"id"`
	Name                     string        `json:"name"`
	Workspace                string        `json:"workspace"`
	Phase                    ProjectPhase  `json:"phase"`
	Status                   ProjectStatus `json:"status"`
	CreatedUnixSeconds       uint64        `json:"created_unix_seconds"`
	UpdatedUnixSeconds       uint64        `json:"updated_unix_seconds"`
	LastHeartbeatUnixSeconds *uint64       `json:"last_heartbeat_unix_seconds" need:"N"`
	TaskCount                uint64        `json:"task_count"`
	CompletedTasks           uint64        `json:"completed_tasks"`
}

// ProjectTask is a task of a project.
type ProjectTask struct {
	ID                       string            `json:"id"`
	Title                    string            `json:"title"`
	Status                   ProjectTaskStatus `json:"status"`
	DependsOn                List[string]      `json:"depends_on" need:"D"`
	Retries                  uint32            `json:"retries"`
	MaxRetries               uint32            `json:"max_retries"`
	RunID                    *string           `json:"run_id" need:"N"`
	Progress                 *string           `json:"progress" need:"N"`
	LastHeartbeatUnixSeconds *uint64           `json:"last_heartbeat_unix_seconds" need:"N"`
}

// ProjectRun is an attempt at a task.
type ProjectRun struct {
	ID                 string           `json:"id"`
	TaskID             string           `json:"task_id"`
	Agent              string           `json:"agent"`
	Status             ProjectRunStatus `json:"status"`
	Attempt            uint32           `json:"attempt"` // from 1
	StartedUnixSeconds uint64           `json:"started_unix_seconds"`
	UpdatedUnixSeconds uint64           `json:"updated_unix_seconds"`
	Progress           *string          `json:"progress" need:"N"`
}

// ProjectEvent is an entry of a project's history; data is any JSON value.
type ProjectEvent struct {
	Sequence             uint64          `json:"sequence"`
	ProjectID            string          `json:"project_id"`
	Kind                 string          `json:"kind"`
	TimestampUnixSeconds uint64          `json:"timestamp_unix_seconds"`
	Data                 json.RawMessage `json:"data"`
}

// ProjectReport is a project in full.
type ProjectReport struct {
	Project              ProjectSummary    `json:"project"`
	Tasks                List[ProjectTask] `json:"tasks"`
	Runs                 List[ProjectRun]  `json:"runs"`
	GeneratedUnixSeconds uint64            `json:"generated_unix_seconds"`
	Evidence             List[string]      `json:"evidence"`
}

// ProjectResponse is the reply of a project action; its Body is one of the Project...Reply types.
type ProjectResponse struct{ Body ProjectBody }

// ProjectBody is a reply of a project action, told apart by its kind.
type ProjectBody interface{ ProjectKind() string }

// ProjectCreated answers project_create.
type ProjectCreated struct {
	Project ProjectSummary `json:"project"`
}

// ProjectStatusReply answers project_status.
type ProjectStatusReply struct {
	Project ProjectSummary `json:"project"`
}

// ProjectUpdated answers the actions that change a task or a run.
type ProjectUpdated struct {
	Project ProjectSummary `json:"project"`
}

// ProjectTaskAdded answers project_task_add.
type ProjectTaskAdded struct {
	Project ProjectSummary `json:"project"`
	TaskID  string         `json:"task_id"`
}

// ProjectRunStarted answers project_run_start.
type ProjectRunStarted struct {
	Project ProjectSummary `json:"project"`
	RunID   string         `json:"run_id"`
}

// ProjectEventsReply answers project_events.
type ProjectEventsReply struct {
	ProjectID       string             `json:"project_id"`
	CompactedBefore *uint64            `json:"compacted_before,omitzero" need:"O"`
	Events          List[ProjectEvent] `json:"events"`
}

// ProjectTasksReply answers project_tasks.
type ProjectTasksReply struct {
	ProjectID string            `json:"project_id"`
	Tasks     List[ProjectTask] `json:"tasks"`
}

// ProjectReportReply answers project_report.
type ProjectReportReply struct {
	Report ProjectReport `json:"report"`
}

// ProjectKind returns the tag of the reply.
func (ProjectCreated) ProjectKind() string { return "created" }

// ProjectKind returns the tag of the reply.
func (ProjectStatusReply) ProjectKind() string { return "status" }

// ProjectKind returns the tag of the reply.
func (ProjectUpdated) ProjectKind() string { return "updated" }

// ProjectKind returns the tag of the reply.
func (ProjectTaskAdded) ProjectKind() string { return "task_added" }

// ProjectKind returns the tag of the reply.
func (ProjectRunStarted) ProjectKind() string { return "run_started" }

// ProjectKind returns the tag of the reply.
func (ProjectEventsReply) ProjectKind() string { return "events" }

// ProjectKind returns the tag of the reply.
func (ProjectTasksReply) ProjectKind() string { return "tasks" }

// ProjectKind returns the tag of the reply.
func (ProjectReportReply) ProjectKind() string { return "report" }

// MarshalJSON writes the body with its kind.
func (r ProjectResponse) MarshalJSON() ([]byte, error) {
	if r.Body == nil {
		return []byte("null"), nil
	}
	return marshalTagged("kind", r.Body.ProjectKind(), r.Body)
}

func (r *ProjectResponse) decodeWire(d *decoder) error {
	kind, err := d.tag("kind")
	if err != nil {
		return err
	}
	r.Body, err = decodeProjectBody(d, kind)
	return err
}

func decodeProjectBody(d *decoder, kind string) (ProjectBody, error) {
	switch kind {
	case "created":
		return decodeAs[ProjectCreated](d, "kind")
	case "status":
		return decodeAs[ProjectStatusReply](d, "kind")
	case "updated":
		return decodeAs[ProjectUpdated](d, "kind")
	case "task_added":
		return decodeAs[ProjectTaskAdded](d, "kind")
	case "run_started":
		return decodeAs[ProjectRunStarted](d, "kind")
	case "events":
		return decodeAs[ProjectEventsReply](d, "kind")
	case "tasks":
		return decodeAs[ProjectTasksReply](d, "kind")
	case "report":
		return decodeAs[ProjectReportReply](d, "kind")
	}
	return nil, d.errorf("unknown project reply %.40q", kind)
}

// ProjectPhase is where a project stands; closed.
type ProjectPhase string

func (ProjectPhase) words() words {
	return closedWords("discovery", "planning", "implementation", "verification", "staging", "production", "reporting")
}

// ProjectStatus is how a project does; closed.
type ProjectStatus string

func (ProjectStatus) words() words {
	return closedWords("active", "blocked", "waiting_approval", "completed", "failed", "archived")
}

// ProjectTaskStatus is how a task does; closed.
type ProjectTaskStatus string

func (ProjectTaskStatus) words() words {
	return closedWords("pending", "ready", "running", "blocked", "done", "failed", "stale")
}

// ProjectRunStatus is how an attempt does; closed.
type ProjectRunStatus string

func (ProjectRunStatus) words() words {
	return closedWords("running", "succeeded", "failed", "cancelled", "stale")
}
