package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"scv/internal/session/provider"
	"scv/internal/session/tool"
)

type read struct{ *Workspace }

type readArgs struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Limit  int    `json:"limit"`
}

// Spec implements tool.Tool.
func (read) Spec() provider.Tool {
	return provider.Tool{
		Name: "read", Description: "Read a text file of the workspace. The first line of the result names its size and hash.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"path":{"type":"string","description":"relative to the workspace"},` +
			`"offset":{"type":"integer","minimum":0,"description":"first byte"},` +
			`"limit":{"type":"integer","minimum":1,"description":"bytes at most"}},"required":["path"],"additionalProperties":false}`),
	}
}

// Parallel implements tool.Tool.
func (read) Parallel() bool { return true }

// Risk implements tool.Tool.
func (r read) Risk(args json.RawMessage) (tool.Assessment, error) {
	a, _, err := r.decode(args)
	return tool.Assessment{Risk: tool.ReadOnly, Summary: "read " + a.Path}, err
}

func (r read) decode(args json.RawMessage) (readArgs, string, error) {
	var a readArgs
	if err := tool.Decode(args, &a); err != nil {
		return a, "", err
	}
	if a.Offset < 0 || a.Limit < 0 {
		return a, "", invalid("offset and limit are not negative.")
	}
	path, err := r.local(a.Path)
	return a, path, err
}

// Run implements tool.Tool.
func (r read) Run(_ context.Context, args json.RawMessage, env tool.Env) tool.Result {
	a, path, err := r.decode(args)
	if err != nil {
		return tool.Failed(err)
	}
	file, info, err := r.open(path)
	if err != nil {
		return tool.Failed(err)
	}
	defer file.Close()
	room := r.bounds.Read
	if a.Limit > 0 {
		room = min(room, a.Limit)
	}
	if env.Limit > 0 {
		room = min(room, max(env.Limit-200, 1)) // the first line needs its place
	}
	data := make([]byte, room)
	n, err := file.ReadAt(data, a.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return tool.Failed(said(path, err))
	}
	data = whole(data[:n], a.Offset)
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return tool.Failed(failed("%s is not UTF-8 text.", path))
	}
	end := a.Offset + int64(len(data))
	head := fmt.Sprintf("[%s: bytes %d to %d of %d", path, a.Offset, end, info.Size())
	if a.Offset == 0 && end == info.Size() {
		head += ", hash " + hashOf(data)
	}
	return tool.Result{Text: head + "]\n" + string(data), Truncated: end < info.Size()}
}

// whole leaves out the parts of characters at both ends, which a cut makes.
func whole(data []byte, offset int64) []byte {
	for i := 0; offset > 0 && i < utf8.UTFMax-1 && len(data) > 0 && !utf8.RuneStart(data[0]); i++ {
		data = data[1:]
	}
	for back := 1; back < utf8.UTFMax && back <= len(data); back++ {
		if c := data[len(data)-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(data[len(data)-back:]) {
				data = data[:len(data)-back]
			}
			break
		}
	}
	return data
}
