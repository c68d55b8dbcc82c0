package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestStateWords(t *testing.T) {
	finals := []AgentState{StateCompleted, StateFailed, StateDeclined, StateTimeout, StateCancelled, StateInterrupted}
	seen := map[string]bool{}
	for s := range AgentState(AgentStates) {
		word := s.String()
		if seen[word] {
			t.Errorf("%s stands for two states", word)
		}
		seen[word] = true
		if back, known := ParseAgentState(word); back != s || !known {
			t.Errorf("%s reads as %v, %v", word, back, known)
		}
		if s.Final() != slices.Contains(finals, s) {
			t.Errorf("%s: Final() = %v", s, s.Final())
		}
		if s.NeedsAttention() != (s == StateAwaitingInput) {
			t.Errorf("%s: NeedsAttention() = %v", s, s.NeedsAttention())
		}
	}
	if s, known := ParseAgentState("zz"); s != StateUnknown || known {
		t.Errorf("zz reads as %v, %v", s, known)
	}
	if AgentState(200).String() != "unknown" || AgentState(200).Final() {
		t.Error("a state that does not exist is not unknown")
	}
	var s AgentState = StateWorking
	if err := json.Unmarshal([]byte(`"new_word"`), &s); err != nil || s != StateUnknown {
		t.Errorf("a new word reads as %v, %v", s, err)
	}
}

func TestHandles(t *testing.T) {
	for text, want := range map[string]bool{
		"codex": true, "a": true, "acp-2x": true, "gpt5": true, "open-code": true, strings.Repeat("a", 32): true,
		"": false, "Codex": false, "2a": false, "-a": false, "a_b": false, "a.b": false, "codex-2": false,
		"a-b-12": false, "codex-": false, "é": false, strings.Repeat("a", 33): false,
	} {
		if ValidAgentName(text) != want {
			t.Errorf("ValidAgentName(%q) = %v", text, !want)
		}
	}
	for text, want := range map[string]bool{
		"codex-3f9a2c": true, "my-agent-000000": true, strings.Repeat("a", 57) + "-abcdef": true,
		"codex-3F9A2C": false, "codex-3f9a2": false, "codex-3f9a2cd": false, "codex": false, "-3f9a2c": false,
		"../x-3f9a2c": false, "": false, "codex-3f9a2g": false, strings.Repeat("a", 58) + "-abcdef": false,
	} {
		if h, err := ParseRunHandle(text); (err == nil) != want || want && string(h) != text {
			t.Errorf("ParseRunHandle(%q) = %q, %v", text, h, err)
		}
	}
	for text, want := range map[string]bool{
		"codex-2": true, "my-agent-10": true, "codex-0": false, "codex-02": false, "codex": false, "codex-": false,
		"codex-x": false, "codex--1": true, "codex-18446744073709551616": false,
	} {
		if c, err := ParseConversationID(text); (err == nil) != want || want && string(c) != text {
			t.Errorf("ParseConversationID(%q) = %q, %v", text, c, err)
		}
	}
	for text, want := range map[string]uint64{
		"job-3": 3, "job-18446744073709551615": 1<<64 - 1, "job-0": 0, "job-03": 0, "job-": 0, "3": 0, "job-3 ": 0,
		"Job-3": 0, "job-18446744073709551616": 0, "job--3": 0,
	} {
		id, err := ParseJobID(text)
		if (err == nil) != (want > 0) || id.Number() != want || ValidJobID(text) != (want > 0) {
			t.Errorf("ParseJobID(%q) = %q (%d), %v", text, id, id.Number(), err)
		}
	}
	if h := NewRunHandle("my-agent", "00ff1a"); h.Agent() != "my-agent" || h.Suffix() != "00ff1a" {
		t.Errorf("%s: agent %s, suffix %s", h, h.Agent(), h.Suffix())
	}
	if c := NewConversationID("my-agent", 12); c != "my-agent-12" || c.Agent() != "my-agent" || c.Number() != 12 {
		t.Errorf("%s: agent %s, number %d", c, c.Agent(), c.Number())
	}
	if NewJobID(7) != "job-7" {
		t.Error(NewJobID(7))
	}
}

func TestJobRefs(t *testing.T) {
	ref := SessionID("workbench-0123456789abcdef").Ref("job-3")
	session, job, ok := ref.Split()
	if j := (Job{Session: session, Job: job}); j.Ref() != ref {
		t.Errorf("a job calls itself %s", j.Ref())
	}
	if ref != "workbench-0123456789abcdef/job-3" || session != "workbench-0123456789abcdef" || job != "job-3" || !ok {
		t.Errorf("%s splits into %s, %s, %v", ref, session, job, ok)
	}
	for _, bad := range []string{"", "job-3", "/job-3", "s/", "s/job-0", "s/x/job-3", "s/codex-2"} {
		if _, err := ParseJobRef(bad); err == nil {
			t.Errorf("%q is taken for a job name", bad)
		}
	}
}

