package server

import (
	"fmt"
	"strings"
	"testing"

	"scv/internal/wire"
)

// TestSessionMinimum is wire.md 19.5: enough for the upstream dashboard to open.
func TestSessionMinimum(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-tui")
	seq := 0
	expect := func(kind, id string) map[string]any {
		t.Helper()
		got := c.read()
		if got["type"] != kind || id != "" && got["request_id"] != id {
			t.Fatalf("got %v, want %s", got, kind)
		}
		if got["seq"] != nil {
			if seq++; fmt.Sprint(got["seq"]) != fmt.Sprint(seq) {
				t.Errorf("%s has seq %v, want %d", kind, got["seq"], seq)
			}
		}
		return got
	}
	c.write(`{"type":"session.start","request_id":"a","cwd":%q,"persist_queue":true,"restore":"gone-1"}`, b.dir)
	started := expect("session.started", "a")
	id := started["session_id"].(string)
	if started["cwd"] != b.dir || started["seq"] != nil || started["restored"] != nil || fmt.Sprint(started["max_server_frame_bytes"]) != "8388608" {
		t.Errorf("started: %v", started)
	}
	if q := expect("queue.snapshot", ""); q["request_id"] != nil || fmt.Sprint(q["entries"]) != "[]" || q["paused"] != false {
		t.Errorf("queue: %v", q)
	}
	c.write(`{"type":"turn.start","request_id":"b","session_id":%q,"prompt":"@@fail:sign-in"}`, id)
	turn := expect("turn.started", "b")["turn_id"]
	if failed := expect("turn.failed", "b"); failed["turn_id"] != turn || failed["code"] != "provider_error" || failed["message"] == "" {
		t.Errorf("failed: %v", failed)
	}
	c.write(`{"type":"session.pause","request_id":"c","session_id":%q,"paused":true}`, id)
	expect("session.paused", "c")
	c.write(`{"type":"session.pause","request_id":"d","session_id":%q,"paused":true}`, id)
	expect("session.paused", "d")
	c.write(`{"type":"session.clear","request_id":"e","session_id":%q}`, id)
	expect("session.cleared", "e")
	if q := expect("queue.snapshot", ""); q["paused"] != true {
		t.Errorf("queue: %v", q)
	}
	if st := c.status(`{"action":"status"}`); st["version"] != "9.9" {
		t.Error("a session keeps daemon.control away")
	}
}

func TestSessionRefusals(t *testing.T) {
	b := newBench(t, setup{})
	none := b.client("scv-tui")
	with := b.client("scv-tui")
	with.write(`{"type":"session.start","request_id":"a","cwd":%q}`, b.dir)
	id := with.read()["session_id"].(string)
	with.read()
	long := strings.Repeat("p", wire.MaxPromptBytes+1)
	start := func(rest string) string {
		return fmt.Sprintf(`{"type":"session.start","request_id":"r","cwd":%q%s}`, b.dir, rest)
	}
	tests := []struct {
		c       *raw
		message string
		code    string
	}{
		{with, start(""), "invalid_request"},
		{none, `{"type":"session.start","request_id":"r","cwd":"/no/where"}`, "invalid_request"},
		{none, `{"type":"session.start","request_id":"r","cwd":"relative"}`, "invalid_request"},
		{none, start(`,"channel":""`), "invalid_request"},
		{none, start(`,"channel":"` + strings.Repeat("c", 33) + `"`), "invalid_request"},
		{none, start(`,"channel":"a\u0007"`), "invalid_request"},
		{none, start(`,"chat":{"channel":"a","account":"b/","conversation":"c"}`), "invalid_request"},
		{none, start(`,"system_prompt":"x"`), "invalid_request"},
		{none, start(`,"no_tools":true,"system_prompt":"` + strings.Repeat("x", 16<<10+1) + `"`), "invalid_request"},
		{none, start(`,"no_tools":true,"system_prompt":"\u0000"`), "invalid_request"},
		{none, `{"type":"session.attach","request_id":"r","session_id":"s","cwd":"/"}`, "session_not_found"},
		{none, `{"type":"turn.start","request_id":"r","session_id":"s","prompt":"p"}`, "session_not_found"},
		{with, `{"type":"turn.start","request_id":"r","session_id":"other","prompt":"p"}`, "session_not_found"},
		{with, `{"type":"turn.start","request_id":"r","session_id":"` + id + `","prompt":" "}`, "invalid_request"},
		{with, `{"type":"turn.start","request_id":"r","session_id":"` + id + `","prompt":"` + long + `"}`, "invalid_request"},
		{with, `{"type":"turn.start","request_id":"r","session_id":"` + id + `","prompt":"","attachments":[{"kind":"poem","path":"/x","size":1}]}`, "invalid_request"},
		{with, `{"type":"turn.cancel","request_id":"r","session_id":"` + id + `","turn_id":"t"}`, "turn_not_found"},
		{none, `{"type":"turn.cancel","request_id":"r","session_id":"s","turn_id":"t"}`, "turn_not_found"},
		{none, `{"type":"queue.remove","request_id":"r","session_id":"s","queue_id":"q","revision":1}`, "session_not_found"},
		{with, `{"type":"queue.remove","request_id":"r","session_id":"` + id + `","queue_id":"q","revision":1}`, "queue_not_found"},
		{with, `{"type":"queue.move","request_id":"r","session_id":"` + id + `","queue_id":"q","revision":1}`, "queue_not_found"},
		{with, `{"type":"queue.update","request_id":"r","session_id":"` + id + `","queue_id":"q","revision":1,"prompt":"p"}`, "queue_not_found"},
		{with, `{"type":"queue.update","request_id":"r","session_id":"` + id + `","queue_id":"q","revision":1,"prompt":" "}`, "invalid_request"},
		{none, `{"type":"session.clear","request_id":"r","session_id":"s"}`, "session_not_found"},
		{none, `{"type":"session.pause","request_id":"r","session_id":"s","paused":true}`, "session_not_found"},
		{none, `{"type":"approval.resolve","request_id":"r","session_id":"s","approval_id":"a","approved":true}`, "session_not_found"},
		{with, `{"type":"approval.resolve","request_id":"r","session_id":"` + id + `","approval_id":"a","approved":true}`, "approval_not_found"},
	}
	for _, tt := range tests {
		tt.c.write("%s", tt.message)
		got := tt.c.read()
		if got["type"] != "error" || got["code"] != tt.code || got["request_id"] != "r" || got["fatal"] != false || got["message"] == "" {
			t.Errorf("%.120s: got %v, want %s", tt.message, got, tt.code)
		}
	}
	none.write("%s", start(""))
	if got := none.read(); got["type"] != "session.started" {
		t.Errorf("after refusals: %v", got)
	}
}
