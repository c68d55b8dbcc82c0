//go:build ignore

package main

import (
	"fmt"
	"strings"
	"time"

	"scv/internal/ui/tui/canvas"
	"scv/internal/ui/tui/model"
	"scv/internal/ui/tui/view"
	"scv/internal/wire"
)

// last stands in the last frame, and in no other.
const last = "the last frame"

// count is how many changes there are.
const count = int((warm + busy) / time.Second * rate)

// frames are the dashboard's own frames as ten jobs work, 990 are over, and a log grows. They are made beforehand, so that
// only drawing is measured.
func frames(cols, rows int, wide bool) []canvas.Frame {
	m := model.New(model.Options{NewKey: func() string { return "k" }, Cwd: "/home/me/app", Home: "~/.scv"})
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	m.Update(model.Resized{Cols: cols, Rows: rows}, at)
	m.Update(model.Connected{Server: wire.PeerInfo{Name: "scv", Version: "1"}}, at)
	var source uint64
	for _, e := range m.Update(model.Listed{View: workbench(0, wide)}, at) {
		if f, ok := e.(model.Follow); ok && f.Run != "" {
			source = f.Source
		}
	}
	out := make([]canvas.Frame, 0, count+1)
	for i := range count + 1 {
		at = at.Add(time.Second / rate)
		if i%3 == 0 {
			m.Update(model.Listed{View: workbench(i, wide)}, at)
		} else {
			text := fmt.Sprintf("step %d: reads internal/lex/token.go and runs its tests", i)
			if wide {
				text = fmt.Sprintf("第 %d 步：读取分词器，然后运行它的测试 token.go", i)
			}
			m.Update(model.Logged{Source: source, Events: []wire.RunEvent{{Seq: uint64(i), TsMs: uint64(at.UnixMilli()), Kind: wire.EventText, Text: text}}}, at)
		}
		said := fmt.Sprintf("frame %d", i+1)
		if i == count {
			said = last
		}
		m.Update(model.Told{Text: said}, at)
		out = append(out, view.View(m))
	}
	return out
}

func workbench(step int, wide bool) *wire.Snapshot {
	const session = wire.SessionID("workbench-0123456789abcdef")
	v := &wire.Snapshot{}
	for n := 1000; n > 0; n-- {
		j := wire.Job{
			Session: session, Job: wire.NewJobID(uint64(n)), Agent: []string{"codex", "claude", "gemini"}[n%3], Workspace: "/home/me/app", Cwd: "/home/me/app",
			Task: fmt.Sprintf("Reduce the allocations of tokenizer %d and measure it", n), State: wire.StateCompleted, UpdatedUnixSeconds: uint64(1_700_000_000 + n),
		}
		if wide {
			j.Task = fmt.Sprintf("减少第 %d 个分词器的内存分配 and measure it", n)
		}
		if n > 990 {
			j.State, j.UpdatedUnixSeconds = wire.StateWorking, uint64(1_700_000_000+step)
			j.Detail = new([]string{"tool", "text", "plan", "reasoning"}[(step+n)%4])
			j.Run = new(wire.NewRunHandle(j.Agent, fmt.Sprintf("%06d", n)))
		}
		v.Jobs = append(v.Jobs, j)
	}
	return v
}

// styled is a frame as bubbletea takes one: rows of text with the same colours.
func styled(f *canvas.Frame) string {
	codes := [canvas.Roles]string{canvas.Strong: "1", canvas.Wait: "1;33", canvas.Work: "36", canvas.Done: "32", canvas.Fail: "1;31", canvas.Doubt: "35"}
	var b strings.Builder
	for i, row := range f.Rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, s := range row {
			code := codes[s.Role]
			if s.Chosen {
				code += ";7"
			}
			if code = strings.TrimPrefix(code, ";"); code == "" {
				b.WriteString(s.Text)
				continue
			}
			b.WriteString("\x1b[" + code + "m" + s.Text + "\x1b[m")
		}
	}
	return b.String()
}
