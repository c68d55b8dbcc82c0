package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Setting is one key as it is in force, for showing.
type Setting struct {
	Key    string
	Value  string // TOML; <hidden> for a secret
	Origin string // "config.toml:12", "SCV_CONFIG:3", "--policy flag" or "default"
	Inert  bool   // accepted, and does nothing in this version
}

// Settings lists every key that a layer sets, and with all those at their default that SCV uses, by name.
func (c *Config) Settings(all bool) []Setting {
	var out []Setting
	for _, key := range slices.Sorted(maps.Keys(c.values)) {
		s, _ := c.Setting(key)
		out = append(out, s)
	}
	if all {
		for _, f := range fields() {
			if _, set := c.values[f.name]; f.used && !set && f.old == "" && !strings.Contains(f.name, "*") {
				out = append(out, Setting{Key: f.name, Value: f.shownDefault(), Origin: "default"})
			}
		}
	}
	slices.SortFunc(out, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Setting returns one key as it is in force; false when there is no such key.
func (c *Config) Setting(key string) (Setting, bool) {
	f, ok := find(key)
	if !ok || !c.settable(key) {
		return Setting{}, false
	}
	v, set := c.values[key]
	if !set {
		return Setting{Key: key, Value: f.shownDefault(), Origin: "default", Inert: !f.used}, true
	}
	s := Setting{Key: key, Value: encode(v.v), Origin: v.origin, Inert: !f.used}
	if f.secret {
		s.Value = "<hidden>"
	}
	return s, true
}

// Hidden lists what the keys hold that are never shown, as NAME=VALUE: variables, headers, and keys of services by the
// last part of their name. Which of them are credentials is for the caller to judge by the name.
func (c *Config) Hidden() []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(c.values)) {
		if f, ok := find(key); !ok || !f.secret {
			continue
		}
		if text, is := c.values[key].v.(string); is {
			out = append(out, key[strings.LastIndexByte(key, '.')+1:]+"="+text)
		}
		table := c.table(key)
		for _, name := range slices.Sorted(maps.Keys(table)) {
			out = append(out, name+"="+table[name])
		}
	}
	return out
}

// Keys lists every key that may be set, for completion; * stands for a name.
func Keys() []string {
	var out []string
	for _, f := range fields() {
		if f.used && f.old == "" {
			out = append(out, f.name)
		}
	}
	return out
}

func (f *field) shownDefault() string {
	switch {
	case f.kind == kindText:
		return strconv.Quote(f.deflt)
	case f.kind == kindList:
		return "[]"
	case f.kind == kindMap:
		return "{}"
	}
	return f.deflt
}

// encode writes a value as TOML on one line.
func encode(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case []string:
		parts := make([]string, 0, len(v))
		for _, s := range v {
			parts = append(parts, quote(s))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, quote(name)+" = "+encode(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// quote writes a TOML basic string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