func TestWorkbenchSessionID(t *testing.T) {
	// printf %s /home/ada/kiln | sha256sum
	if got := WorkbenchSessionID("/home/ada/kiln"); got != "workbench-9052af4b9b6c22eb" {
		t.Error(got)
	}
}

func TestAttachColor(t *testing.T) {
	for text, want := range map[string]AttachColor{
		`0`: IndexColor(0), `17`: IndexColor(17), `255`: IndexColor(255), `[0,0,0]`: RGBColor(0, 0, 0),
		`[1,2,3]`: RGBColor(1, 2, 3), `null`: {},
	} {
		var c AttachColor
		if err := json.Unmarshal([]byte(text), &c); err != nil || c != want {
			t.Errorf("%s reads as %v, %v", text, c, err)
		}
		if out, err := json.Marshal(want); err != nil || string(out) != text {
			t.Errorf("%v is written %s, %v", want, out, err)
		}
	}
	if index, ok := IndexColor(9).Index(); index != 9 || !ok {
		t.Error("an index is lost")
	}
	if r, g, b, ok := RGBColor(1, 2, 3).RGB(); r != 1 || g != 2 || b != 3 || !ok {
		t.Error("a direct colour is lost")
	}
	if _, ok := RGBColor(1, 2, 3).Index(); ok || IndexColor(0).IsZero() {
		t.Error("the kinds of colours are confused")
	}
	var c AttachColor
	for _, bad := range []string{`256`, `[1,2]`, `[1,2,3,4]`, `"red"`, `{}`, `true`, `-1`, `1.0`} {
		if err := json.Unmarshal([]byte(bad), &c); err == nil {
			t.Errorf("%s is taken for a colour", bad)
		}
	}
}

func TestNoListIsWrittenAsNull(t *testing.T) {
	for _, v := range []any{
		DaemonStatus{},
		QueueSnapshot{},
		BackgroundReported{},
		BackgroundUpdated{},
		ProjectReport{},
		ProjectTaskAdd{},
		WhyReport{},
		Snapshot{},
		RunLogPage{},
		AttachPage{},
		WorkbenchDelta{},
		ProjectResponse{Body: ProjectEventsReply{}},
		ProjectResponse{Body: ProjectTasksReply{}},
	} {
		out, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(out, &members); err != nil {
			t.Fatal(err)
		}
		for name, value := range members {
			if string(value) == "null" && name != "request_id" {
				t.Errorf("%T: %s is null", v, name)
			}
		}
	}
}

func TestEncode(t *testing.T) {
	for want, v := range map[string]any{
		`{"action":"status"}`: StatusCommand{},
		`{"action":"workbench_send","session":"s","conversation":"codex-2","prompt":"<a> & b","mode":"auto"}`: &WorkbenchSend{
			Session: "s", Conversation: "codex-2", Prompt: "<a> & b",
		},
		`{"type":"daemon.control","request_id":"1","command":{"action":"daemon_stop"}}`:                                DaemonControl{RequestID: "1", Command: DaemonStop{}},
		`{"type":"daemon.control","request_id":"<","command":{"action":"why","session":"&","job":"job-1"}}`:            DaemonControl{RequestID: "<", Command: Why{Session: "&", Job: "job-1"}},
		`{"type":"session.cleared","request_id":"1","session_id":"s","seq":0}`:                                         SessionCleared{SessionFields{RequestID: "1", SessionID: "s"}},
		`{"type":"queue.snapshot","request_id":null,"session_id":"s","seq":1,"entries":[],"paused":false}`:             QueueSnapshot{SessionID: "s", Seq: 1},
		`{"type":"error","code":"unsupported","message":"no","fatal":false,"reason":"refused","hint":"scv jobs list"}`: (&Error{CodeUnsupported, "no", ReasonRefused, "scv jobs list"}).Event(""),
	} {
		if out, err := Encode(v); err != nil || string(out) != want {
			t.Errorf("%T: %s, %v\nwant %s", v, out, err, want)
		}
	}
	for _, v := range []any{DaemonControl{RequestID: "1"}, UnknownEvent{Type: "x"}, make(chan int)} {
		if out, err := Encode(v); err == nil {
			t.Errorf("%T is written %s", v, out)
		}
	}
}

func TestErrorEventRoundTrip(t *testing.T) {
	refusal := Refuse(ReasonNotFound, "scv jobs list", "there is no job %s", JobID("job-9"))
	data, err := Encode(refusal.Event("r-1"))
	if err != nil {
		t.Fatal(err)
	}
	event, err := DecodeServerEvent(data)
	if err != nil {
		t.Fatal(err)
	}
	got := event.(ErrorEvent)
	if *got.RequestID != "r-1" || got.Fatal || !reflect.DeepEqual(got.Err(), refusal) {
		t.Errorf("%s reads as %+v", data, got.Err())
	}
	if !(&Error{Code: CodeVersionMismatch}).Event("").Fatal {
		t.Error("another version does not end the connection")
	}
	wrapped := fmt.Errorf("start: %w", refusal)
	if e, ok := errors.AsType[*Error](wrapped); !ok || e.Reason != ReasonNotFound || wrapped.Error() != "start: there is no job job-9" {
		t.Errorf("%v", wrapped)
	}
}

