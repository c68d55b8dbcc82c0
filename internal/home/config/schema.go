package config

import (
	"fmt"
	"slices"
	"strings"
)

type kind uint8

const (
	kindText kind = iota + 1
	kindNumber
	kindSwitch
	kindList
	kindMap
	kindAmount
)

func (k kind) String() string {
	switch k {
	case kindText:
		return "text in quotes"
	case kindNumber:
		return "a whole number"
	case kindSwitch:
		return "true or false"
	case kindList:
		return "a list of texts"
	case kindAmount:
		return "a sum of US dollars, at least 0"
	default:
	}
	return "a table of texts"
}

// project says what a project's file may do with a key.
type project uint8

const (
	projectFree project = iota
	projectNever
	projectLower
	projectRaise
	projectOff
	projectMode
)

// A field is one key that a file may hold.
type field struct {
	name     string // dotted; * stands for a name of the owner's
	kind     kind
	deflt    string // as it is shown
	number   int64  // default of a number
	min, max int64  // of a number; max 0 for none
	words    []string
	project  project
	used     bool // it does something in this version
	secret   bool
	old      string // of an old name: the key that it stands for
	check    func(v any) (message, fix string)
}

// find returns the field that a dotted key names.
func find(key string) (field, bool) {
	parts := strings.Split(key, ".")
	for _, f := range fields() {
		if matches(f.name, parts) {
			return f, true
		}
	}
	return field{}, false
}

func matches(pattern string, parts []string) bool {
	for i := 0; ; i++ {
		head, rest, more := strings.Cut(pattern, ".")
		if i >= len(parts) || head != "*" && head != parts[i] {
			return false
		}
		if !more {
			return i == len(parts)-1
		}
		pattern = rest
	}
}

// below lists what may stand under a table, by its dotted name: the names one level down, "*" for any.
func below(table string) []string {
	var out []string
	parts := strings.Split(table, ".")
	if table == "" {
		parts = nil
	}
	for _, f := range fields() {
		at := strings.Split(f.name, ".")
		if len(at) <= len(parts) || !matchesPrefix(at, parts) {
			continue
		}
		if next := at[len(parts)]; !slices.Contains(out, next) {
			out = append(out, next)
		}
	}
	return out
}

func matchesPrefix(pattern, parts []string) bool {
	for i, p := range parts {
		if pattern[i] != "*" && pattern[i] != p {
			return false
		}
	}
	return true
}

// judge checks a value against its field. What it says never holds the value.
func (f *field) judge(v any) (out any, message, fix string) {
	wrong := func() (any, string, string) {
		return nil, fmt.Sprintf("must be %s, and it is %s", f.kind, typeName(v)), f.example()
	}
	switch f.kind {
	case kindText:
		s, ok := v.(string)
		if !ok {
			return wrong()
		}
		if len(f.words) > 0 && !slices.Contains(f.words, s) {
			fix := "Choose one of " + strings.Join(f.words, ", ")
			if near := Nearest(s, f.words); near != "" {
				fix = fmt.Sprintf("Did you mean %q? It is one of %s", near, strings.Join(f.words, ", "))
			}
			return nil, "is not a value that it can have", fix
		}
		out = s
	case kindNumber:
		n, ok := v.(int64)
		if !ok {
			return wrong()
		}
		if n < f.min || f.max > 0 && n > f.max {
			return nil, "is out of its bounds", f.bounds()
		}
		out = n
	case kindSwitch:
		b, ok := v.(bool)
		if !ok {
			return wrong()
		}
		out = b
	case kindList:
		list, ok := texts(v)
		if !ok {
			return wrong()
		}
		out = list
	case kindAmount:
		var ok bool
		if out, ok = dollars(v); !ok {
			return wrong()
		}
	case kindMap:
		table, ok := textTable(v)
		if !ok {
			return wrong()
		}
		out = table
	}
	if f.check != nil {
		if message, fix := f.check(out); message != "" {
			return nil, message, fix
		}
	}
	return out, "", ""
}

func (f *field) bounds() string {
	if f.max > 0 {
		return fmt.Sprintf("Use a number from %d to %d", f.min, f.max)
	}
	return fmt.Sprintf("Use a number of at least %d", f.min)
}

func (f *field) example() string {
	name := f.name[strings.LastIndexByte(f.name, '.')+1:]
	switch f.kind {
	case kindText:
		if len(f.words) > 0 {
			return fmt.Sprintf("Write it as: %s = %q", name, f.words[0])
		}
		return fmt.Sprintf("Write it as: %s = \"...\"", name)
	case kindNumber:
		return fmt.Sprintf("Write it as: %s = %d", name, f.number)
	case kindSwitch:
		return fmt.Sprintf("Write it as: %s = true", name)
	case kindAmount:
		return fmt.Sprintf("Write it as: %s = 5 or %s = 2.50", name, name)
	case kindList:
		return fmt.Sprintf("Write it as: %s = [\"...\"]", name)
	default:
	}
	return fmt.Sprintf("Write it as: [%s], and below it one line for each entry", f.name)
}

func textTable(v any) (map[string]any, bool) {
	table, ok := v.(map[string]any)
	for _, one := range table {
		if _, text := one.(string); !text {
			return nil, false
		}
	}
	return table, ok
}

func dollars(v any) (float64, bool) {
	n, ok := v.(float64)
	if whole, is := v.(int64); is {
		n, ok = float64(whole), true
	}
	return n, ok && n >= 0 && n <= 1e9
}

func texts(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]string, 0, len(list))
	for _, one := range list {
		s, ok := one.(string)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

func typeName(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	case []any, []map[string]any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}
