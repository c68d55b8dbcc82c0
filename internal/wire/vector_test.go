package wire

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"scv/internal/testkit/need"
)

var vectorDir = flag.String("vectors", "", "folder of golden vectors (encode-*.jsonl, decode-*.jsonl)")

// vectorFolder finds the golden vectors: the flag, else the reference pages.
func vectorFolder(t *testing.T) string {
	t.Helper()
	if *vectorDir != "" {
		return *vectorDir
	}
	return need.Shared(t, "protocol", "vectors")
}

type vector struct {
	Type      string          `json:"type"`
	Case      string          `json:"case"`
	Tier      string          `json:"tier"`
	JSON      json.RawMessage `json:"json"`
	Text      string          `json:"text"`
	Input     string          `json:"input"`
	InputHex  string          `json:"input_hex"`
	OK        bool            `json:"ok"`
	Reencoded string          `json:"reencoded"`
}

func (v *vector) input(t *testing.T) []byte {
	if v.InputHex == "" {
		return []byte(v.Input)
	}
	data, err := hex.DecodeString(v.InputHex)
	if err != nil {
		t.Fatalf("%s/%s: %v", v.Type, v.Case, err)
	}
	return data
}

func readVectors(t testing.TB, pattern string) []vector {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s (%v)", pattern, err)
	}
	var all []vector
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, len(data)+1)
		for lines.Scan() {
			var v vector
			if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all = append(all, v)
		}
	}
	return all
}

// through decodes a text as the named type of the protocol and writes it again.
func through(typeName string, data []byte) ([]byte, error) {
	switch typeName {
	case "ClientMessage":
		return again(DecodeClientMessage(data))
	case "ServerEvent":
		event, err := DecodeServerEvent(data)
		if _, ok := event.(UnknownEvent); ok {
			return []byte(`{"type":"unknown"}`), nil // as the vectors write any of them
		}
		return again(event, err)
	case "DaemonCommand":
		return again(DecodeCommand(data))
	}
	t, ok := nouns()[typeName]
	if !ok {
		return nil, fmt.Errorf("no Go type for %s", typeName)
	}
	p := reflect.New(t)
	d := &decoder{data: data}
	if err := d.whole(p.Elem()); err != nil {
		return nil, err
	}
	return Encode(p.Elem().Interface())
}

func again[T any](v T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return Encode(v)
}

// nouns are the types that vectors name, by their name in the protocol.
func nouns() map[string]reflect.Type {
	types := map[string]reflect.Type{
		"WorkbenchSession": reflect.TypeFor[Session](), "WorkbenchJob": reflect.TypeFor[Job](),
		"WorkbenchRun": reflect.TypeFor[Run](), "WorkbenchApproval": reflect.TypeFor[Approval](),
		"WorkbenchSnapshot": reflect.TypeFor[Snapshot](),
	}
	for _, v := range slices.Concat(objects(), enums()) {
		types[reflect.TypeOf(v).Name()] = reflect.TypeOf(v)
	}
	return types
}

func objects() []any {
	return []any{
		WorktreeRef{},
		WorktreeInfo{},
		AttachOffer{},
		RestorableSession{},
		RunEvent{},
		RunLogPage{},
		JobResult{},
		AttachColor{},
		AttachSpan{},
		AttachRow{},
		AttachPage{},
		RestoredQueue{},
		TriedReviewer{},
		Refusal{},
		OpenFinding{},
		ReviewSummary{},
		LandingSummary{},
		JobOutcome{},
		TurnOrigin{},
		JobChange{},
		JobReport{},
		Attachment{},
		ReplyAttachment{},
		QueueEntry{},
		PeerInfo{},
		Usage{},
		ChatLog{},
		ComponentHealth{},
		MailCounts{},
		MailAction{},
		ConfirmInfo{},
		RestartInfo{},
		DelegationSummary{},
		DelegationInfo{},
		ProjectSummary{},
		ProjectTask{},
		ProjectRun{},
		ProjectEvent{},
		ProjectReport{},
		ProjectResponse{},
		DaemonStatus{},
	}
}

