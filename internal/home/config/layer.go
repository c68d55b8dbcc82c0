package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/BurntSushi/toml"

	"scv/internal/home"
)

// A layer is one source of settings, flattened.
type layer struct {
	file     File
	values   map[string]value
	inert    []string // keys and tables that do nothing here
	faults   []*Problem
	warnings []*Problem
}

// A value is what one layer says of one key.
type value struct {
	v      any
	origin string
	line   int
}

// readLayer reads a file of the owner's. One that is absent is empty, unless it must exist.
func readLayer(path, name string, must bool) layer {
	l := layer{file: File{Path: path, Layer: name}, values: map[string]value{}}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if must {
			l.fault(0, "", fmt.Sprintf("the file %s does not exist", home.Pretty(path)), "Make it, or unset SCV_CONFIG")
		}
		return l
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		l.unreadable(err)
		return l
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		l.unreadable(err)
		return l
	}
	if l.trusted(info, path) {
		l.load(f)
		l.secrets(info, path)
	}
	return l
}

// readProject reads a workspace's own file. Links that lead out of the workspace are refused.
func readProject(dir string) layer {
	l := layer{file: File{Path: filepath.Join(dir, ".scv", "config.toml"), Layer: "project .scv/config.toml"}, values: map[string]value{}}
	root, err := os.OpenRoot(dir)
	if starved(err) { // its rules may be stricter, so nothing is done without them
		l.fault(0, "", noDescriptor, manyFiles)
		return l
	}
	if err != nil {
		return l
	}
	defer root.Close()
	f, err := root.OpenFile(".scv/config.toml", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return l
	}
	if starved(err) {
		l.fault(0, "", noDescriptor, manyFiles)
		return l
	}
	if err != nil {
		l.fault(0, "", "it cannot be opened inside the workspace", "Make it a plain file, or take the link away")
		return l
	}
	defer f.Close()
	l.file.Found = true
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		l.fault(0, "", "it is not a plain file", "Make it a plain file, or take it away")
		return l
	}
	l.load(f)
	return l
}

const (
	noDescriptor = "it cannot be read: there is no file descriptor left"
	manyFiles    = "Wait until less goes on, or allow more open files (ulimit -n) and restart"
)

// starved reports whether a file could not be opened for want of descriptors, which says nothing about the file.
func starved(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// flagLayer is what the command line sets.
func flagLayer(mode string) (layer, []*Problem) {
	l := layer{file: File{Layer: "--policy flag"}, values: map[string]value{}}
	if mode == "never" { // upstream's old word
		mode = "read-only"
	}
	f, _ := find("policy.mode")
	if _, message, fix := f.judge(mode); message != "" {
		return l, []*Problem{{File: "--policy", Key: "policy.mode", Message: message, Fix: fix}}
	}
	l.values["policy.mode"] = value{v: mode, origin: "--policy flag"}
	return l, nil
}

func (l *layer) fault(line int, key, message, fix string) {
	l.faults = append(l.faults, &Problem{File: l.file.Layer, Line: line, Key: key, Message: message, Fix: fix})
}

func (l *layer) warn(line int, key, message, fix string) {
	l.warnings = append(l.warnings, &Problem{File: l.file.Layer, Line: line, Key: key, Message: message, Fix: fix})
}

func (l *layer) unreadable(err error) {
	why := "it cannot be read"
	switch {
	case starved(err):
		l.fault(0, "", noDescriptor, manyFiles)
		return
	case errors.Is(err, fs.ErrPermission):
		why = "it cannot be read: permission denied"
	case errors.Is(err, fs.ErrNotExist):
		why = "it is a link to a file that does not exist"
	}
	l.fault(0, "", why, "Correct it or move it away: mv "+home.Pretty(l.file.Path)+" "+home.Pretty(l.file.Path)+".old")
}

// trusted refuses a file that is not plainly the owner's: who can change it can run commands as the owner.
func (l *layer) trusted(info fs.FileInfo, path string) bool {
	l.file.Found, l.file.Mode = true, fmt.Sprintf("%04o", info.Mode().Perm())
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		l.fault(0, "", "it is not a plain file", "Move it away: mv "+home.Pretty(path)+" "+home.Pretty(path)+".old")
	case ok && int(st.Uid) != os.Getuid():
		l.fault(0, "", fmt.Sprintf("it belongs to another user (uid %d)", st.Uid), "Make it yours: chown "+fmt.Sprint(os.Getuid())+" "+home.Pretty(path))
	case info.Mode().Perm()&0o022 != 0:
		l.fault(0, "", "other users may change it (mode "+l.file.Mode+")", "Read it through, then: chmod 600 "+home.Pretty(path))
	default:
		return true
	}
	return false
}

// secrets refuses a key in a file that others may read (security.md T51).
func (l *layer) secrets(info fs.FileInfo, path string) {
	if info.Mode().Perm()&0o077 == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(l.values)) {
		if f, _ := find(key); f.secret {
			l.fault(l.values[key].line, key, "a key in a file that other users may read (mode "+l.file.Mode+") is not used",
				"Make it private: chmod 600 "+home.Pretty(path))
			delete(l.values, key)
		}
	}
}

func (l *layer) load(f io.Reader) {
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		l.unreadable(err)
		return
	}
	if len(data) > MaxFileBytes {
		l.fault(0, "", "it is larger than 1 MiB", "Make it smaller")
		return
	}
	tree := map[string]any{}
	if _, err := toml.Decode(string(data), &tree); err != nil {
		l.syntax(err)
		return
	}
	places := scan(string(data))
	w := walk{layer: l, places: &places}
	w.table("", tree)
	l.ownOnly()
	l.mcpServers()
	slices.SortStableFunc(l.faults, func(a, b *Problem) int { return cmp.Compare(a.Line, b.Line) })
}

