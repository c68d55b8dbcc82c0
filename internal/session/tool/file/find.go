package file

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"scv/internal/safe/plain"
	"scv/internal/session/provider"
	"scv/internal/session/tool"
)

// How much list and search look at and tell.
const (
	maxEntries   = 1000
	maxHits      = 200
	maxLine      = 300 // characters of a hit
	maxSearched  = 4 << 20
	maxLookedAt  = 100_000 // files and folders of one search
	longestMatch = 1000    // bytes of a pattern
)

// errEnough ends a walk that has found as much as it may tell.
var errEnough = errors.New("enough was found")

type list struct{ *Workspace }

type listArgs struct {
	Path  string `json:"path"`
	Depth int    `json:"depth"`
}

// Spec implements tool.Tool.
func (list) Spec() provider.Tool {
	return provider.Tool{
		Name: "list", Description: "List a folder of the workspace; folders end with /. depth goes further down (1 to 5).",
		Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},` +
			`"depth":{"type":"integer","minimum":1,"maximum":5}},"additionalProperties":false}`),
	}
}

// Parallel implements tool.Tool.
func (list) Parallel() bool { return true }

// Risk implements tool.Tool.
func (l list) Risk(args json.RawMessage) (tool.Assessment, error) {
	_, at, err := l.decode(args)
	return tool.Assessment{Risk: tool.ReadOnly, Summary: "list " + at}, err
}

func (l list) decode(args json.RawMessage) (listArgs, string, error) {
	a := listArgs{Depth: 1}
	if err := tool.Decode(args, &a); err != nil {
		return a, "", err
	}
	if a.Depth < 1 || a.Depth > 5 {
		return a, "", invalid("depth is from 1 to 5.")
	}
	at, err := l.local(a.Path)
	return a, filepath.ToSlash(at), err
}

// Run implements tool.Tool.
func (l list) Run(ctx context.Context, args json.RawMessage, _ tool.Env) tool.Result {
	a, at, err := l.decode(args)
	if err != nil {
		return tool.Failed(err)
	}
	var out strings.Builder
	told := 0
	err = fs.WalkDir(l.root.FS(), at, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == at:
			return err
		case err != nil || name == at:
			return nil // a folder that cannot be read is listed and passed over
		case told == maxEntries:
			return errEnough
		}
		told++
		below := strings.TrimPrefix(strings.TrimPrefix(name, at), "/")
		if at == "." {
			below = name
		}
		out.WriteString(plain.Line(below))
		if d.IsDir() {
			out.WriteByte('/')
		}
		out.WriteByte('\n')
		if d.IsDir() && (d.Name() == ".git" || strings.Count(below, "/")+1 >= a.Depth) {
			return fs.SkipDir
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		fmt.Fprintf(&out, "[only the first %d are listed]\n", maxEntries)
		return tool.Result{Text: out.String(), Truncated: true}
	case errors.Is(err, context.Canceled):
		return tool.Failed(err)
	case err != nil:
		return tool.Failed(said(at, err))
	case told == 0:
		return tool.Result{Text: "The folder is empty."}
	}
	return tool.Result{Text: out.String()}
}

type search struct{ *Workspace }

type searchArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
}

// Spec implements tool.Tool.
func (search) Spec() provider.Tool {
	return provider.Tool{
		Name: "search", Description: "Find lines that match a regular expression (RE2) in the text files of the workspace, as path:line: text. " +
			"glob narrows by file name, as *.go.",
		Schema: json.RawMessage(`{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"},` +
			`"glob":{"type":"string"}},"required":["pattern"],"additionalProperties":false}`),
	}
}

// Parallel implements tool.Tool.
func (search) Parallel() bool { return true }

// Risk implements tool.Tool.
func (s search) Risk(args json.RawMessage) (tool.Assessment, error) {
	a, at, _, err := s.decode(args)
	return tool.Assessment{Risk: tool.ReadOnly, Summary: fmt.Sprintf("search for %q in %s", plain.FirstLine(a.Pattern, 200), at)}, err
}

func (s search) decode(args json.RawMessage) (searchArgs, string, *regexp.Regexp, error) {
	var a searchArgs
	if err := tool.Decode(args, &a); err != nil {
		return a, "", nil, err
	}
	if a.Pattern == "" || len(a.Pattern) > longestMatch {
		return a, "", nil, invalid("pattern has 1 to %d bytes.", longestMatch)
	}
	match, err := regexp.Compile(a.Pattern)
	if err != nil {
		return a, "", nil, invalid("The pattern is no regular expression: %v.", err)
	}
	if _, err := path.Match(a.Glob, "x"); err != nil {
		return a, "", nil, invalid("The glob %q cannot be read.", a.Glob)
	}
	at, err := s.local(a.Path)
	return a, filepath.ToSlash(at), match, err
}

// Run implements tool.Tool.
func (s search) Run(ctx context.Context, args json.RawMessage, env tool.Env) tool.Result {
	a, at, match, err := s.decode(args)
	if err != nil {
		return tool.Failed(err)
	}
	h := hits{search: s, match: match}
	looked := 0
	err = fs.WalkDir(s.root.FS(), at, func(name string, d fs.DirEntry, err error) error {
		switch looked++; {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == at:
			return err
		case err != nil:
			return nil // what cannot be read is passed over
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case looked > maxLookedAt:
			return errEnough
		case !d.Type().IsRegular():
			return nil
		}
		if ok, _ := path.Match(a.Glob, d.Name()); a.Glob != "" && !ok { // the glob was tried before
			return nil
		}
		if looked%500 == 0 && env.Progress != nil {
			env.Progress(fmt.Sprintf("%d files looked at, %d lines found", looked, h.count))
		}
		return h.file(name)
	})
	switch {
	case errors.Is(err, errEnough):
		fmt.Fprintf(&h.out, "[only the first %d lines are shown; narrow the search]\n", h.count)
		return tool.Result{Text: h.out.String(), Truncated: true}
	case errors.Is(err, context.Canceled):
		return tool.Failed(err)
	case err != nil:
		return tool.Failed(said(at, err))
	case h.count == 0:
		return tool.Result{Text: "Nothing matches."}
	}
	return tool.Result{Text: h.out.String()}
}

// hits gathers the lines of one search.
type hits struct {
	search
	match *regexp.Regexp
	out   strings.Builder
	count int
}

// file looks through one file. Files that are large, binary or gone meanwhile are passed over.
func (h *hits) file(name string) error {
	file, info, err := h.open(filepath.FromSlash(name))
	if err != nil || info.Size() > maxSearched {
		if err == nil {
			_ = file.Close() // was only read
		}
		return nil
	}
	defer file.Close()
	in := bufio.NewReader(file)
	if head, _ := in.Peek(512); bytes.IndexByte(head, 0) >= 0 { // what could not be read has no hit
		return nil
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxSearched+1)
	for number := 1; lines.Scan(); number++ {
		if !h.match.Match(lines.Bytes()) {
			continue
		}
		if h.count == maxHits {
			return errEnough
		}
		h.count++
		fmt.Fprintf(&h.out, "%s:%d: %s\n", plain.Line(name), number, plain.FirstLine(lines.Text(), maxLine))
	}
	return nil
}
