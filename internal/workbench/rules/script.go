package rules

import (
	"path"
	"slices"
	"strings"
)

// Scripts returns the files that a command runs, as it names them: programs that are given by their path, and what a
// shell or another interpreter is to read. It is for looking at them, so a name too many does no harm.
func Scripts(command string) []string {
	var out []string
	for _, words := range parse(command).commands {
		if name := script(words); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// script is the file that a simple command runs; empty for none that is named.
func script(words []string) string {
	if len(words) > 1 && (words[0] == "source" || words[0] == ".") {
		return words[1]
	}
	words = unwrapped(words)
	if len(words) == 0 {
		return ""
	}
	if !interprets(path.Base(words[0])) {
		if strings.Contains(words[0], "/") {
			return words[0]
		}
		return ""
	}
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case slices.Contains([]string{"-c", "-lc", "-e", "-m", "-p", "-"}, word):
			return "" // the text is in the command, or elsewhere
		case slices.Contains([]string{"-o", "-O", "-W", "-X", "--rcfile", "--init-file", "-r", "--require"}, word):
			i++ // its value
		case !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "+"):
			return word
		}
	}
	return ""
}

// interprets reports whether a program runs a file that it is given. Names may end in a version.
func interprets(name string) bool {
	name = strings.TrimRight(name, "0123456789.")
	return slices.Contains([]string{"sh", "bash", "zsh", "dash", "ksh", "fish", "python", "node", "deno", "bun", "perl", "ruby", "php", "lua", "awk"}, name)
}
