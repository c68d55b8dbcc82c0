// Package provider is the model loop's view of a model service: what a request and its answer hold, and how a
// service is asked. One folder below it per service speaks to that service through the service's own library.
//
// The loop owns the conversation and every decision; a provider owns nothing between two calls, so that a session
// may change its provider between turns. A Provider is safe for concurrent use.
package provider

import (
	"context"
	"encoding/json"
	"time"
)

// A Provider asks one model service.
type Provider interface {
	// Stream sends the request and calls emit for each piece as it arrives, on the caller's goroutine and in
	// order, then returns the whole answer. It retries by itself only while nothing was emitted. An error is
	// always a *Fault; the answer beside it holds what had arrived.
	Stream(ctx context.Context, request Request, emit func(Piece)) (Answer, error)
	// Count tells how many tokens the request would use. exact is false when the service has no way to count and
	// the number is an estimate.
	Count(ctx context.Context, request Request) (tokens int, exact bool, err error)
}

// A Request is everything a model sees.
type Request struct {
	Model    string
	Effort   string // the service's own word, empty for its default
	System   string
	Messages []Message
	Tools    []Tool
	// MaxOutput bounds the answer in tokens; 0 leaves it to the service.
	MaxOutput int
	// Schema, when given, is the JSON schema that the final text must follow.
	Schema json.RawMessage
}

// A Role says whose words a message holds.
type Role string

// The roles of a message. A result belongs to the role Tool.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// A Message is one entry of the conversation. Its JSON is what the ledger keeps.
type Message struct {
	Role    Role     `json:"role"`
	Text    string   `json:"text,omitempty"`
	Images  []Image  `json:"images,omitempty"`  // of a user
	Calls   []Call   `json:"calls,omitempty"`   // of an assistant
	Results []Result `json:"results,omitempty"` // of tools, one for each call of the message before
	// Opaque is what a service wants to see again in its own answer (reasoning items, thought signatures), with
	// the name of the service that made it. Another service leaves it out.
	Opaque  json.RawMessage `json:"opaque,omitempty"`
	Service string          `json:"service,omitempty"`
}

// An Image is read from its file for each request, so that a history stays small. A file that is gone, too large
// or not an image is replaced by a sentence.
type Image struct {
	Path string `json:"path"`
	MIME string `json:"mime,omitempty"`
}

// A Tool is what the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // a JSON schema of type object
}

// A Call is one wish of the model to run a tool.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // as the model wrote it: it may not be JSON
}

// keptCall is a Call as it is kept: arguments that are not JSON would spoil the message around them.
type keptCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Text      string          `json:"arguments_text,omitempty"`
}

// MarshalJSON keeps arguments that are not JSON as a text of their own.
func (c Call) MarshalJSON() ([]byte, error) {
	k := keptCall{ID: c.ID, Name: c.Name}
	if json.Valid(c.Arguments) {
		k.Arguments = c.Arguments
	} else {
		k.Text = string(c.Arguments)
	}
	return json.Marshal(k)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Call) UnmarshalJSON(data []byte) error {
	var k keptCall
	if err := json.Unmarshal(data, &k); err != nil {
		return err
	}
	*c = Call{ID: k.ID, Name: k.Name, Arguments: k.Arguments}
	if k.Text != "" {
		c.Arguments = json.RawMessage(k.Text)
	}
	return nil
}

// A Result answers the call of the same id.
type Result struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

// A Piece is a part of an answer under way. One of its fields is set.
type Piece struct {
	Text     string // more of the answer
	Thinking string // more of a reasoning summary
	Retry    *Retry // the service was asked again
}

// A Retry says why a request is sent again and when.
type Retry struct {
	Attempt int // from 1
	After   time.Duration
	Why     string
}

// A Stop says why the model ended its answer.
type Stop string

// The ends of an answer.
const (
	StopEnd     Stop = "end"     // it is done
	StopCalls   Stop = "calls"   // it waits for tools
	StopLength  Stop = "length"  // the output bound was met
	StopRefused Stop = "refused" // the model or a filter of the service declined
)

// An Answer is one whole reply of the model.
type Answer struct {
	Message Message
	Stop    Stop
	Usage   Usage
}

// Usage counts the tokens of one request, as the service reports them. Cached are part of Input, Thinking of Output.
type Usage struct {
	Input    int `json:"input"`
	Output   int `json:"output"`
	Cached   int `json:"cached,omitempty"`
	Thinking int `json:"thinking,omitempty"`
}

// A Class is what went wrong, in the words that decide what to do next.
type Class string

// The classes of faults.
const (
	SignIn    Class = "sign-in"   // the key is missing, wrong or may not do this
	Limit     Class = "limit"     // a rate limit or quota; RetryAfter when the service says
	Context   Class = "context"   // the request does not fit the model's window
	Invalid   Class = "invalid"   // the service refused the request as it is
	Server    Class = "server"    // the service failed (5xx, overloaded)
	Network   Class = "network"   // not reached, cut off, or a stream that ended early
	Timeout   Class = "timeout"   // the profile's timeout passed
	Size      Class = "size"      // an answer over our bounds
	Cancelled Class = "cancelled" // the context was cancelled
)

// A Fault is a request that failed. Its sentence is one line of at most 300 characters with credentials masked.
type Fault struct {
	Class      Class
	Status     int // of HTTP, 0 when none
	RetryAfter time.Duration
	Sentence   string
	Err        error // the cause, for logs; its text is not masked
}

func (f *Fault) Error() string { return f.Sentence }

func (f *Fault) Unwrap() error { return f.Err }
