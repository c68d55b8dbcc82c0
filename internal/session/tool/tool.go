// Package tool is what the model loop asks of a tool: what the model is told of it, how risky a call is, and the call
// itself. One folder below it per kind of tool; none of them knows the loop, the session or the policy, and the loop
// knows no tool by name.
//
// For each call the loop first calls Risk, which also checks the arguments, then asks the policy and if need be the
// owner, and then Run. A Tool is safe for concurrent use.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"scv/internal/session/provider"
	"scv/internal/wire"
)

// A Tool is something that the model may call.
type Tool interface {
	// Spec is what the model is told: a name of lower-case letters, digits and _, a description, and the JSON schema of
	// the arguments. It is the same for the whole life of the tool.
	Spec() provider.Tool
	// Parallel reports whether calls may run beside other calls of the same answer: only when they change nothing that
	// another call could see.
	Parallel() bool
	// Risk checks the arguments and judges them. It reads no more than file names and changes nothing. An error is a
	// *Failure, and the call is then not shown to anybody for approval.
	Risk(args json.RawMessage) (Assessment, error)
	// Run does the work. It returns when ctx ends, with what was done until then. The loop bounds and masks the text.
	Run(ctx context.Context, args json.RawMessage, env Env) Result
}

// A Risk is how much a call may do, in the words of the wire (behaviour of approvals: a mode decides by it).
type Risk string

// The risks.
const (
	ReadOnly   Risk = "read_only"
	Filesystem Risk = "filesystem"
	Process    Risk = "process"
	Delegate   Risk = "delegate"
	Network    Risk = "network"
)

// An Assessment is what one call would do.
type Assessment struct {
	Risk Risk
	// Summary is shown to the owner who decides: what exactly would happen, at most 4,000 bytes.
	Summary string
	// Command is the literal shell command, when the call runs one: some are refused in every mode.
	Command string
}

// An Env is what the session gives to a call.
type Env struct {
	Session wire.SessionID
	Turn    wire.TurnID
	Call    wire.CallID
	Dir     string // the workspace, resolved and absolute
	// Limit is how many bytes of text the model may get; a tool that can cut better than in the middle of a line does.
	Limit int
	// Progress shows what goes on. It never blocks; the loop passes on the newest text at most every 500 ms.
	Progress func(text string)
}

// A Result is what a call came to.
type Result struct {
	Text string
	// Error says why the call failed; empty when it did not. The text then says what happened and what to do.
	Error     wire.ToolErrorKind
	Truncated bool // the text is not all there is
	// Jobs are those that the call started or saw the end of.
	Jobs []wire.JobChange
}

// A Failure is a call that is refused before it runs.
type Failure struct {
	Kind     wire.ToolErrorKind
	Sentence string
}

func (f *Failure) Error() string { return f.Sentence }

// Failed is the result of a call that came to nothing for the reason of err: a *Failure keeps its kind, all else failed.
func Failed(err error) Result {
	if f, ok := errors.AsType[*Failure](err); ok {
		return Result{Text: f.Sentence, Error: f.Kind}
	}
	if errors.Is(err, context.Canceled) {
		return Result{Text: "The call was cancelled.", Error: wire.ToolCancelled}
	}
	return Result{Text: err.Error(), Error: wire.ToolErrorFailed}
}

// Decode reads the arguments of a call into a struct. Models invent fields and send broken JSON; either is a *Failure
// that tells the model what is wrong, so that it can call again. No arguments are an empty object.
func Decode(args json.RawMessage, into any) error {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return &Failure{wire.ToolInvalidArguments, fmt.Sprintf("The arguments cannot be read: %v. Call again with arguments that follow the schema.", err)}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &Failure{wire.ToolInvalidArguments, "More follows after the arguments' JSON object. Call again with one object."}
	}
	return nil
}
