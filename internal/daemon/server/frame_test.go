package server

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"scv/internal/wire"
)

const hello = `{"type":"initialize","request_id":"i","protocol_version":3,"client":{"name":"x","version":"1"}}`

// exchange writes bytes, ends the client's half and returns everything that came back, a line each.
func exchange(t *testing.T, b *bench, in string) []string {
	t.Helper()
	nc, err := net.Dial("unix", b.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := io.WriteString(nc, in); err != nil {
		t.Fatal(err)
	}
	if err := nc.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(nc)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		return nil
	}
	if out[len(out)-1] != '\n' {
		t.Errorf("the last answer has no line ending: %.80q", out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// brief is an event as a table can hold it: type, request id, code and whether it is fatal.
func brief(t *testing.T, line string) string {
	t.Helper()
	event, err := wire.DecodeServerEvent([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	e, ok := event.(wire.ErrorEvent)
	if !ok {
		switch e := event.(type) {
		case wire.Initialized:
			return "initialized " + string(e.RequestID)
		case wire.DaemonStatusEvent:
			return "status " + string(e.RequestID)
		}
		return event.EventType()
	}
	id := "-"
	if e.RequestID != nil {
		id = string(*e.RequestID)
	}
	out := fmt.Sprintf("error %s %s", id, e.Code)
	if e.Fatal {
		out += " fatal"
	}
	if e.Message == "" {
		t.Errorf("%s: no sentence", line)
	}
	return out
}

// TestFrames is wire.md sections 2.2, 2.3 and 3, a row for each rule of a daemon's reader.
func TestFrames(t *testing.T) {
	b := newBench(t, setup{})
	status := `{"type":"daemon.control","request_id":"s","command":{"action":"status"}}`
	pad := func(n int) string {
		head := `{"type":"daemon.control","request_id":"s","command":{"action":"status","pad":"`
		return head + strings.Repeat("x", n-len(head)-len(`"}}`)) + `"}}`
	}
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	tests := map[string]struct {
		in   string
		want []string
	}{
		"handshake":                 {hello + "\n", []string{"initialized i"}},
		"carriage returns":          {hello + "\r\r\n" + status + "\r\n", []string{"initialized i", "status s"}},
		"empty line":                {"\n" + hello + "\n", []string{"error - invalid_json", "initialized i"}},
		"nothing at all":            {"", nil},
		"not JSON":                  {hello + "\nhello\n" + status + "\n", []string{"initialized i", "error - invalid_json", "status s"}},
		"no object":                 {"[1]\n", []string{"error - invalid_json"}},
		"unknown type":              {`{"type":"tea","request_id":"q"}` + "\n", []string{"error - invalid_json"}},
		"unknown action":            {hello + "\n" + `{"type":"daemon.control","request_id":"q","command":{"action":"tea"}}` + "\n", []string{"initialized i", "error - invalid_json"}},
		"unknown closed enum":       {hello + "\n" + `{"type":"daemon.control","request_id":"q","command":{"action":"workbench_send","session":"s","conversation":"codex-1","prompt":"p","mode":"maybe"}}` + "\n", []string{"initialized i", "error - invalid_json"}},
		"missing field":             {`{"type":"initialize","protocol_version":3,"client":{"name":"x","version":"1"}}` + "\n", []string{"error - invalid_json"}},
		"wrong case of a name":      {strings.Replace(hello, "request_id", "Request_id", 1) + "\n", []string{"error - invalid_json"}},
		"type comes last":           {`{"client":{"version":"1","name":"x"},"protocol_version":3,"request_id":"i","type":"initialize"}` + "\n", []string{"initialized i"}},
		"unknown fields":            {strings.Replace(hello, "{", `{"new":{"a":[1,2]},"new":1,`, 1) + "\n", []string{"initialized i"}},
		"white space":               {" \t" + hello + " \n", []string{"initialized i"}},
		"second value":              {hello + hello + "\n", []string{"error - invalid_json"}},
		"byte order mark":           {"\ufeff" + hello + "\n", []string{"error - invalid_json"}},
		"trailing comma":            {strings.TrimSuffix(hello, "}") + ",}\n", []string{"error - invalid_json"}},
		"not UTF-8":                 {strings.Replace(hello, `"x"`, "\"\xff\"", 1) + "\n", []string{"error - invalid_json"}},
		"NUL bytes":                 {"\x00\x00\x00\n", []string{"error - invalid_json"}},
		"lone surrogate":            {strings.Replace(hello, `"x"`, `"\ud800"`, 1) + "\n", []string{"error - invalid_json"}},
		"key twice":                 {strings.Replace(hello, "{", `{"request_id":"a",`, 1) + "\n", []string{"error - invalid_json"}},
		"deep":                      {strings.Replace(hello, "{", `{"new":`+deep+",", 1) + "\n", []string{"error - invalid_json"}},
		"cut off frame is answered": {hello, []string{"initialized i"}},
		"cut off nonsense":          {hello + "\n" + `{"type":"dae`, []string{"initialized i", "error - invalid_json"}},
		"exactly the limit":         {hello + "\n" + pad(wire.MaxClientFrame) + "\r\n", []string{"initialized i", "status s"}},
		"above the limit":           {hello + "\n" + pad(wire.MaxClientFrame+1) + "\n" + status + "\n", []string{"initialized i", "error - invalid_request", "status s"}},
		"far above the limit":       {hello + "\n" + strings.Repeat("y", 5<<20) + "\n" + status + "\n", []string{"initialized i", "error - invalid_request", "status s"}},
		"above the limit, cut off":  {hello + "\n" + strings.Repeat("y", 2<<20), []string{"initialized i", "error - invalid_request"}},
		"other message first":       {status + "\n" + hello + "\n", []string{"error s not_initialized", "initialized i"}},
		"session first":             {`{"type":"session.clear","request_id":"c","session_id":"s"}` + "\n", []string{"error c not_initialized"}},
		"other version":             {strings.Replace(hello, ":3,", ":4,", 1) + "\n" + hello + "\n", []string{"error i version_mismatch fatal"}},
		"second handshake":          {hello + "\n" + hello + "\n" + status + "\n", []string{"initialized i", "error i invalid_request", "status s"}},
		"other version later":       {hello + "\n" + strings.Replace(hello, ":3,", ":2,", 1) + "\n" + status + "\n", []string{"initialized i", "error i version_mismatch fatal"}},
		"empty request id":          {hello + "\n" + strings.Replace(status, `"s"`, `""`, 1) + "\n" + `{"type":"session.clear","request_id":"","session_id":"s"}` + "\n", []string{"initialized i", "status ", "error - session_not_found"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := []string{}
			for _, line := range exchange(t, b, tt.in) {
				got = append(got, brief(t, line))
			}
			if strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestHandshakeTellsFeaturesAndHome(t *testing.T) {
	b := newBench(t, setup{})
	c := b.dial()
	c.write(hello)
	got := c.read()
	if got["home"] != "home-1" || got["protocol_version"].(interface{ String() string }).String() != "3" {
		t.Errorf("got %v", got)
	}
	server, _ := got["server"].(map[string]any)
	if server["name"] != Name || server["version"] != "9.9" {
		t.Errorf("server: %v", server)
	}
	has := fmt.Sprint(got["features"])
	for _, f := range features() {
		if !strings.Contains(has, f) {
			t.Errorf("feature %s is not announced in %s", f, has)
		}
	}
}

// Listen first, recover after: bad input is answered at once, all else waits.
func TestRequestsWaitForRecovery(t *testing.T) {
	b := newBench(t, setup{late: true})
	c := b.dial()
	c.write("nonsense")
	if got := c.read(); got["code"] != "invalid_json" {
		t.Errorf("got %v", got)
	}
	c.write(hello)
	c.write(`{"type":"daemon.control","request_id":"s","command":{"action":"status"}}`)
	b.ready()
	if got := c.read(); got["type"] != "initialized" {
		t.Errorf("got %v", got)
	}
	if got := c.read(); got["type"] != "daemon.status" {
		t.Errorf("got %v", got)
	}
}

// A daemon that stops before it has recovered lets nobody wait.
func TestStopDuringRecovery(t *testing.T) {
	b := newBench(t, setup{late: true})
	c := b.dial()
	c.write(hello)
}

func TestLabels(t *testing.T) {
	for in, want := range map[string]string{
		"scv-tui": "scv-tui", "": "client", "\x1b[31m\n": "[31m", "a\u202eb": "ab",
		strings.Repeat("ä", 40): strings.Repeat("ä", 32), "\u200b": "client",
	} {
		if got := label(in); got != want {
			t.Errorf("label(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(hello + "\n" + `{"type":"daemon.control","request_id":"s","command":{"action":"workbench"}}`)
	f.Add("\x00\xff\n{}\n")
	f.Add(strings.Repeat(`{"type":"initialize"}`+"\n", 3))
	f.Fuzz(func(t *testing.T, in string) {
		b := newBench(t, setup{})
		for _, line := range exchange(t, b, in) {
			if _, err := wire.DecodeServerEvent([]byte(line)); err != nil {
				t.Errorf("answered %q: %v", line, err)
			}
		}
	})
}