func enums() []any {
	return []any{
		AgentState(0), JobOrigin(""), AttachState(""), RunEventKind(""), SendMode(""), ReviewOutcome(""),
		ReviewerResult(""), LandMode(""), LandingStatus(""), LandingEvidence(""), JobStatus(""), OriginKind(""),
		ErrorCode(""), ToolErrorKind(""), ComponentState(""), Purpose(""), RemoteTools(""), Senders(""),
		ConfirmState(""), ProjectPhase(""), ProjectStatus(""), ProjectTaskStatus(""), ProjectRunStatus(""),
		ApprovalKind(""), ApprovalState(""), RuleScope(""), RuleEffect(""), RuleDecision(""),
	}
}

// sameJSON compares two texts as JSON values: whole numbers of 64 bits as they are written, others by value.
func sameJSON(a, b []byte) bool {
	x, errX := anyJSON(a)
	y, errY := anyJSON(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func anyJSON(data []byte) (v any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	err = decoder.Decode(&v)
	return plainNumbers(v), err
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = plainNumbers(member)
		}
	case []any:
		for i, element := range v {
			v[i] = plainNumbers(element)
		}
	case json.Number:
		if _, err := strconv.ParseUint(strings.TrimPrefix(v.String(), "-"), 10, 64); err == nil {
			return v
		}
		f, err := v.Float64()
		if err == nil {
			return f
		}
	}
	return v
}

func TestVectorsEncode(t *testing.T) {
	runEncodeVectors(t, readVectors(t, filepath.Join(vectorFolder(t), "encode-*.jsonl")))
}

func TestVectorsDecode(t *testing.T) {
	runDecodeVectors(t, readVectors(t, filepath.Join(vectorFolder(t), "decode-*.jsonl")))
}

func TestOwnVectors(t *testing.T) {
	runEncodeVectors(t, readVectors(t, filepath.Join("testdata", "encode-*.jsonl")))
	runDecodeVectors(t, readVectors(t, filepath.Join("testdata", "decode-*.jsonl")))
}

func ownVectors(t testing.TB) []vector {
	t.Helper()
	return readVectors(t, filepath.Join("testdata", "*-own.jsonl"))
}

func runEncodeVectors(t *testing.T, vectors []vector) {
	t.Helper()
	for _, v := range vectors {
		out, err := through(v.Type, []byte(v.Text))
		if err != nil {
			t.Errorf("%s/%s: %v\n%s", v.Type, v.Case, err, v.Text)
		} else if !sameJSON(out, v.JSON) {
			t.Errorf("%s/%s: written\n%s\nwant\n%s", v.Type, v.Case, out, v.Text)
		}
	}
	t.Logf("%d encode cases", len(vectors))
}

func runDecodeVectors(t *testing.T, vectors []vector) {
	t.Helper()
	core, edge := 0, []string(nil)
	for _, v := range vectors {
		problem := decodeProblem(t, &v)
		switch {
		case v.Tier == "core":
			core++
			if problem != "" {
				t.Errorf("%s/%s: %s\n%.400s", v.Type, v.Case, problem, v.Input)
			}
		case problem != "":
			edge = append(edge, v.Type+"/"+v.Case+": "+problem)
		}
	}
	t.Logf("%d decode cases, %d core; of the edge ones %d differ", len(vectors), core, len(edge))
	if testing.Verbose() {
		t.Log(strings.Join(edge, "\n"))
	}
}

func decodeProblem(t *testing.T, v *vector) string {
	out, err := through(v.Type, v.input(t))
	switch {
	case v.OK && err != nil:
		return "refused: " + err.Error()
	case !v.OK && err == nil:
		return fmt.Sprintf("accepted as %.200s", out)
	case !v.OK:
		return ""
	case !sameJSON(out, []byte(v.Reencoded)):
		return fmt.Sprintf("read as\n%s\nwant\n%s", out, v.Reencoded)
	}
	return ""
}
