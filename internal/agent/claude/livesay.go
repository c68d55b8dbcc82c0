package claude

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"scv/internal/agent"
)

// Keys of our own requests beside the shared ones; each is followed by what makes it one of a kind.
const (
	keyHello = "initialize"
	keyTune  = "tune:" // turn and step
	keyStop  = "stop:" // task
)

// Next says what should be written now. What claude is told about a turn's settings stands before its prompt, and the
// tasks of a cancelled turn are stopped before the turn is, so that none of them wakes claude later.
func (d *live) Next(w agent.Wishes, n uint64) (agent.Message, bool) {
	s := &d.state
	if s.Ready && !s.Useless && !s.Gone && s.Broken == "" && len(s.Owed) == 0 {
		switch {
		case s.Active && w.Cancel == s.Turn:
			for _, task := range s.tasks() {
				if key := keyStop + task; !s.Sent(key) {
					return agent.Message{Key: key, Bytes: request(n, stopTask{"stop_task", task})}, true
				}
			}
		case !s.Active && w.Turn != nil && !s.Sent(w.Turn.Key) && w.Cancel != w.Turn.Number:
			if len(s.Pending) > 0 {
				return agent.Message{}, false // an interrupt that claude has not read could hit the next turn
			}
			if m, ok := d.tune(*w.Turn, n); ok {
				return m, true
			}
		}
	}
	return s.Next(w, n, d)
}

// tune tells claude what a turn may do and how it should work, where that is not what it was told last.
func (d *live) tune(t agent.Turn, n uint64) (agent.Message, bool) {
	step := fmt.Sprintf("%s%d:", keyTune, t.Number)
	flags := applyFlags{"apply_flag_settings", encode(flagsOf(d.settings, t))}
	if key := step + "flags"; !bytes.Equal(flags.Settings, d.state.Tuned.Flags) && !d.state.Sent(key) {
		return agent.Message{Key: key, Bytes: request(n, flags)}, true
	}
	mode := setMode{"set_permission_mode", limitsOf(t.Mode).mode}
	if key := step + "mode"; mode.Mode != d.state.Tuned.Mode && !d.state.Sent(key) {
		return agent.Message{Key: key, Bytes: request(n, mode)}, true
	}
	return agent.Message{}, false
}

// Requests of ours.
type (
	initialize struct {
		Subtype string `json:"subtype"`
	}
	interrupt struct {
		Subtype string `json:"subtype"`
		Queued  bool   `json:"cancel_queued"` // what waits in the queue is dropped too: else it would begin a turn of its own
	}
	stopTask struct {
		Subtype string `json:"subtype"`
		Task    string `json:"task_id"`
	}
	applyFlags struct {
		Subtype  string          `json:"subtype"`
		Settings json.RawMessage `json:"settings"`
	}
	setMode struct {
		Subtype string `json:"subtype"`
		Mode    string `json:"mode"`
	}
)

// request is a line that asks claude for something under the number of its message.
func request(n uint64, body any) []byte {
	return lineOf(struct {
		Type string `json:"type"`
		ID   string `json:"request_id"`
		Body any    `json:"request"`
	}{"control_request", strconv.FormatUint(n, 10), body})
}

// response is what a line of ours answers; exactly one of Response and Error is set.
type response struct {
	Subtype  string `json:"subtype"`
	ID       string `json:"request_id"`
	Response any    `json:"response,omitempty"`
	Error    string `json:"error,omitempty"`
}

func responseLine(r response) []byte {
	return lineOf(struct {
		Type     string   `json:"type"`
		Response response `json:"response"`
	}{"control_response", r})
}

// decision answers a call of a tool. Claude keeps the input that it asked with, so an allowed call runs as it was shown.
type decision struct {
	Behavior string `json:"behavior"`
	Message  string `json:"message,omitempty"`
}

// Handshake asks claude what it is; that it answers shows that it can be spoken to.
func (d *live) Handshake(_ agent.Wishes, n uint64) (agent.Message, bool) {
	key := agent.HelloKey(keyHello)
	return agent.Message{Key: key, Bytes: request(n, initialize{"initialize"})}, !d.state.Sent(key)
}

// Prompt is the line that begins a turn.
func (d *live) Prompt(t agent.Turn, _ uint64) []byte {
	return userLine(t.Prompt, uuid(string(t.Run), t.Key), "")
}

// Steer is a line for the running turn; it waits until claude has begun the turn, and is none for a claude that tells
// nothing of the fate of a line.
func (d *live) Steer(s agent.Steer, _ uint64) []byte {
	if !d.state.Taken {
		return nil
	}
	return userLine(s.Text, uuid(d.state.Prompt, s.Key), "next")
}

// Answer allows or refuses a call.
func (d *live) Answer(a agent.Answer, q agent.Asked) []byte {
	what := decision{Behavior: "allow"}
	if !a.Approved {
		what = decision{"deny", agent.Choose(strings.TrimSpace(a.Reason), "the owner refused this call")}
	}
	return responseLine(response{Subtype: "success", ID: q.Request, Response: what})
}

// Cancel interrupts what runs.
func (d *live) Cancel(n uint64) []byte { return request(n, interrupt{"interrupt", true}) }

// Withdraw says nothing: claude withdraws by itself what it asked in an interrupted turn.
func (d *live) Withdraw(agent.Asked) []byte { return nil }

// userLine is one line of the user; uuid and priority may be empty.
func userLine(prompt, uuid, priority string) []byte {
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type message struct {
		Role    string `json:"role"`
		Content []text `json:"content"`
	}
	return lineOf(struct {
		Type     string  `json:"type"`
		Message  message `json:"message"`
		UUID     string  `json:"uuid,omitempty"`
		Priority string  `json:"priority,omitempty"`
	}{"user", message{"user", []text{{"text", prompt}}}, uuid, priority})
}

// lineOf is a value of strings, booleans and JSON as one line, which cannot fail; a line that is no JSON ends claude.
func lineOf(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v)
	return out.Bytes()
}

// encode is such a value as JSON.
func encode(v any) json.RawMessage { return bytes.TrimSuffix(lineOf(v), []byte("\n")) }

// uuid names a line by what it is: a second copy of it has the same one, and claude drops that.
func uuid(parts ...string) string {
	h := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // version 8: made of a hash of our own
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
