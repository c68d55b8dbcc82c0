package row

import (
	"strconv"

	"scv/internal/wire"
)

// A Steer is where a prompt stands that was sent into a running turn. Until that is decided its job is on no list: it
// becomes a queued job when the turn does not take it, and otherwise stays hidden for ever, as what was said inside the
// turn of another job.
type Steer struct {
	Run    wire.RunHandle `json:"run"`
	Turn   uint32         `json:"turn"`
	Into   wire.JobID     `json:"into"`            // whose turn it is
	Strict bool           `json:"strict,omitzero"` // refused, and not queued, when the turn does not take it
	Sent   bool           `json:"sent,omitzero"`   // it is in the spool of its run
	Held   bool           `json:"held,omitzero"`   // the agent's process has it, and its turn takes it at its next step
	Taken  bool           `json:"taken,omitzero"`  // the turn took it
	Why    string         `json:"why,omitempty"`   // it was refused, and why
}

// Hidden reports whether a job is on no list.
func (j *Job) Hidden() bool { return j.Dismissed || j.Steer != nil }

// SteerKey is the key of the message that carries a steer to its agent.
func SteerKey(id wire.JobID) string { return steerKey + strconv.FormatUint(id.Number(), 10) }

const steerKey = "steer:"

// SteerOf returns the job that a message's key names; false when it is no steer's.
func SteerOf(key string) (wire.JobID, bool) {
	if len(key) <= len(steerKey) || key[:len(steerKey)] != steerKey {
		return "", false
	}
	n, err := strconv.ParseUint(key[len(steerKey):], 10, 64)
	if err != nil || n == 0 {
		return "", false
	}
	return wire.NewJobID(n), true
}
