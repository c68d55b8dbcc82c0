package wire

// ProjectCreate makes a project.
type ProjectCreate struct {
	Name      string `json:"name"`
	Workspace string `json:"workspace"`
}

// ProjectStatusCommand asks for a project by name or id.
type ProjectStatusCommand struct {
	Project string `json:"project"`
}

// ProjectEventsCommand asks for a project's history.
type ProjectEventsCommand struct {
	Project string  `json:"project"`
	After   *uint64 `json:"after" need:"N"`
}

// ProjectTasksCommand asks for a project's tasks.
type ProjectTasksCommand struct {
	Project string `json:"project"`
}

// ProjectReportCommand asks for everything about a project.
type ProjectReportCommand struct {
	Project string `json:"project"`
}

// ProjectTaskAdd adds a task.
type ProjectTaskAdd struct {
	Project    string       `json:"project"`
	Title      string       `json:"title"`
	DependsOn  List[string] `json:"depends_on"`
	MaxRetries uint32       `json:"max_retries"`
}

// ProjectTaskUpdate changes a task.
type ProjectTaskUpdate struct {
	Project  string            `json:"project"`
	Task     string            `json:"task"`
	Status   ProjectTaskStatus `json:"status"`
	Progress *string           `json:"progress" need:"N"`
}

// ProjectRunStart starts an attempt at a task.
type ProjectRunStart struct {
	Project string `json:"project"`
	Task    string `json:"task"`
	Agent   string `json:"agent"`
}

// ProjectRunProgress says how an attempt goes.
type ProjectRunProgress struct {
	Project  string `json:"project"`
	Run      string `json:"run"`
	Progress string `json:"progress"`
}

// ProjectRunFinish ends an attempt.
type ProjectRunFinish struct {
	Project string           `json:"project"`
	Run     string           `json:"run"`
	Status  ProjectRunStatus `json:"status"`
}

// ProjectHeartbeat says that a project is worked on.
type ProjectHeartbeat struct {
	Project string  `json:"project"`
	Task    *string `json:"task" need:"N"`
	Run     *string `json:"run" need:"N"`
}

// Action returns project_create.
func (ProjectCreate) Action() string { return "project_create" }

// Action returns project_status.
func (ProjectStatusCommand) Action() string { return "project_status" }

// Action returns project_events.
func (ProjectEventsCommand) Action() string { return "project_events" }

// Action returns project_tasks.
func (ProjectTasksCommand) Action() string { return "project_tasks" }

// Action returns project_report.
func (ProjectReportCommand) Action() string { return "project_report" }

// Action returns project_task_add.
func (ProjectTaskAdd) Action() string { return "project_task_add" }

// Action returns project_task_update.
func (ProjectTaskUpdate) Action() string { return "project_task_update" }

// Action returns project_run_start.
func (ProjectRunStart) Action() string { return "project_run_start" }

// Action returns project_run_progress.
func (ProjectRunProgress) Action() string { return "project_run_progress" }

// Action returns project_run_finish.
func (ProjectRunFinish) Action() string { return "project_run_finish" }

// Action returns project_heartbeat.
func (ProjectHeartbeat) Action() string { return "project_heartbeat" }
