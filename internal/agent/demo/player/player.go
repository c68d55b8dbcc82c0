// Package player is the demo agent's own side: it reads prompts as JSON lines, plays a story or a script and writes
// events as JSON lines. It runs nothing and touches no file; time and processes come from its caller. Reserved for
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
	Sleep func(time.Duration)
	Spawn func(seconds int) error // starts a process that outlives the agent, for tests; nil refuses
}

// maxPrompt bounds a line of input; a JSON string may take six bytes for one.
const maxPrompt = 8 << 20

// Run plays until the input ends and returns the exit code. The arguments are --session ID or --resume ID, --turn N,
// and --pace F, which multiplies every pause.
func (p Player) Run(args []string) int {
	v, err := p.voice(args)
	if err != nil {
		fmt.Fprintln(p.Err, "demo agent:", err)
		return 2
	}
	v.emit(demo.Event{Type: demo.Hello, Session: v.session})
	input := bufio.NewScanner(p.In)
	input.Buffer(make([]byte, 0, 4<<10), maxPrompt)
	took := false
	for input.Scan() {
		var prompt demo.Prompt
		if err := json.Unmarshal(input.Bytes(), &prompt); err != nil {
			fmt.Fprintln(p.Err, "demo agent: a prompt is one JSON object in a line:", err)
			return 1
		}
		took = true
		v.emit(demo.Event{Type: demo.Turn, Key: prompt.Key})
		if code, left := v.play(prompt.Text); left {
			return code
		}
		v.turn++
	}
	if err := input.Err(); err != nil {
		fmt.Fprintln(p.Err, "demo agent: cannot read the prompt:", err)
		return 1
	}
	if !took {
		fmt.Fprintln(p.Err, "demo agent: no prompt was given")
		return 1
	}
	return 0
}

// voice is a player in a session.
type voice struct {
	Player
	session string
	turn    int
	pace    float64
	tools   int
	words   uint64
}

func (p Player) voice(args []string) (*voice, error) {
	v := &voice{Player: p, session: "demo", turn: 1, pace: 1}
	for i := 0; i < len(args); i++ {
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

func (v *voice) emit(e demo.Event) {
	data, err := json.Marshal(e)
	if err != nil {
		return // an Event always encodes
	}
	v.words += uint64(len(e.Text)) / 4
	// A reader that is gone ends the agent by its signal; there is nobody to tell.
	_, _ = v.Out.Write(append(data, '\n'))
}

func (v *voice) pause(d time.Duration) { v.Sleep(time.Duration(float64(d) * v.pace)) }

func (v *voice) tool(command string, d time.Duration, exit int) {
	v.tools++
	id := fmt.Sprintf("tool-%d", v.tools)
	v.emit(demo.Event{Type: demo.Tool, ID: id, Text: command})
	v.pause(d)
	v.emit(demo.Event{Type: demo.ToolEnd, ID: id, Exit: exit})
}

func (v *voice) end(prompt string, e demo.Event) {
	e.Type = demo.End
	e.InputTokens, e.OutputTokens = uint64(len(prompt))/4+1, v.words+1
	v.emit(e)
	v.words = 0
}

// play does one turn; left is true when the process should leave with the code.
func (v *voice) play(prompt string) (code int, left bool) {
	if _, script, ok := strings.Cut(prompt, "@@"); ok {
		line, _, _ := strings.Cut(script, "\n")
		return v.script(prompt, line)
	}
	v.story(prompt)
	return 0, false
}