// syntax reports what the decoder refused by its line; the text itself may hold a secret and is not shown.
func (l *layer) syntax(err error) {
	e, ok := errors.AsType[toml.ParseError](err)
	if !ok {
		l.fault(0, "", "it is not valid TOML", "Write each line as: key = \"value\", below a [table]")
		return
	}
	message := "this line is not valid TOML"
	fix := "Write it as: key = value, with text in double quotes"
	if strings.Contains(e.Message, "already been defined") || strings.Contains(e.Message, "already exists") {
		message, fix = "this key or table is there twice", "Keep one of the two"
	}
	line := e.Position.Line
	if strings.Contains(e.Message, `'\n'`) { // found too early; the decoder already stands on the next line
		line--
	}
	l.fault(max(line, 1), e.LastKey, message, fix)
}

// walk judges a decoded tree and flattens it into its layer.
type walk struct {
	layer  *layer
	places *layout
}

func (w *walk) table(at string, tree map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		key := name
		if at != "" {
			key = at + "." + name
		}
		if at == "" && open(name) {
			w.layer.inert = append(w.layer.inert, name)
			w.layer.warn(w.places.lineOf(key), key, "this table is kept, and does nothing in SCV", "Leave it for upstream, or take it out")
			continue
		}
		if strings.ContainsRune(name, '.') { // a quoted name; nothing of ours has one
			w.unknown(at, key)
			continue
		}
		if f, ok := find(key); ok {
			w.leaf(key, &f, tree[name])
			continue
		}
		inner, ok := tree[name].(map[string]any)
		if len(below(key)) == 0 || at == "agents" && !slices.Contains(agentNames(), name) && !w.own(key, name, inner) {
			w.unknown(at, key)
			continue
		}
		if !ok {
			w.layer.fault(w.places.lineOf(key), key, "must be a table, and it is "+typeName(tree[name]), "Write it as: ["+key+"]")
			continue
		}
		w.table(key, inner)
	}
}

func (w *walk) leaf(key string, f *field, v any) {
	line := w.places.lineOf(key)
	out, message, fix := f.judge(v)
	if message == "" && strings.HasPrefix(key, "agents.claude.") && f.kind == kindList {
		message, fix = claudeArgs(out)
	}
	if message != "" {
		w.layer.fault(line, key, message, fix)
		return
	}
	if f.old != "" {
		key, out = w.renamed(key, f, out, line)
		if key == "" {
			return
		}
	}
	if !f.used {
		w.layer.inert = append(w.layer.inert, key)
		w.layer.warn(line, key, "this key is kept, and does nothing in this version of SCV", "Leave it for upstream, or take it out")
	}
	origin := w.layer.file.Layer
	if line > 0 {
		origin = fmt.Sprintf("%s:%d", origin, line)
	}
	w.layer.values[key] = value{v: out, origin: origin, line: line}
}

// renamed gives an old name's value under its new one; both in one file are a fault.
func (w *walk) renamed(key string, f *field, v any, line int) (string, any) {
	name := f.old
	if rest, ok := strings.CutPrefix(name, "agents.*."); ok {
		agent, _, _ := agentKey(key)
		name = "agents." + agent + "." + rest
	}
	if w.places.lineOf(name) > 0 && w.has(name) {
		w.layer.fault(line, key, "is the old name of "+name+", which is set as well", "Take the old line out")
		return "", nil
	}
	words := map[string]string{"full": "auto", "default": "on-risk", "never": "read-only"}
	if word, ok := words[v.(string)]; ok {
		v = word
	}
	w.layer.warn(line, key, "is an old name of "+name, fmt.Sprintf("Write it as: %s = %q", name, v))
	return name, v
}

func (w *walk) has(key string) bool {
	return slices.ContainsFunc(w.places.entries, func(e entry) bool { return strings.Join(e.path, ".") == key })
}

// unknown reports a key that nobody knows: an error where it could change what an agent may do, else a warning.
func (w *walk) unknown(table, key string) {
	name := strings.TrimPrefix(key, table+".")
	known := below(table)
	if table == "agents" {
		known = agentNames()
	}
	near := Nearest(name, slices.DeleteFunc(slices.Clone(known), func(s string) bool { return s == "*" }))
	line := w.places.lineOf(key)
	top, _, _ := strings.Cut(key, ".")
	if !strict(top) && !(table == "" && strict(near)) {
		fix := "Take it out, or leave it for another version"
		if near != "" {
			fix = fmt.Sprintf("Did you mean %q?", near)
		}
		w.layer.warn(line, key, "nothing of this name is known; it does nothing", fix)
		return
	}
	fix := "Take it out"
	if near != "" {
		fix = fmt.Sprintf("Did you mean %q?", near)
	} else if table == "agents" {
		fix = "Use one of " + strings.Join(known, ", ") + ownAgentFix
	} else if len(known) > 0 && len(known) < 20 {
		fix = "Use one of " + strings.Join(known, ", ")
	}
	message := "no such key"
	if table == "agents" {
		message = "no such agent"
	}
	w.layer.fault(line, key, message, fix)
}

// claudeArgs refuses flags by which a command line could undo what SCV sets (behaviour/config.md, agents.NAME).
func claudeArgs(v any) (string, string) {
	list, _ := v.([]string)
	for _, arg := range list {
		name, _, _ := strings.Cut(arg, "=")
		if slices.Contains([]string{"--settings", "--setting-sources", "--managed-settings", "--bare", "--hide-claude-auth"}, name) {
			return "holds " + name + ", which SCV sets itself", "Take it out"
		}
	}
	return "", ""
}
