//go:build linux

package acceptance

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"scv/internal/testkit/realagent"
	"scv/internal/wire"
)

// A subject is an agent over one transport.
type subject struct {
	kind  string // name of the agent
	over  string // live or cli
	real  func(testing.TB, realagent.Options) *realagent.Agent
	model string // "" for the one that its own settings name
	own   bool   // it is one of the configuration, not of this release
	slow  bool   // it takes minutes
	built bool   // it comes with these tests
	// A new process of it knows nothing of the turns before, which the log then says.
	forgets bool
	calls   string // its shell tool, where it takes no more than a command; "" for the one that the fake model picks
	// It asks only for what its model wants to run outside of its sandbox.
	outside bool
}

// A stage is a home in which one subject is tried: the real program, the real agent, a fake model.
type stage struct {
	*lab
	subject
	a     *realagent.Agent // nil for the demo agent
	holds int
}

func (s subject) stage(t *testing.T, o realagent.Options) *stage {
	t.Helper()
	if s.real == nil {
		return &stage{lab: newLab(t), subject: s}
	}
	a := s.real(t, o)
	g := &stage{lab: newLab(t, a.Env...), subject: s, a: a}
	path, _ := strings.CutPrefix(a.Env[0], "PATH=")
	g.env = append(g.env, "PATH="+g.bin+":"+path)
	g.must(os.Symlink(a.Path, filepath.Join(g.bin, s.kind)))
	if s.own {
		g.config(fmt.Sprintf("[limits]\nrunning = 100\nmemory_floor_mb = 0\n[agents.%s]\ntransport = \"acp\"\ncommand = %q\n", s.kind, filepath.Join(g.bin, s.kind)))
	}
	return g
}

// begin starts a conversation in a mode.
func (g *stage) begin(mode, prompt string) wire.JobID {
	g.t.Helper()
	args := []string{"--agent", g.kind, "--transport", g.over, "--mode", mode}
	if g.model != "" {
		args = append(args, "--model", g.model)
	}
	return g.start(append(args, prompt)...)
}

// next is the next turn of a job's conversation, which is idle.
func (g *stage) next(after wire.JobID, prompt string) wire.JobID {
	g.t.Helper()
	return wire.JobID(strings.TrimSpace(g.ok("jobs", "send", "--queue", "-q", string(after), prompt)))
}

// crash kills the daemon and starts the next one.
func (g *stage) crash() {
	g.t.Helper()
	g.must(syscall.Kill(g.daemon(), syscall.SIGKILL))
	g.ok("start")
}

// A hold is a step whose tool runs until it is let go.
type hold struct {
	g    *stage
	step string
	name string
}

// hold makes a step. The demo agent runs nothing: its tool takes a moment instead.
func (g *stage) hold() *hold {
	g.t.Helper()
	g.holds++
	h := &hold{g: g, name: fmt.Sprintf("held-%d", g.holds)}
	if g.a == nil {
		h.step = fmt.Sprintf("tool:%s|sleep:600", h.name)
		return h
	}
	for _, pipe := range []string{h.path("up"), h.path("gate")} {
		g.must(syscall.Mkfifo(pipe, 0o600))
	}
	h.step = g.shell(fmt.Sprintf("echo ran >> %s; echo up > %s; read -r go < %s", h.name, h.path("up"), h.path("gate")))
	return h
}

// shell is the step by which the model runs a command.
func (s subject) shell(command string) string {
	if s.calls == "" {
		return "shell:" + command
	}
	return fmt.Sprintf(`tool:%s:{"command":%q}`, s.calls, command)
}

func (h *hold) path(what string) string { return filepath.Join(h.g.work, h.name+"."+what) }

// runs waits until the tool of a job's turn runs.
func (h *hold) runs(id wire.JobID) {
	h.g.t.Helper()
	if !h.begins(id) {
		view := h.g.until("it is known", func(*wire.Snapshot) bool { return true })
		h.g.t.Fatalf("the tool of %s never ran: %s\n%s", id, detail(job(view, id)), h.g.ok("jobs", "log", string(id)))
	}
}

// begins is runs that reports instead whether the turn came so far.
func (h *hold) begins(id wire.JobID) bool {
	h.g.t.Helper()
	if h.g.a == nil {
		h.g.says(id, func(e wire.RunEvent) bool { return e.Kind == wire.EventTool && strings.Contains(e.Text, h.name) })
		return true
	}
	f, err := os.OpenFile(h.path("up"), os.O_RDWR, 0) // both ends, so that nobody waits for the other one
	h.g.must(err)
	defer f.Close()
	for {
		h.g.must(f.SetReadDeadline(time.Now().Add(2 * time.Second)))
		_, err := bufio.NewReader(f).ReadString('\n')
		if err == nil {
			return true
		}
		view := h.g.until("it is known", func(v *wire.Snapshot) bool { return job(v, id) != nil })
		if job(view, id).State.Final() || !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
	}
}

