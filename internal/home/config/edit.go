package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"scv/internal/home"
)

// Starter is the text of a new configuration file.
const Starter = `# Settings of SCV. Every key has a default, so an empty file works.
# What is in force, and where it comes from: scv config show

# [policy]
# mode = "on-risk"      # auto, on-risk, always or read-only

# [agents.codex]
# command = "codex"     # name or path
# model = ""
`

// Set writes one key of config.toml in place and keeps everything else as it is, comments too. The value is what a
// person types: text without quotes, a number, true or false, a list as a,b or in TOML. A refusal is a *Problem.
func Set(h *home.Home, key, text string) error {
	f, ok := find(key)
	if !ok {
		return unknownKey(key)
	}
	if name, _, agent := agentKey(key); agent && !slices.Contains(agentNames(), name) && !ownNow(h, name) {
		return unknownKey(key)
	}
	v, err := f.parse(key, text)
	if err != nil {
		return err
	}
	path, data, err := current(h)
	if err != nil {
		return err
	}
	next := replace(data, key, encode(v))
	if err := proves(next, key, v); err != nil {
		return err
	}
	return write(path, next)
}

// Ensure makes a config.toml with a starter text when there is none, and returns the path to edit and whether it made
// the file.
func Ensure(h *home.Home) (path string, made bool, err error) {
	path, _, err = current(h)
	if err != nil {
		return "", false, err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, false, err
	}
	return path, true, write(path, Starter)
}

// ownNow reports whether config.toml describes an agent of the owner's of this name.
func ownNow(h *home.Home, name string) bool {
	l := readLayer(h.ConfigPath(), "config.toml", false)
	_, ok := l.values["agents."+name+".transport"]
	return ok
}

func unknownKey(key string) error {
	fix := "See all of them: scv config show --all"
	parts := strings.Split(key, ".")
	for i := range parts {
		known := below(strings.Join(parts[:i], "."))
		if i == 1 && parts[0] == "agents" {
			known = agentNames()
		}
		if slices.Contains(known, parts[i]) || slices.Contains(known, "*") {
			continue
		}
		if i == 1 && parts[0] == "agents" {
			fix = "Describe an agent of your own in its table first, with a transport and a command: scv config edit"
		}
		if near := Nearest(parts[i], known); near != "" {
			parts[i] = near
			fix = fmt.Sprintf("Did you mean %q?", strings.Join(parts, "."))
		}
		break
	}
	return &Problem{File: "config.toml", Key: key, Message: "no such key", Fix: fix}
}

// parse reads what a person typed as a value of the field.
func (f *field) parse(key, text string) (any, error) {
	bad := func(message, fix string) error {
		return &Problem{File: "config.toml", Key: key, Message: message, Fix: fix}
	}
	var raw any = text
	switch f.kind {
	case kindNumber:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, bad("must be a whole number", f.bounds())
		}
		raw = n
	case kindSwitch:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, bad("must be true or false", "Write true or false")
		}
		raw = b
	case kindList:
		list, err := parseList(text)
		if err != nil {
			return nil, bad("is not a list", `Write it as a,b or as ["a", "b"]`)
		}
		raw = list
	case kindMap:
		return nil, bad("is a table and cannot be set as one value", "Write it by hand: scv config edit")
	default:
	}
	v, message, fix := f.judge(raw)
	if message != "" {
		return nil, bad(message, fix)
	}
	return v, nil
}

func parseList(text string) ([]any, error) {
	list := []any{}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		var doc struct{ V []any }
		_, err := toml.Decode("V = "+text, &doc)
		return doc.V, err
	}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list, nil
}

// current reads the file to change: a link is followed, so that it stays a link.
func current(h *home.Home) (path, data string, err error) {
	path = h.ConfigPath()
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, "", nil
	}
	if err != nil {
		return "", "", &Problem{File: "config.toml", Message: "it cannot be read", Fix: "Move it away: mv " + home.Pretty(path) + " " + home.Pretty(path) + ".old"}
	}
	if _, err := toml.Decode(string(raw), &map[string]any{}); err != nil {
		l := layer{file: File{Layer: "config.toml"}}
		l.syntax(err)
		return "", "", join(l.faults)
	}
	return path, string(raw), nil
}

// replace puts a value into a text: over the old one, else at the end of its table, else in a new table at the end.
func replace(text, key, value string) string {
	places := scan(text)
	for _, e := range places.entries {
		if strings.Join(e.path, ".") == key {
			return text[:e.start] + value + text[e.end:]
		}
	}
	cut := strings.LastIndexByte(key, '.')
	table, name := key[:max(cut, 0)], key[cut+1:]
	line := name + " = " + value + "\n"
	if cut < 0 {
		return line + text
	}
	at := -1
	for _, head := range places.headers {
		if strings.Join(head.path, ".") == table {
			at = head.after
		}
	}
	if at < 0 {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if text != "" {
			text += "\n"
		}
		return text + "[" + table + "]\n" + line
	}
	for _, e := range places.entries {
		if len(e.path) > 1 && strings.Join(e.path[:len(e.path)-1], ".") == table && e.after > at {
			at = e.after
		}
	}
	if head := text[:at]; head != "" && !strings.HasSuffix(head, "\n") {
		line = "\n" + line
	}
	return text[:at] + line + text[at:]
}

// proves decodes the changed text and looks whether the key has the new value: an inline table, for one, defeats an
// edit by lines.
func proves(text, key string, want any) error {
	tree := map[string]any{}
	if _, err := toml.Decode(text, &tree); err == nil {
		var at any = tree
		for part := range strings.SplitSeq(key, ".") {
			table, _ := at.(map[string]any)
			at = table[part]
		}
		if list, ok := texts(at); ok {
			at = list
		}
		if reflect.DeepEqual(at, want) {
			return nil
		}
	}
	return &Problem{
		File: "config.toml", Key: key, Message: "cannot be changed without touching other lines; nothing was written",
		Fix: "Change it by hand: scv config edit",
	}
}

// write replaces a file whole, with mode 0600.
func write(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".config-*.toml")
	if err != nil {
		return fmt.Errorf("write %s: %w", home.Pretty(path), err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(home.FileMode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", home.Pretty(path), err)
	}
	return nil
}
