//go:build linux

package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"scv/internal/run/control"
	"scv/internal/wire"
)

// playing is a codex of three parts, which its prompt names: one that says something and falls silent, one that falls silent
// in a tool call, one that says nothing at all. Each waits at the gate.
const playing = `while read -r line; do part=$line; done
case $part in
chunk) ` + codexBegins + `
` + `echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"so far"}}'
read -r go <$here/gate ;;
tool) ` + codexBegins + `
echo '{"type":"item.started","item":{"id":"c","type":"command_execution","command":"make all","status":"in_progress"}}'
read -r go <$here/gate
echo '{"type":"item.completed","item":{"id":"c","type":"command_execution","command":"make all","exit_code":0,"status":"completed"}}' ;;
*) read -r go <$here/gate
` + codexBegins + ` ;;
esac
` + `echo '{"type":"item.completed","item":{"id":"e","type":"agent_message","text":"the end"}}'
` + codexEnds

// TestP1_P8_SilenceIsSaidAndEndsNothing: an agent that reports no more is unknown, since when is said, and how to end it; one
// with a tool call open is at work, and the call is named. None is ended for it, however early it fell silent: it goes on, is
// cancelled, or ends as its process does, and then not well.
func TestP1_P8_SilenceIsSaidAndEndsNothing(t *testing.T) {
	l := newLab(t)
	open := l.gate()
	l.agent("codex", playing)
	l.config("[agents.codex]\nquiet = \"1s\"\n[limits]\nmemory_floor_mb = 0\n")
	chunk, tool, none, later := l.start("--agent", "codex", "chunk\n"), l.start("--agent", "codex", "tool\n"), l.start("--agent", "codex", "none\n"), l.start("--agent", "codex", "none\n")
	silent := func(v *wire.Snapshot, id wire.JobID, state wire.AgentState) bool {
		j := job(v, id)
		return j != nil && j.State == state && strings.Contains(detail(j), "no report since ") && strings.Contains(detail(j), "scv jobs cancel "+string(id))
	}
	view := l.until("all are said to be silent", func(v *wire.Snapshot) bool {
		return silent(v, chunk, wire.StateUnknown) && silent(v, tool, wire.StateWorking) && silent(v, none, wire.StateUnknown) && silent(v, later, wire.StateUnknown)
	})
	if said := detail(job(view, tool)); !strings.Contains(said, "while this runs: $ make all; ") {
		t.Errorf("the open tool call is not named: %s", said)
	}
	if out := l.ok("jobs", "list", "--filter", "job="+string(chunk), "--json=state,detail"); !strings.Contains(out, `"state":"unknown","detail":"no report since `) {
		t.Errorf("listed is %s", out)
	}
	if out := l.ok("why", string(chunk)); !strings.Contains(out, "no report since ") {
		t.Errorf("why says:\n%s", out)
	}
	l.ok("jobs", "cancel", string(none))
	l.reaches(none, wire.StateCancelled)
	shim, err := control.ReadShim(filepath.Join(l.home, "runs", string(*job(view, chunk).Run)))
	l.must(err)
	l.must(syscall.Kill(shim.Agent, syscall.SIGKILL))
	view = l.until("it has ended", func(v *wire.Snapshot) bool { return job(v, chunk).State.Final() })
	if j := job(view, chunk); j.State == wire.StateCompleted || detail(j) == "" {
		t.Errorf("a killed agent is %s: %s", j.State, detail(j))
	}
	if code, _, _ := l.scv("jobs", "wait", string(chunk)); code != 1 {
		t.Errorf("wait: code %d", code)
	}
	open()
	open()
	for _, id := range []wire.JobID{tool, later} {
		l.reaches(id, wire.StateCompleted)
		if out := l.ok("jobs", "result", string(id)); out != "the end\n" {
			t.Errorf("the result of %s is %q", id, out)
		}
	}
}

