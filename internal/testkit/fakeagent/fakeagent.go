// Package fakeagent plays the command lines of codex and claude for tests, with no model, network or node: the prompt
// holds a script (see step). It also plays what no good agent does, so that the daemon's answer to it can be tested.
// Tests run it as a process by re-executing themselves; it keeps its conversations below its agent's own home.
package fakeagent

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A player is one run of the fake.
type player struct {
	args    []string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	voice   voice
	prompt  string
	session string
	resumed bool
}

// A voice says things as one agent does.
type voice interface {
	begin(p *player)
	say(text string)
	tool(command string, exit int)
	deny(command string)
	retry(text string)
	end(p *player)
	fail(class, text string)
}

// Main plays args[0], which is codex or claude by its name or else by its arguments, and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &player{args: args, stdin: stdin, stdout: stdout, stderr: stderr}
	if slices.Contains(args, "--version") {
		fmt.Fprintln(stdout, "fakeagent 1.0.0")
		return 0
	}
	if strings.Contains(filepath.Base(args[0]), "claude") || slices.Contains(args, "-p") {
		p.voice = &claude{out: json.NewEncoder(stdout), session: func() string { return p.session }}
		p.claudeArgs()
	} else {
		p.voice = &codex{out: json.NewEncoder(stdout), err: stderr}
		p.codexArgs()
	}
	if p.prompt == "" {
		fmt.Fprintln(stderr, "No prompt provided via stdin.")
		return 1
	}
	history, err := p.remember()
	if err != nil {
		p.voice.fail("session", err.Error())
		return 1
	}
	p.voice.begin(p)
	return p.play(history)
}

func (p *player) codexArgs() {
	if i := slices.Index(p.args, "resume"); i >= 0 && i+1 < len(p.args) {
		p.session, p.resumed = p.args[i+1], true
	}
	if p.session == "" {
		p.session = newID()
	}
	p.prompt = p.args[len(p.args)-1]
	if p.prompt == "-" {
		text, _ := io.ReadAll(p.stdin) // what cannot be read is not there
		p.prompt = string(text)
	}
}

func (p *player) claudeArgs() {
	format := false
	for i, arg := range p.args {
		switch arg {
		case "--session-id", "--resume":
			p.session, p.resumed = p.args[min(i+1, len(p.args)-1)], arg == "--resume"
		case "--input-format":
			format = true
		}
	}
	if p.session == "" {
		p.session = newID()
	}
	if !format {
		p.prompt = p.args[len(p.args)-1]
		return
	}
	lines := bufio.NewScanner(p.stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line struct {
			Message struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"message"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && len(line.Message.Content) > 0 {
			p.prompt = line.Message.Content[0].Text
			return
		}
	}
}

// remember adds the prompt to the conversation's file and returns all prompts of it. A conversation to go on with
// must exist.
func (p *player) remember() ([]string, error) {
	home := os.Getenv("HOME")
	for _, name := range []string{"CODEX_HOME", "CLAUDE_CONFIG_DIR"} {
		if dir := os.Getenv(name); dir != "" {
			home = dir
		}
	}
	file := filepath.Join(home, "fakeagent", filepath.Base(p.session))
	old, err := os.ReadFile(file)
	if err != nil && p.resumed {
		return nil, fmt.Errorf("no conversation found with id %s", p.session)
	}
	line, err := json.Marshal(p.prompt)
	if err != nil {
		return nil, err
	}
	all := append(old, append(line, '\n')...)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, all, 0o600); err != nil {
		return nil, err
	}
	var history []string
	for text := range strings.Lines(string(all)) {
		var prompt string
		if json.Unmarshal([]byte(text), &prompt) == nil {
			history = append(history, prompt)
		}
	}
	return history, nil
}

func newID() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails
	return fmt.Sprintf("%x-%x-4%x-8%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:])
}
