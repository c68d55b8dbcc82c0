package keys

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Remap gives keys of the dashboard other keys. The zero value changes nothing.
type Remap struct {
	to    map[string]string // the key that is pressed -> the one that it stands for
	moved map[string]string // the one that it stands for -> the key that is pressed
}

// NewRemap reads a table of keys, each with the key that is to stand for it; bound are the keys that the dashboard has.
// Names that are no keys are those of other programs that read the same table, and are left alone. The error names all
// that is wrong, and the keys are then as they come.
func NewRemap(table map[string]string, bound []string) (Remap, error) {
	r := Remap{to: map[string]string{}, moved: map[string]string{}}
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf("tui.keys: "+format, args...)) }
	names := slices.Sorted(maps.Keys(table))
	names = slices.DeleteFunc(names, func(name string) bool { return !Named(name) })
	for _, name := range names {
		key := table[name]
		switch {
		case !slices.Contains(bound, name):
			bad("%s does nothing in the dashboard, so no other key can stand for it", name)
		case fixed(name):
			bad("%s stays what it is", name)
		case !Named(key):
			bad("%q for %s is no key: one character, or a name such as ctrl-g, alt-x, f5, home", key, name)
		case fixed(key):
			bad("%s stays what it is, and cannot stand for %s", key, name)
		case r.to[key] != "":
			bad("%s cannot stand for both %s and %s", key, r.to[key], name)
		default:
			r.to[key], r.moved[name] = name, key
		}
	}
	for _, name := range names {
		if key := table[name]; r.moved[name] == key && slices.Contains(bound, key) && r.moved[key] == "" {
			bad("%s means something already; give that another key too, or take another one for %s", key, name)
		}
	}
	if len(wrong) > 0 {
		return Remap{}, errors.Join(wrong...)
	}
	return r, nil
}

// fixed are the keys that answer, leave and go on: one must be able to rely on them.
func fixed(name string) bool {
	return slices.Contains([]string{"y", "enter", "esc", "space", "ctrl-c", "ctrl-z", "up", "down", "left", "right", "tab", "shift-tab", "backspace"}, name)
}

// Named reports whether a name is one of a key.
func Named(name string) bool {
	if len([]rune(name)) == 1 {
		return name > " " && name != "\x7f"
	}
	for _, with := range []string{"ctrl-", "alt-"} {
		if rest, ok := strings.CutPrefix(name, with); ok {
			return len([]rune(rest)) == 1 || Named(rest)
		}
	}
	return name == "shift-tab" || plainKey(name) != "" || sequence(name, 1, false) != ""
}

// Means is the key that a pressed one stands for; empty for one that was given away.
func (r Remap) Means(name string) string {
	if to := r.to[name]; to != "" {
		return to
	}
	if r.moved[name] != "" {
		return ""
	}
	return name
}

// Shown is the key to press for one of the dashboard's.
func (r Remap) Shown(name string) string {
	if key := r.moved[name]; key != "" {
		return key
	}
	return name
}

// Hint is a line that says what keys do, such as "enter open  n new", with the keys to press: two blanks part what it says, and
// names of keys stand before the other words of each part.
func (r Remap) Hint(line string) string {
	if len(r.moved) == 0 {
		return line
	}
	parts := strings.Split(line, "  ")
	for i, part := range parts {
		words := strings.Split(part, " ")
		for j := 0; j < len(words) && Named(words[j]); j++ {
			words[j] = r.Shown(words[j])
		}
		parts[i] = strings.Join(words, " ")
	}
	return strings.Join(parts, "  ")
}
