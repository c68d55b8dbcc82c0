// Package player is the demo agent's own side: it reads prompts as JSON lines, plays a story or a script and writes
// events as JSON lines. It runs nothing and touches no file; time, processes and files come from its caller. Reserved for
// this program started as Argument, and for tests. It holds no state but what its process was given.
package player

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"scv/internal/agent/demo"
)

// Argument is the reserved first argument that makes this program the demo agent.
const Argument = demo.Argument

// Player plays the agent on the streams it is given.
type Player struct {
	In    io.Reader
	Out   io.Writer
	Err   io.Writer
	After func(time.Duration) <-chan time.Time
	Spawn func(seconds int) error                           // starts a process that outlives the agent, for tests; nil refuses
	Self  func(args []string) (output string, exitCode int) // runs this program with arguments, as an agent may; nil refuses
	Write func(name, text string) error                     // writes a file where the agent works; nil refuses
}

// maxPrompt bounds a line of input; a JSON string may take six bytes for one.
const maxPrompt = 8 << 20

// Run plays until the input ends and returns the exit code. The arguments are --session ID or --resume ID, --turn N,
// --pace F, which multiplies every pause, --live, with which it hears what is said during its turns, and
// --terminal, with which it speaks to the owner.
func (p Player) Run(args []string) int {
	v, err := p.voice(args)
	if err != nil {
		fmt.Fprintln(p.Err, "demo agent:", err)
		return 2
	}
	if v.screen {
		return v.terminal()
	}
	v.emit(demo.Event{Type: demo.Hello, Session: v.session})
	if v.live {
		return v.serve()
	}
	took := false
	for m, err := range p.messages() {
		if err != nil {
			fmt.Fprintln(p.Err, "demo agent:", err)
			return 1
		}
		took = true
		if code, left := v.take(m); left {
			return code
		}
	}
	if !took {
		fmt.Fprintln(p.Err, "demo agent: no prompt was given")
		return 1
	}
	return 0
}

// messages yields what is read, and last what is wrong with it, if anything is.
func (p Player) messages() func(yield func(demo.Message, error) bool) {
	return func(yield func(demo.Message, error) bool) {
		input := bufio.NewScanner(p.In)
		input.Buffer(make([]byte, 0, 4<<10), maxPrompt)
		for input.Scan() {
			var m demo.Message
			if err := json.Unmarshal(input.Bytes(), &m); err != nil {
				yield(m, fmt.Errorf("a prompt is one JSON object in a line: %w", err))
				return
			}
			if !yield(m, nil) {
				return
			}
		}
		if err := input.Err(); err != nil {
			yield(demo.Message{}, fmt.Errorf("cannot read the prompt: %w", err))
		}
	}
}

// voice is a player in a session.
type voice struct {
	Player
	session string
	turn    int
	pace    float64
	tools   int
	words   uint64
	prompt  string // of the turn
	live    bool
	screen  bool
	hearing
}

func (p Player) voice(args []string) (*voice, error) {
	v := &voice{Player: p, session: "demo", turn: 1, pace: 1}
	for i := 0; i < len(args); i++ {
		if args[i] == demo.LiveFlag {
			v.live = true
			continue
		}
		if args[i] == demo.TerminalFlag {
			v.screen = true
			continue
		}
		name, value, ok := strings.Cut(args[i], "=")
		if !ok {
			if i++; i == len(args) {
				return nil, fmt.Errorf("%s needs a value", name)
			}
			value = args[i]
		}
		var err error
		switch name {
		case "--session", "--resume":
			v.session = value
			if name == "--resume" && strings.HasPrefix(value, "missing") {
				return nil, fmt.Errorf("no conversation found with session id %s", value)
			}
		case "--turn":
			_, err = fmt.Sscanf(value, "%d", &v.turn)
		case "--pace":
			_, err = fmt.Sscanf(value, "%g", &v.pace)
		default:
			err = fmt.Errorf("unknown argument %s", name)
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

// take does one turn; left is true when the process should leave with the code.
func (v *voice) take(m demo.Message) (code int, left bool) {
	v.emit(demo.Event{Type: demo.Turn, Key: m.Key})
	if code, left := v.play(m.Text); left {
		return code, true
	}
	v.turn++
	return 0, false
}

// emit writes an event. A turn that was cancelled says nothing more but its end.
func (v *voice) emit(e demo.Event) {
	if v.cancelled && e.Type != demo.End {
		return
	}
	data, err := json.Marshal(e)
	if err != nil {
		return // an Event always encodes
	}
	v.words += uint64(len(e.Text)) / 4
	// A reader that is gone ends the agent by its signal; there is nobody to tell.
	_, _ = v.Out.Write(append(data, '\n'))
}

func (v *voice) pause(d time.Duration) {
	if d > 0 && !v.cancelled {
		v.attend(v.After(time.Duration(float64(d)*v.pace)), nil)
	}
}

func (v *voice) tool(command string, d time.Duration, exit int) {
	v.tools++
	id := fmt.Sprintf("tool-%d", v.tools)
	v.emit(demo.Event{Type: demo.Tool, ID: id, Text: command})
	v.pause(d)
	v.emit(demo.Event{Type: demo.ToolEnd, ID: id, Exit: exit})
}

func (v *voice) end(prompt string, e demo.Event) {
	if v.cancelled {
		e = demo.Event{Status: demo.Cancelled}
	}
	e.Type = demo.End
	e.InputTokens, e.OutputTokens = uint64(len(prompt))/4+1, v.words+1
	v.emit(e)
	v.words = 0
}

// play does one turn; left is true when the process should leave with the code.
func (v *voice) play(prompt string) (code int, left bool) {
	v.prompt = prompt
	if script, asked := reviewing(prompt); asked {
		return v.script(prompt, script)
	}
	if _, script, ok := strings.Cut(prompt, "@@"); ok {
		line, _, _ := strings.Cut(script, "\n")
		return v.script(prompt, line)
	}
	v.story(prompt)
	return 0, false
}
