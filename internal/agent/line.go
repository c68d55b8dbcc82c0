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

// Unwrap removes a shell around a command, as in /bin/bash -lc 'ls -l'.
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
	rest = strings.TrimSpace(rest)
	flag, inner, ok := strings.Cut(rest, " ")
	if !ok || flag != "-lc" && flag != "-c" {
		return command
	}
	return unquote(strings.TrimSpace(inner))
}

// unquote undoes the shell quoting of a single word; anything else is returned as it is.
func unquote(word string) string {
	if len(word) < 2 {
		return word
	}
	quote, inner := word[0], word[1:len(word)-1]
	if word[len(word)-1] != quote {
		return word
	}
	switch quote {
	case '\'':
		inner = strings.ReplaceAll(inner, `'\''`, "'")
		inner = strings.ReplaceAll(inner, `'"'"'`, "'")
		return inner
	case '"':
		var out strings.Builder
		for i := 0; i < len(inner); i++ {
			if inner[i] == '\\' && i+1 < len(inner) && strings.IndexByte("\"\\$`", inner[i+1]) >= 0 {
				i++
			}
			out.WriteByte(inner[i])
		}
		return out.String()
	}
	return word
}

// Bound cuts text at a character to at most limit bytes and reports whether it did.
func Bound(text string, limit int) (string, bool) {
	if len(text) <= limit {
		return text, false
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut], true
}