// letGo ends the tool.
func (h *hold) letGo() {
	h.g.t.Helper()
	if h.g.a == nil {
		return
	}
	f, err := os.OpenFile(h.path("gate"), os.O_RDWR, 0)
	h.g.must(err)
	h.g.t.Cleanup(func() { _ = f.Close() }) // what was written goes with the last one who has it open
	_, err = f.WriteString("go\n")
	h.g.must(err)
}

// once fails the test unless the tool ran exactly once.
func (h *hold) once(id wire.JobID) {
	h.g.t.Helper()
	if h.g.a == nil {
		if n := strings.Count(h.g.ok("jobs", "log", string(id)), "\ttool\t$ "+h.name+"\n"); n != 1 {
			h.g.t.Errorf("%s is %d times in the log of %s", h.name, n, id)
		}
		return
	}
	if n := h.g.lines(h.name); n != 1 {
		h.g.t.Errorf("the tool of %s ran %d times", id, n)
	}
}

// lines counts those of a file of the work folder, which may be absent.
func (g *stage) lines(name string) int {
	data, _ := os.ReadFile(filepath.Join(g.work, name))
	return strings.Count(string(data), "\n")
}

// ask is a step that needs leave in the mode always, and what it runs.
func (g *stage) ask() (step, command, file string) {
	g.holds++
	file = fmt.Sprintf("asked-%d", g.holds)
	command = "echo ran >> " + file
	if g.a == nil {
		return "ask:" + command, command, file
	}
	if g.outside {
		args := fmt.Sprintf(`{"cmd":%q,"sandbox_permissions":"require_escalated","justification":"to see"}`, command)
		return "tool:exec_command:" + args, command, file
	}
	return g.shell(command), command, file
}

// ran is how often a command that was asked for was run.
func (g *stage) ran(id wire.JobID, command, file string) int {
	g.t.Helper()
	if g.a == nil {
		return strings.Count(g.ok("jobs", "log", string(id)), "Allowed: "+command)
	}
	return g.lines(file)
}

// asked waits until a job asks, and returns the request; nil when its turn ended without.
func (g *stage) asked(id wire.JobID) *wire.Approval {
	g.t.Helper()
	var found *wire.Approval
	g.until(string(id)+" asks or ends", func(v *wire.Snapshot) bool {
		i := slices.IndexFunc(v.Approvals, func(a wire.Approval) bool { return a.Job == id })
		if i >= 0 {
			found = &v.Approvals[i]
		}
		j := job(v, id)
		return found != nil || j != nil && j.State.Final()
	})
	return found
}

// over fails the test unless a job ended in a state, and returns its reply.
func (g *stage) ended(id wire.JobID, state wire.AgentState) string {
	g.t.Helper()
	j := g.reaches(id, state)
	_, out, _ := g.scv("jobs", "result", string(id))
	if n := strings.Count(g.ok("jobs", "log", string(id)), "turn_ended"); n < 1 {
		g.t.Errorf("the turn of %s, %s, has no end in its log", id, j.State)
	}
	return strings.TrimSpace(out)
}

// run is the process that serves a job, or served it last.
func (g *stage) run(id wire.JobID) wire.RunHandle {
	g.t.Helper()
	view := g.until("it has a run", func(v *wire.Snapshot) bool { j := job(v, id); return j != nil && j.Run != nil })
	return *job(view, id).Run
}

// closes ends the process of a conversation between its turns, if it has one.
func (g *stage) closes(id wire.JobID) {
	g.t.Helper()
	handle := g.run(id)
	if g.over == wire.TransportLive {
		g.ok("agents", "kill", string(handle))
	}
	g.until(string(handle)+" has left", func(v *wire.Snapshot) bool {
		return !slices.ContainsFunc(v.Runs, func(r wire.Run) bool { return r.Handle == handle && r.Live })
	})
}

// given waits until the shim of a run has a text for its agent, or whoever asked for that has an answer.
func given[T any](g *stage, handle wire.RunHandle, text string, answered chan T) {
	g.t.Helper()
	for {
		files, err := filepath.Glob(filepath.Join(g.home, "runs", string(handle), "spool", "*"))
		g.must(err)
		for _, file := range files {
			data, _ := os.ReadFile(file) // a segment may go meanwhile
			if bytes.Contains(data, []byte(text)) {
				return
			}
		}
		select {
		case said := <-answered:
			answered <- said
			return
		case <-g.ctx.Done():
			g.t.Fatalf("%q was not given to %s", text, handle)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
