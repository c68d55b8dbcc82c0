package rules

import (
	"path"
	"slices"
	"strings"
)

// A line is a literal command taken apart, without running or expanding anything: its simple commands, each as words
// without quotes. Plain says that this is all of it: where a shell would do more (substitute, redirect, set a variable,
// loop), Plain is false, the commands are what could be seen, and nothing may be allowed by them.
type line struct {
	commands [][]string
	plain    bool
}

// maxDepth bounds scripts inside scripts.
const maxDepth = 8

// parse takes a command apart. A shell that is given a script is replaced by what the script holds.
func parse(text string) line { return parseAt(text, 0) }

func parseAt(text string, depth int) line {
	s := scanner{rest: text, plain: true}
	s.scan()
	out := line{plain: s.plain && len(s.commands) > 0}
	for _, words := range s.commands {
		script, ok := inner(words)
		if !ok {
			out.commands = append(out.commands, words)
			continue
		}
		if depth >= maxDepth {
			return line{commands: append(out.commands, words)}
		}
		in := parseAt(script, depth+1)
		out.commands = append(out.commands, in.commands...)
		out.plain = out.plain && in.plain
	}
	return out
}

// inner returns the script of a call such as bash -lc SCRIPT.
func inner(words []string) (string, bool) {
	if len(words) != 3 || !slices.Contains([]string{"sh", "bash", "zsh", "dash"}, path.Base(words[0])) {
		return "", false
	}
	return words[2], slices.Contains([]string{"-c", "-lc"}, words[1])
}

// scanner splits at what separates commands in a shell and keeps quoted text together.
type scanner struct {
	rest     string
	plain    bool
	word     strings.Builder
	begun    bool // a word is, even if it is empty
	words    []string
	commands [][]string
}

func (s *scanner) scan() {
	for s.rest != "" {
		c := s.rest[0]
		s.rest = s.rest[1:]
		switch c {
		case ' ', '\t':
			s.endWord()
		case ';', '|', '\n':
			s.endCommand()
		case '&':
			// Two of them join commands; one alone leaves what is before it running, or redirects.
			if rest, ok := strings.CutPrefix(s.rest, "&"); ok {
				s.rest = rest
			} else {
				s.plain = false
			}
			s.endCommand()
		case '(', ')', '`', '{', '}':
			s.plain = false
			s.endCommand()
		case '\'':
			s.single()
		case '"':
			s.double()
		case '\\':
			s.escape()
		case '<', '>':
			s.plain = false
			s.endWord()
		default:
			if c == '$' || c == '#' && !s.begun || c == '!' || c < ' ' || c == 0x7f {
				s.plain = false
			}
			s.take(c)
		}
	}
	s.endCommand()
}

func (s *scanner) take(c byte) {
	s.begun = true
	s.word.WriteByte(c)
}

func (s *scanner) single() {
	s.begun = true
	text, rest, ok := strings.Cut(s.rest, "'")
	s.word.WriteString(text)
	s.rest = rest
	s.plain = s.plain && ok
}

// double reads up to the closing quote. What a shell substitutes inside it begins a command of its own.
func (s *scanner) double() {
	s.begun = true
	for s.rest != "" {
		c := s.rest[0]
		s.rest = s.rest[1:]
		switch {
		case c == '"':
			return
		case c == '\\' && s.rest != "" && strings.IndexByte("\"\\$`\n", s.rest[0]) >= 0:
			s.take(s.rest[0])
			s.rest = s.rest[1:]
		case c == '`' || c == '$' && strings.HasPrefix(s.rest, "("):
			s.plain = false
			s.endCommand()
			return
		default:
			s.plain = s.plain && c != '$' && c != '!'
			s.take(c)
		}
	}
	s.plain = false // no closing quote
}

func (s *scanner) escape() {
	if s.rest == "" {
		s.plain = false
		return
	}
	if s.rest[0] != '\n' { // a line that goes on
		s.take(s.rest[0])
	}
	s.rest = s.rest[1:]
}

func (s *scanner) endWord() {
	if s.begun {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.begun = false
}

func (s *scanner) endCommand() {
	s.endWord()
	if len(s.words) > 0 {
		s.plain = s.plain && !assigns(s.words[0]) && !reserved(s.words[0])
		s.commands = append(s.commands, s.words)
		s.words = nil
	}
}

// assigns reports whether a word sets a variable for the command behind it.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// reserved reports whether a word is one of the shell's own or runs text that is not seen here.
func reserved(word string) bool {
	return slices.Contains([]string{
		"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "select",
		"time", "coproc", "eval", "exec", "source", ".", "alias", "trap",
	}, word)
}

// unwrapped returns a command without what only runs another one: variables, env, sudo and their like with their
// options. It is for finding what must not run, so it rather takes off too much.
func unwrapped(words []string) []string {
	for len(words) > 0 {
		switch first := path.Base(words[0]); {
		case assigns(words[0]), reserved(words[0]):
			words = words[1:]
		case slices.Contains([]string{
			"env", "sudo", "doas", "command", "builtin", "nohup", "nice", "ionice", "setsid", "stdbuf", "timeout", "xargs", "time", "chronic",
		}, first):
			words = words[1:]
			for len(words) > 0 && (strings.HasPrefix(words[0], "-") || assigns(words[0]) || quantity(words[0])) {
				words = words[1:]
			}
		default:
			return words
		}
	}
	return nil
}

// quantity reports whether a word is a number, as timeout and nice take one.
func quantity(word string) bool {
	return strings.Trim(word, "0123456789.smhd") == "" && strings.ContainsAny(word, "0123456789")
}