func TestAgentOfAJobChange(t *testing.T) {
	for want, change := range map[string]JobChange{
		"codex": {Agent: "codex", Tool: "agent"}, "gemini": {Tool: "agent_gemini"}, "agent": {Tool: "agent"},
	} {
		if got := change.AgentName(); got != want {
			t.Errorf("%+v: %s", change, got)
		}
	}
}

func TestPermissionModes(t *testing.T) {
	for mode, want := range map[PermissionMode]bool{
		ModeAuto: true, ModeOnRisk: true, ModeAlways: true, ModeReadOnly: true, "": false, "On-Risk": false, "yolo": false,
	} {
		if mode.Valid() != want {
			t.Errorf("%q: %v", mode, !want)
		}
	}
}

func TestEveryMutatingCommandTakesAKey(t *testing.T) {
	long := strings.Repeat("k", MaxKeyBytes)
	for action, rt := range commandTypes() {
		v := reflect.New(rt).Elem()
		f := v.FieldByName("Key")
		if !f.IsValid() {
			continue
		}
		f.SetString(long)
		keyed, ok := v.Interface().(Keyed)
		if !ok || keyed.ClientKey() != long || keyed.Action() != action {
			t.Errorf("%s: the key cannot be read", action)
		}
	}
}

func TestDecodeErrorsNameTheField(t *testing.T) {
	for input, want := range map[string]string{
		`{"type":"daemon.control","request_id":"r","command":{"action":"why","session":"s","job":3}}`:                                                                    "field command.job:",
		`{"type":"daemon.control","request_id":"r","command":{"action":"why","session":"s"}}`:                                                                            "field command.job: it is missing",
		`{"type":"turn.start","request_id":"r","session_id":"s","prompt":"","attachments":[{"kind":"file","path":"/a","size":1},{"kind":"file","path":"/a","size":-1}]}`: "field attachments.1.size:",
		`{"type":"dance"}`: `there is no message of the type "dance"`,
		"{\"type\":\"turn.start\",\"request_id\":\"\xff\"}": "not UTF-8",
	} {
		_, err := DecodeClientMessage([]byte(input))
		if e, ok := errors.AsType[*DecodeError](err); !ok || !strings.Contains(e.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", input, err, want)
		}
	}
}

func TestDecodingDoesNotKeepTheFrame(t *testing.T) {
	data := []byte(`{"type":"tool.proposed","request_id":"r","session_id":"s","turn_id":"t","seq":1,"call_id":"c","name":"n","arguments":{"a":1}}`)
	event, err := DecodeServerEvent(data)
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprintf("%+v", event)
	clear(data)
	if after := fmt.Sprintf("%+v", event); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

func TestPlansAreSharedByManyReaders(t *testing.T) {
	data, err := Encode(largeSnapshot(20))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			event, err := DecodeServerEvent(data)
			if err != nil {
				t.Error(err)
				return
			}
			if out, err := Encode(event); err != nil || string(out) != string(data) {
				t.Errorf("a reader got something else: %v", err)
			}
		})
	}
	all.Wait()
}

func FuzzDecodeClientMessage(f *testing.F) {
	seed(f, "ClientMessage")
	f.Fuzz(func(t *testing.T, data []byte) {
		settles(t, data, func(data []byte) ([]byte, error) { return again(DecodeClientMessage(data)) })
	})
}

func FuzzDecodeServerEvent(f *testing.F) {
	seed(f, "ServerEvent")
	f.Fuzz(func(t *testing.T, data []byte) {
		if event, err := DecodeServerEvent(data); err == nil {
			if _, unknown := event.(UnknownEvent); unknown {
				return
			}
		}
		settles(t, data, func(data []byte) ([]byte, error) { return again(DecodeServerEvent(data)) })
	})
}

func seed(f *testing.F, typeName string) {
	for _, v := range ownVectors(f) {
		if v.Type == typeName {
			f.Add([]byte(v.Text + v.Input))
		}
	}
}

// settles checks that what is accepted is JSON, is written as JSON that is accepted again, and stays the same then.
func settles(t *testing.T, data []byte, pass func([]byte) ([]byte, error)) {
	t.Helper()
	once, err := pass(data)
	if err != nil {
		return
	}
	if !json.Valid(data) {
		t.Fatalf("accepted, and is no JSON: %q", data)
	}
	twice, err := pass(once)
	if err != nil || string(once) != string(twice) {
		t.Fatalf("%s\nis written %s\nthen %s, %v", data, once, twice, err)
	}
}
