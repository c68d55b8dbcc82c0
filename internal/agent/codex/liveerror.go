package codex

import (
	"encoding/json"

	"scv/internal/agent"
	"scv/internal/wire"
)

// turnError is what codex says went wrong.
type turnError struct {
	Message string    `json:"message"`
	Details string    `json:"additionalDetails"`
	Info    errorInfo `json:"codexErrorInfo"`
}

// errorInfo is the kind of an error: a word, or an object whose one key is the word.
type errorInfo struct {
	Word   string
	Status int // of HTTP, when the service answered with one
}

// UnmarshalJSON reads both forms; any other is an unknown kind.
func (e *errorInfo) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &e.Word) == nil {
		return nil
	}
	var kinds map[string]struct {
		Status int `json:"httpStatusCode"`
	}
	if json.Unmarshal(data, &kinds) != nil {
		return nil
	}
	for word, more := range kinds {
		if e.Word == "" || word < e.Word {
			e.Word, e.Status = word, more.Status
		}
	}
	return nil
}

func (e turnError) text() string {
	if e.Details == "" || e.Details == e.Message {
		return e.Message
	}
	return e.Message + ": " + e.Details
}

// class says what kind of failure an error is.
func (e turnError) class() agent.Class {
	if class := agent.ClassForStatus(e.Info.Status); class != agent.ClassNone {
		return class
	}
	switch e.Info.Word {
	case "usageLimitExceeded", "rateLimitExceeded", "sessionBudgetExceeded":
		return agent.ClassQuota
	case "unauthorized":
		return agent.ClassAuth
	case "contextWindowExceeded", "tooManyDenials":
		return agent.ClassLimit
	case "cyberPolicy", "bioPolicy", "misalignmentPolicyViolation":
		return agent.ClassRefusal
	case "serverOverloaded", "modelNotFound", "internalServerError", "flexUnavailable", "policyCapacityUnavailable", "badRequest":
		return agent.ClassModel
	}
	class := classOf(e.text())
	if class == agent.ClassAgent && (e.Info.Word == "httpConnectionFailed" || e.Info.Word == "responseStreamConnectionFailed" || e.Info.Word == "responseStreamDisconnected") {
		return agent.ClassNetwork
	}
	return class
}

// failed settles the turn by what codex said went wrong.
func (s *liveState) failed(e turnError) []agent.Fact {
	o := agent.Outcome{State: wire.StateFailed, Class: e.class(), Error: e.text()}
	o.Detail = agent.Explain(o.Class, "codex", signIn, o.Error)
	switch o.Class {
	case agent.ClassRefusal:
		o.State = wire.StateDeclined
	case agent.ClassQuota:
		o.Resets = s.Resets
	}
	return s.over(o)
}
