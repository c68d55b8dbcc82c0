package review

import (
	"errors"
	"fmt"
	"strings"
)

// The info strings of the blocks that agents answer with.
const (
	verdictBlock = "scv-verdict"
	landingBlock = "scv-landing"
	checkBlock   = "scv-landing-check"
)

// errNone says that a reply has no block of a kind.
var errNone = errors.New("there is none")

// lastBlock returns what is in the last fenced block with an info string: a fence has three or more backticks or tildes
// after at most three spaces, as in Markdown, and ends with one of the same kind that is as long. Blocks inside another
// block do not count, so that what is quoted is not taken for an answer. One that is not closed is an error.
func lastBlock(reply, info string, limit int) (string, error) {
	var fence, body string
	var found, wanted bool
	var lines []string
	for line := range strings.Lines(reply) {
		line = strings.TrimRight(line, "\r\n")
		mark, rest := fenceOf(line)
		switch {
		case fence == "" && mark != "":
			fence, lines = mark, nil
			word, _, _ := strings.Cut(rest, " ")
			wanted = word == info
		case fence == "":
		case strings.HasPrefix(mark, fence) && rest == "":
			if wanted {
				body, found = strings.Join(lines, "\n"), true
			}
			fence, wanted = "", false
		case wanted:
			lines = append(lines, line)
		}
	}
	switch {
	case wanted:
		return "", fmt.Errorf("the last block %s is not closed", info)
	case !found:
		return "", errNone
	case len(body) > limit:
		return "", fmt.Errorf("the block %s has %d bytes, and at most %d are read", info, len(body), limit)
	}
	return body, nil
}

// fenceOf returns the fence that a line begins with, and what follows; empty for any other line.
func fenceOf(line string) (mark, rest string) {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 || text == "" || text[0] != '`' && text[0] != '~' {
		return "", ""
	}
	rest = strings.TrimLeft(text, text[:1])
	mark = text[:len(text)-len(rest)]
	if rest = strings.TrimSpace(rest); len(mark) < 3 || mark[0] == '`' && strings.ContainsRune(rest, '`') {
		return "", ""
	}
	return mark, rest
}
