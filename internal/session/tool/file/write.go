package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/session/provider"
	"scv/internal/session/tool"
)

type write struct{ *Workspace }

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Hash    string `json:"expected_hash"`
}

// absent is the hash of a file that must not be there yet.
const absent = "none"

// Spec implements tool.Tool.
func (write) Spec() provider.Tool {
	return provider.Tool{
		Name: "write", Description: "Create or replace a text file of the workspace in one step; folders are made. " +
			`With expected_hash, the hash that read told or "none" for a new file, nothing that changed meanwhile is lost.`,
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"path":{"type":"string","description":"relative to the workspace"},"content":{"type":"string"},` +
			`"expected_hash":{"type":"string"}},"required":["path","content"],"additionalProperties":false}`),
	}
}

// Parallel implements tool.Tool.
func (write) Parallel() bool { return false }

// Risk implements tool.Tool.
func (w write) Risk(args json.RawMessage) (tool.Assessment, error) {
	a, path, err := w.decode(args)
	return change("write", path, fmt.Sprintf("%s into", plain.Size(uint64(len(a.Content))))), err
}

// change is how much a change of a file may do.
func change(verb, path, what string) tool.Assessment {
	a := tool.Assessment{Risk: tool.Filesystem, Summary: fmt.Sprintf("%s %s %s", verb, what, plain.Line(path))}
	if sensitive(path) {
		a.Risk = tool.Process
		a.Summary += ", which programs run or believe"
	}
	return a
}

func (w write) decode(args json.RawMessage) (writeArgs, string, error) {
	var a writeArgs
	if err := tool.Decode(args, &a); err != nil {
		return a, "", err
	}
	if len(a.Content) > w.bounds.Write {
		return a, "", tooLarge("The content is larger than %s. Write it in parts with bash.", plain.Size(uint64(w.bounds.Write)))
	}
	path, err := w.local(a.Path)
	if err == nil && path == "." {
		err = invalid("path names the workspace itself, not a file.")
	}
	return a, path, err
}

// Run implements tool.Tool.
func (w write) Run(_ context.Context, args json.RawMessage, _ tool.Env) tool.Result {
	a, path, err := w.decode(args)
	if err != nil {
		return tool.Failed(err)
	}
	mode := fs.FileMode(0o644)
	switch info, err := w.root.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		if a.Hash != "" && a.Hash != absent {
			return tool.Failed(failed("%s does not exist any more.", path))
		}
	case err != nil:
		return tool.Failed(said(path, err))
	case !info.Mode().IsRegular():
		return tool.Failed(failed("%s is no plain file. Write to what a link names.", path))
	default:
		mode = info.Mode()
		if err := w.expect(path, a.Hash); err != nil {
			return tool.Failed(err)
		}
	}
	if err := w.replace(path, []byte(a.Content), mode); err != nil {
		return tool.Failed(err)
	}
	return tool.Result{Text: fmt.Sprintf("Wrote %s, %d bytes, hash %s.", path, len(a.Content), hashOf([]byte(a.Content)))}
}

// expect compares a file with the hash that the model saw.
func (w write) expect(path, hash string) error {
	switch hash {
	case "":
		return nil
	case absent:
		return failed("%s exists already. Read it first.", path)
	}
	data, err := w.root.ReadFile(path)
	if err != nil {
		return said(path, err)
	}
	if now := hashOf(data); now != hash {
		return failed("%s has changed: its hash is %s. Read it again.", path, now)
	}
	return nil
}

type edit struct{ *Workspace }

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
	All  bool   `json:"all"`
}

// Spec implements tool.Tool.
func (edit) Spec() provider.Tool {
	return provider.Tool{
		Name: "edit", Description: "Replace a piece of text in a file of the workspace. The old text must stand there exactly once, unless all is set.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"path":{"type":"string","description":"relative to the workspace"},"old":{"type":"string"},"new":{"type":"string"},` +
			`"all":{"type":"boolean"}},"required":["path","old","new"],"additionalProperties":false}`),
	}
}

// Parallel implements tool.Tool.
func (edit) Parallel() bool { return false }

// Risk implements tool.Tool.
func (e edit) Risk(args json.RawMessage) (tool.Assessment, error) {
	a, path, err := e.decode(args)
	what := fmt.Sprintf("%q to %q in", plain.FirstLine(a.Old, 120), plain.FirstLine(a.New, 120))
	return change("change", path, what), err
}

func (e edit) decode(args json.RawMessage) (editArgs, string, error) {
	var a editArgs
	if err := tool.Decode(args, &a); err != nil {
		return a, "", err
	}
	if a.Old == "" || a.Old == a.New {
		return a, "", invalid("old must be a text that differs from new; use write for a new file.")
	}
	path, err := e.local(a.Path)
	return a, path, err
}

// Run implements tool.Tool.
func (e edit) Run(_ context.Context, args json.RawMessage, _ tool.Env) tool.Result {
	a, path, err := e.decode(args)
	if err != nil {
		return tool.Failed(err)
	}
	if info, err := e.root.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return tool.Failed(failed("%s is a link. Edit what it names.", path))
	}
	data, info, err := e.text(path)
	if err != nil {
		return tool.Failed(err)
	}
	count := strings.Count(string(data), a.Old)
	switch {
	case count == 0:
		return tool.Failed(failed("The old text does not stand in %s. Read the file and copy it exactly.", path))
	case count > 1 && !a.All:
		return tool.Failed(failed("The old text stands %d times in %s. Take more of what is around it, or set all.", count, path))
	}
	changed := strings.ReplaceAll(string(data), a.Old, a.New)
	if len(changed) > e.bounds.Write {
		return tool.Failed(tooLarge("%s would be larger than %s.", path, plain.Size(uint64(e.bounds.Write))))
	}
	if err := e.replace(path, []byte(changed), info.Mode()); err != nil {
		return tool.Failed(err)
	}
	return tool.Result{Text: fmt.Sprintf("Changed %d places in %s, hash %s.", count, path, hashOf([]byte(changed)))}
}
