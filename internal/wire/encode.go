package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// List is a slice that is always written: nil as [], never as null. A plain slice literal is assignable to it.
type List[T any] []T

// MarshalJSON writes an array.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if len(l) == 0 {
		return []byte("[]"), nil
	}
	return marshal([]T(l))
}

// Encode writes v as one JSON value without a line feed, with <, > and & as they are. A ClientMessage, a
// ServerEvent and a Command get their tag first.
func Encode(v any) ([]byte, error) {
	switch m := v.(type) {
	case UnknownEvent:
		return nil, fmt.Errorf("an event of the unknown type %.40q cannot be written", m.Type)
	case ClientMessage:
		return marshalTagged("type", m.MessageType(), m)
	case ServerEvent:
		return marshalTagged("type", m.EventType(), m)
	case Command:
		return marshalTagged("action", m.Action(), m)
	}
	return marshal(v)
}

// MarshalJSON writes the message without its type, the command with its action.
func (m DaemonControl) MarshalJSON() ([]byte, error) {
	if m.Command == nil {
		return nil, fmt.Errorf("a daemon.control needs a command")
	}
	command, err := marshalTagged("action", m.Command.Action(), m.Command)
	if err != nil {
		return nil, err
	}
	return marshal(struct {
		RequestID RequestID       `json:"request_id"`
		Command   json.RawMessage `json:"command"`
	}{m.RequestID, command})
}

func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// marshalTagged writes v, which must be an object, with one more member in front. The tag is a plain word.
func marshalTagged(name, tag string, v any) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(`{"` + name + `":"` + tag + `"`)
	start := out.Len()
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	text := out.Bytes()
	if len(text) < start+3 || text[start] != '{' {
		return nil, fmt.Errorf("%T is not written as an object", v)
	}
	if text[start+1] == '}' {
		return bytes.TrimSuffix(append(text[:start], text[start+1:]...), []byte("\n")), nil
	}
	text[start] = ','
	return bytes.TrimSuffix(text, []byte("\n")), nil
}
