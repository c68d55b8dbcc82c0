package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	ours "scv/internal/ui/mcp"
)

// server has a tool that says what it got, one that fails, and one that waits for its end.
func server(waits chan<- struct{}) ours.Server {
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
	return ours.Server{Name: "scv", Version: "1", Instructions: "be brief", Tools: []ours.Tool{
		{Name: "echo", Description: "Says it again.", Schema: schema, ReadOnly: true, Run: func(_ context.Context, args json.RawMessage) (string, error) {
			return "got " + string(args), nil
		}},
		{Name: "fail", Schema: schema, Run: func(context.Context, json.RawMessage) (string, error) { return "", errors.New("it is broken") }},
		{Name: "wait", Schema: schema, Run: func(ctx context.Context, _ json.RawMessage) (string, error) {
			waits <- struct{}{}
			<-ctx.Done()
			waits <- struct{}{}
			return "", ctx.Err()
		}},
	}}
}

// TestClientOfTheOfficialLibrary lists and calls tools, several at once, and takes a call back.
func TestClientOfTheOfficialLibrary(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	waits := make(chan struct{})
	served := make(chan error, 1)
	go func() { served <- server(waits).Serve(t.Context(), inR, outW) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if hello := client.InitializeResult(); hello.ServerInfo.Name != "scv" || hello.Instructions != "be brief" {
		t.Errorf("greeted with %+v", hello)
	}
	list, err := client.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 3 || !list.Tools[0].Annotations.ReadOnlyHint || list.Tools[1].Annotations.ReadOnlyHint {
		t.Fatalf("tools %+v: %v", list, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() {
		_, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
		waited <- err
	}()
	<-waits
	for name, want := range map[string]string{"echo": `got {"text":"x"}`, "fail": "it is broken"} {
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]string{"text": "x"}})
		if err != nil || len(r.Content) != 1 || r.Content[0].(*mcp.TextContent).Text != want || r.IsError != (name == "fail") {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
	if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "approve"}); err == nil {
		t.Error("a tool that is not there was called")
	}
	cancel()
	<-waits // the call was told
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call: %v", err)
	}
	if err := client.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("served: %v", err)
	}
}

// TestBadClients sends what no client should: each line is answered or left out, and the next one is served.
func TestBadClients(t *testing.T) {
	var out strings.Builder
	in := strings.Join([]string{
		`no json`, `[]`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}`, `{"jsonrpc":"2.0","id":9,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":[]}`,
		`{"jsonrpc":"2.0","id":"three","method":"initialize","params":{"protocolVersion":"1999-01-01"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"ping"}`,
	}, "\n")
	if err := server(nil).Serve(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for lines := bufio.NewScanner(strings.NewReader(out.String())); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Result struct{ ProtocolVersion string }
			Error  struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		code, err := json.Marshal(m.Error.Code)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(m.ID)+" "+string(code)+" "+m.Result.ProtocolVersion)
	}
	want := "null -32700 |null -32700 |1 -32601 |2 -32602 |\"three\" 0 2025-06-18|4 0 "
	if strings.Join(got, "|") != want {
		t.Errorf("answered %q, want %q", strings.Join(got, "|"), want)
	}
	if err := server(nil).Serve(t.Context(), strings.NewReader(strings.Repeat("x", 5<<20)), io.Discard); err == nil {
		t.Error("a message of 5 MiB was taken")
	}
}
