package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"scv/internal/home/config"
	"scv/internal/safe/plain"
)

// A layout is a text with fields in it, of --template and of scv status --format:
//
//	{field}        the field's value; a dot goes into it: {usage.cost_usd}
//	{field?text}   the text, which may hold fields, when the field is neither empty, 0 nor false
//	\n \t \{ \}    a line feed, a tab, the sign itself
type layout []layoutPart

// A layoutPart is a literal text, a field, or a text under the condition of a field.
type layoutPart struct {
	literal string
	path    []string // of a field
	then    layout   // non-nil: it is the condition of this
}

// parseLayout reads a layout. The fields must be among the known ones, unless none are given.
func parseLayout(text string, known []string) (layout, error) {
	out, rest, err := parseParts(text, known, false)
	if err == nil && rest != "" {
		err = usage(`write \} for the sign itself`, "a } without its { at %q", rest)
	}
	return out, err
}

func parseParts(text string, known []string, inside bool) (layout, string, error) {
	out := layout{}
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			out = append(out, layoutPart{literal: b.String()})
			b.Reset()
		}
	}
	for text != "" {
		c := text[0]
		switch {
		case c == '\\' && len(text) > 1:
			b.WriteString(unescaped(text[1]))
			text = text[2:]
		case c == '}':
			flush()
			return out, text, nil
		case c == '{':
			flush()
			part, rest, err := parseField(text[1:], known)
			if err != nil {
				return nil, "", err
			}
			out, text = append(out, part), rest
		default:
			b.WriteByte(c)
			text = text[1:]
		}
	}
	if inside {
		return nil, "", usage(`end the field with }, or write \{ for the sign itself`, "a { has no }")
	}
	flush()
	return out, "", nil
}

func unescaped(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 't':
		return "\t"
	}
	return string(c)
}

// parseField reads what stands behind a {, up to its }.
func parseField(text string, known []string) (layoutPart, string, error) {
	end := strings.IndexAny(text, "?}")
	if end < 0 {
		return layoutPart{}, "", usage(`end the field with }, or write \{ for the sign itself`, "a { has no }")
	}
	name := text[:end]
	path := strings.Split(name, ".")
	if err := oneOf("field", "", path[0], known); err != nil {
		return layoutPart{}, "", err
	}
	part := layoutPart{path: path}
	if text[end] == '}' {
		return part, text[end+1:], nil
	}
	then, rest, err := parseParts(text[end+1:], known, true)
	if err != nil {
		return part, "", err
	}
	part.then = then
	return part, rest[1:], nil
}

// render fills the layout in with a value's fields. Every text in it passes safe/plain.
func (l layout) render(data []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", fmt.Errorf("fill a template in: %w", err)
	}
	var b strings.Builder
	l.write(&b, v)
	return b.String(), nil
}

func (l layout) write(b *strings.Builder, v any) {
	for _, part := range l {
		switch {
		case part.path == nil:
			b.WriteString(part.literal)
		case part.then == nil:
			b.WriteString(plain.Line(shown(dig(v, part.path))))
		default:
			if s := shown(dig(v, part.path)); s != "" && s != "0" && s != "false" && s != "[]" && s != "{}" {
				part.then.write(b, v)
			}
		}
	}
}

// dig goes down a path of names and places; nil where there is nothing.
func dig(v any, path []string) any {
	for _, name := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func shown(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case json.Number:
		return x.String()
	case bool:
		return strconv.FormatBool(x)
	}
	data, err := compact(v)
	if err != nil {
		return ""
	}
	return string(data)
}

// oneOf refuses a word that is none of the choices, with the nearest of them. Without a flag it is no flag's value.
func oneOf(what, flag, word string, choices []string) error {
	if slices.Contains(choices, word) {
		return nil
	}
	next := "choose from: " + strings.Join(choices, " ")
	if near := config.Nearest(word, choices); near != "" {
		next = "did you mean: " + strings.TrimSpace(flag+" "+near) + "   or " + next
	}
	return usage(next, "there is no %s %q", what, word)
}
