package wire

import (
	"encoding/json"
	"fmt"
	"testing"
)

// largeSnapshot is a status with a snapshot of n jobs, as a dashboard would get it.
func largeSnapshot(n int) DaemonStatusEvent {
	s := &Snapshot{GeneratedUnixSeconds: 1790000000, Epoch: "e1", Generation: 42}
	for i := range n {
		handle := NewRunHandle("codex", fmt.Sprintf("%06x", i))
		conversation := NewConversationID("codex", uint64(i+1))
		detail := "Running go test ./... for \"wire\" & friends – übrig: 3"
		s.Jobs = append(s.Jobs, Job{
			Session: "workbench-0123456789abcdef", Job: NewJobID(uint64(i + 1)), Agent: "codex",
			Task: "Make the parser accept trailing commas", Workspace: "/home/ada/kiln", Cwd: "/home/ada/kiln/wire",
			State: StateWorking, Detail: &detail, StartedBy: OriginOwner, Conversation: &conversation, Run: &handle,
			CreatedUnixSeconds: 1789990000, UpdatedUnixSeconds: 1789999999, Rev: uint64(i),
			Attach: &AttachOffer{State: AttachBusy, Interrupt: true},
		})
	}
	return DaemonStatusEvent{RequestID: "r-1", Status: DaemonStatus{Version: "1.0", PID: 77, Workbench: s}}
}

func BenchmarkDecodeSnapshot(b *testing.B) {
	data, err := Encode(largeSnapshot(1000))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("strict", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := DecodeServerEvent(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var event DaemonStatusEvent
			if err := json.Unmarshal(data, &event); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncodeSnapshot(b *testing.B) {
	event := largeSnapshot(1000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(event); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeCommand(b *testing.B) {
	data, err := Encode(DaemonControl{RequestID: "1", Command: WorkbenchSend{Session: "s", Conversation: "codex-2", Prompt: "go on"}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeClientMessage(data); err != nil {
			b.Fatal(err)
		}
	}
}
