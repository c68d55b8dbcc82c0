package agent

import (
	"path"
	"strings"
	"unicode/utf8"

	"scv/internal/safe/plain"
)

// Bounds of what a dialect says in one line, in characters (behaviour/runlog.md section 3).
const (
	MaxSubject = 120 // a command, path, query or address inside a tool line
	MaxDetail  = 300 // a state's detail made from an error
)

const ellipsis = "…"

// OneLine returns text as one line: escape sequences removed, white space collapsed, and what a terminal could act on
// or nobody could see made visible.
func OneLine(text string) string {
	return strings.Join(strings.Fields(plain.Line(text)), " ")
}

// Shorten returns text as one line of at most limit characters, an ellipsis at a cut included. It cuts between
// words where there are any, since half a credential is one that the masker does not know any more.
func Shorten(text string, limit int) string {
	text = OneLine(text)
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	end, space := 0, 0
	for i := range limit {
		r, size := utf8.DecodeRuneInString(text[end:])
		if r == ' ' {
			space = end
		}
		if i == limit-1 {
			break
		}
		end += size
	}
	if space > 0 {
		return strings.TrimRight(text[:space], " ") + ellipsis
	}
	return text[:end] + ellipsis
}

// CommandLine returns a shell command as a tool line shows it: "$ " and the command without its shell wrapper.
func CommandLine(command string) string { return "$ " + Shorten(Unwrap(command), MaxSubject) }

// FailedLine returns the line on a command that ended with a code other than 0.
func FailedLine(code, command string) string {
	return "exit " + code + ": " + Shorten(Unwrap(command), MaxSubject)
}

// PathLine returns a word and a path of which only the last two components are shown.
func PathLine(word, file string) string {
	if file == "" {
		return word
	}
	return strings.TrimSpace(word + " " + Shorten(shortPath(file), MaxSubject))
}

// shortPath keeps the last two components of a path behind an ellipsis.
func shortPath(file string) string {
	parts := strings.Split(path.Clean(strings.ReplaceAll(file, "\\", "/")), "/")
	if len(parts) <= 2 || len(parts) == 3 && parts[0] == "" {
		return file
	}
	return ellipsis + "/" + strings.Join(parts[len(parts)-2:], "/")
}

// Unwrap removes a shell around a command, as in /bin/bash -lc 'ls -l'. A command that is not exactly a shell, its
// option and one script comes back as it is: rules judge what is left.
func Unwrap(command string) string {
	rest := strings.TrimSpace(command)
	shell, rest, ok := strings.Cut(rest, " ")
	if !ok {
		return command
	}
	switch path.Base(shell) {
	case "bash", "zsh", "sh", "dash":
	default:
		return command
	}
	flag, inner, ok := strings.Cut(strings.TrimSpace(rest), " ")
	if !ok || flag != "-lc" && flag != "-c" {
		return command
	}
	if script, one := shellWord(strings.TrimSpace(inner)); one {
		return script
	}
	return command
}

// shellWord undoes the shell quoting of text, and reports whether it is one word with nothing in it that a shell would
// act on.
func shellWord(text string) (word string, one bool) {
	var out strings.Builder
	for text != "" {
		c := text[0]
		text = text[1:]
		switch c {
		case '\'':
			part, after, closed := strings.Cut(text, "'")
			if !closed {
				return "", false
			}
			out.WriteString(part)
			text = after
		case '"':
			var closed bool
			if text, closed = doubleQuoted(&out, text); !closed {
				return "", false
			}
		case '\\':
			if text == "" || text[0] == '\n' {
				return "", false
			}
			out.WriteByte(text[0])
			text = text[1:]
		default:
			if strings.IndexByte(" \t\r\n$`|&;<>()*?[]{}#~!^", c) >= 0 {
				return "", false
			}
			out.WriteByte(c)
		}
	}
	return out.String(), true
}

// doubleQuoted writes what stands before the closing double quote and returns what stands behind it.
func doubleQuoted(out *strings.Builder, text string) (rest string, closed bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return text[i+1:], true
		case c == '$' || c == '`':
			return "", false
		case c == '\\' && i+1 < len(text) && strings.IndexByte("\"\\$`\n", text[i+1]) >= 0:
			i++
			if text[i] != '\n' {
				out.WriteByte(text[i])
			}
		default:
			out.WriteByte(c)
		}
	}
	return "", false
}

// Bound cuts text at a character to at most limit bytes and reports whether it did. What is cut does not keep the memory
// of the whole.
func Bound(text string, limit int) (string, bool) {
	if len(text) <= limit {
		return text, false
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.Clone(text[:cut]), true
}
