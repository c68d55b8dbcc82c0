package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// An RPC is one JSON-RPC message of an agent: a request has Method and ID, a notice only Method, an answer only ID.
// Params and Result share the bytes of the line that it was read from.
type RPC struct {
	ID     json.RawMessage // as it was written: a number or a string; nil for none
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *RPCError
}

// An RPCError is why a request failed.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Codes of errors that JSON-RPC itself defines.
const (
	RPCUnreadable = -32700 // no message
	RPCNoMethod   = -32601 // the method is not offered
	RPCBadParams  = -32602 // its parameters are not what it takes
	RPCFailed     = -32603 // an error inside whoever was asked
)

// Raw is a JSON value left as it stands in the line that it was read from. Unlike json.RawMessage it is no copy, since a
// line may have MaxLine bytes: it is valid as long as the line is, so no state may keep it, and it is for reading only.
type Raw []byte

// UnmarshalJSON takes the value as it stands; it never fails.
func (r *Raw) UnmarshalJSON(data []byte) error {
	*r = data
	return nil
}

// longText is the length in bytes from which on a Text is read without another copy of it.
const longText = 1 << 20

// Text is what an agent may say any amount of in one JSON string. It is read as a string is, but a long one is never
// there twice beside its line, which may have MaxLine bytes. A value that is no string is no text, and left out.
type Text string

// UnmarshalJSON reads a JSON string; it never fails.
func (t *Text) UnmarshalJSON(data []byte) error {
	if len(data) < 2 || data[0] != '"' {
		return nil
	}
	if len(data) < longText {
		return json.Unmarshal(data, (*string)(t))
	}
	var whole strings.Builder
	whole.Grow(len(data))
	for rest := data[1 : len(data)-1]; len(rest) > 0; {
		n := textPart(rest)
		if err := writePart(&whole, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	*t = Text(whole.String())
	return nil
}

// textPart is the length of what can be read by itself at the start of the inside of a JSON string: a stretch without
// escapes, a simple escape, or all the \u that follow each other, since two of them may be one character.
func textPart(s []byte) int {
	if s[0] != '\\' {
		if n := bytes.IndexByte(s, '\\'); n > 0 {
			return n
		}
		return len(s)
	}
	n := 0
	for n+6 <= len(s) && s[n] == '\\' && s[n+1] == 'u' {
		n += 6
	}
	return max(n, min(2, len(s)))
}

// writePart appends what a part says. Only what is rare is left to the decoder, which makes copies.
func writePart(to *strings.Builder, part []byte) error {
	switch {
	case part[0] != '\\' && utf8.Valid(part):
		to.Write(part)
		return nil
	case len(part) == 2:
		if i := strings.IndexByte(`nt"\/r`, part[1]); i >= 0 {
			to.WriteByte("\n\t\"\\/\r"[i])
			return nil
		}
	}
	var text string
	err := json.Unmarshal(slices.Concat([]byte{'"'}, part, []byte{'"'}), &text)
	to.WriteString(text)
	return err
}

// ReadRPC reads a line as a message. It returns false for a line that is none: no JSON object, or one with neither
// method, id nor error.
func ReadRPC(line []byte) (RPC, bool) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params Raw             `json:"params"`
		Result Raw             `json:"result"`
		Error  *RPCError       `json:"error"`
	}
	if !bytes.HasPrefix(bytes.TrimLeft(line, " \t\r\n"), []byte("{")) || json.Unmarshal(line, &m) != nil {
		return RPC{}, false
	}
	if string(m.ID) == "null" {
		m.ID = nil
	}
	if m.Method == "" && m.ID == nil && m.Error == nil {
		return RPC{}, false
	}
	return RPC{ID: m.ID, Method: m.Method, Params: json.RawMessage(m.Params), Result: json.RawMessage(m.Result), Error: m.Error}, true
}

// Number returns the id as a number, which is what ids of ours are. It is false for any other id.
func (m RPC) Number() (uint64, bool) {
	var n uint64
	if m.ID == nil || json.Unmarshal(m.ID, &n) != nil {
		return 0, false
	}
	return n, true
}

// RequestLine returns a request of ours with n as its id. Version says whether the message names JSON-RPC 2.0, which
// some agents leave out.
func RequestLine(version bool, n uint64, method string, params any) []byte {
	return rpcLine(rpcOut{Version: rpcVersion(version), ID: n, Method: method, Params: params})
}

// NoticeLine returns a message that nobody answers.
func NoticeLine(version bool, method string, params any) []byte {
	return rpcLine(rpcOut{Version: rpcVersion(version), Method: method, Params: params})
}

// ResultLine returns the answer to a request of the agent, under its own id.
func ResultLine(version bool, id json.RawMessage, result any) []byte {
	if result == nil {
		result = json.RawMessage("null")
	}
	return rpcLine(rpcOut{Version: rpcVersion(version), ID: id, Result: result})
}

// ErrorLine refuses a request of the agent, under its own id.
func ErrorLine(version bool, id json.RawMessage, code int, message string) []byte {
	return rpcLine(rpcOut{Version: rpcVersion(version), ID: id, Error: &RPCError{Code: code, Message: message}})
}

type rpcOut struct {
	Version string    `json:"jsonrpc,omitempty"`
	ID      any       `json:"id,omitempty"`
	Method  string    `json:"method,omitempty"`
	Params  any       `json:"params,omitempty"`
	Result  any       `json:"result,omitempty"`
	Error   *RPCError `json:"error,omitempty"`
}

func rpcVersion(named bool) string {
	if named {
		return "2.0"
	}
	return ""
}

// rpcLine returns the message with its line feed, or nothing for one that is no JSON, such as an id that is none.
func rpcLine(m rpcOut) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(m) != nil {
		return nil
	}
	return out.Bytes()
}