// TestB12_ATrustQuestionWaitsForTheOwner: an agent that asks for trust in the folder before it does anything is awaiting input,
// and goes on with the owner's word; one that asks in words alone, where nobody can answer, is not taken for one that asks,
// and is said to be silent.
func TestB12_ATrustQuestionWaitsForTheOwner(t *testing.T) {
	l := newLab(t)
	l.agent("careful", `say() { printf '%s\n' "$1"; }
while IFS= read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{}}}" ;;
  *'"method":"session/new"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"sessionId\":\"s\"}}" ;;
  *'"method":"session/prompt"'*) turn=$id
    say '{"jsonrpc":"2.0","id":"trust","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","kind":"other","title":"Do you trust the files in this folder?"},"options":[{"optionId":"yes","kind":"allow_once","name":"Yes"},{"optionId":"no","kind":"reject_once","name":"No"}]}}' ;;
  *'"optionId":"yes"'*)
    say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"trusted"}}}}'
    say "{\"jsonrpc\":\"2.0\",\"id\":$turn,\"result\":{\"stopReason\":\"end_turn\"}}" ;;
  *'"optionId":"no"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$turn,\"result\":{\"stopReason\":\"refusal\"}}" ;;
  esac
done`)
	l.agent("codex", "while read -r line; do :; done\necho 'Do you trust the files in this folder? [y/N]'\nexec sleep 1000")
	l.config("[limits]\nmemory_floor_mb = 0\n[agents.codex]\nquiet = \"1s\"\n[agents.careful]\ntransport = \"acp\"\ncommand = \"" + filepath.Join(l.bin, "careful") + "\"\n")
	for _, c := range []struct {
		verb  string
		state wire.AgentState
	}{{"approve", wire.StateCompleted}, {"deny", wire.StateDeclined}} {
		id := l.start("--agent", "careful", "x")
		view := l.until("it asks", func(v *wire.Snapshot) bool { return asks(v, id) == 1 })
		j := job(view, id)
		if j.State != wire.StateAwaitingInput {
			t.Errorf("an agent that asks for trust is %s", j.State)
		}
		for _, a := range view.Approvals {
			if !strings.Contains(a.Summary, "Do you trust the files in this folder?") {
				t.Errorf("the question is told as %q", a.Summary)
			}
			l.ok("approvals", c.verb, string(a.ID))
		}
		l.reaches(id, c.state)
	}
	mute := l.start("--agent", "codex", "x")
	l.until("it is silent", func(v *wire.Snapshot) bool {
		j := job(v, mute)
		return j != nil && j.State == wire.StateUnknown && strings.Contains(detail(j), "no report since ")
	})
	l.ok("jobs", "cancel", string(mute))
	l.reaches(mute, wire.StateCancelled)
}

// TestT49_NothingOfTheOwnersStandsInACommandLine: while jobs run, no process of the home has the prompt or a key among its
// arguments: not the daemon, not a shim, not an agent that takes its prompt otherwise, not what they started.
func TestT49_NothingOfTheOwnersStandsInACommandLine(t *testing.T) {
	const key, word = "kv9Qm2Zr7Tq4Lw8Yx3Bn", "a-word-of-the-prompt"
	l := newLab(t, "OPENAI_API_KEY="+key, "ANTHROPIC_API_KEY="+key)
	l.fake("codex")
	l.fake("claude")
	for _, agent := range []string{"codex", "claude", "demo", "demo-live"} {
		script := filepath.Join(l.base, "prompt")
		l.must(os.WriteFile(script, []byte(word+" "+key+"\n@@say:up|hang"), 0o600))
		id := l.start("--agent", agent, "--file", script)
		l.says(id, said("up"))
		seen := 0
		for pid, line := range l.processes("") {
			seen++
			if strings.Contains(line, key) || strings.Contains(line, word) {
				t.Errorf("%s: process %d: %q", agent, pid, line)
			}
		}
		if seen < 3 {
			t.Errorf("%s: only %d processes were seen", agent, seen)
		}
		l.ok("jobs", "cancel", string(id))
		l.reaches(id, wire.StateCancelled)
	}
}
