//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCP_ClientOfTheOfficialLibrary lets a client of the official library work with the workbench: it starts a job,
// waits, reads and sends, is refused in words, and finds no way to approve anything.
func TestMCP_ClientOfTheOfficialLibrary(t *testing.T) {
	base, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	scv := filepath.Join(os.Getenv("SCV_TEST_BIN"), "scv")
	environ := append(os.Environ(), "SCV_HOME="+filepath.Join(base, "h"))
	t.Cleanup(func() {
		cmd := exec.Command(scv, "stop", "--all")
		cmd.Env = environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("stop: %v %s", err, out)
		}
		os.RemoveAll(base)
	})
	cmd := exec.Command(scv, "mcp")
	cmd.Env, cmd.Dir = environ, base
	client, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range list.Tools {
		names = append(names, one.Name)
	}
	if want := []string{"list", "start", "send", "result", "wait"}; !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	call := func(name string, args map[string]any, wantError bool, wants ...string) {
		t.Helper()
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := r.Content[0].(*mcp.TextContent).Text
		for _, want := range wants {
			if r.IsError != wantError || !strings.Contains(text, want) {
				t.Errorf("%s %v: error %v, %q; want error %v with %q", name, args, r.IsError, text, wantError, want)
			}
		}
	}
	call("list", nil, false, "There are no such jobs")
	call("start", map[string]any{"agent": "demo", "prompt": "say hi"}, false, "Accepted as job-1")
	call("wait", map[string]any{"jobs": []string{"job-1"}}, false, `"job":"job-1","agent":"demo","state":"completed"`)
	call("result", map[string]any{"job": "job-1"}, false, "job-1 completed\n\n")
	call("send", map[string]any{"job": "job-1", "prompt": "-"}, false, "job-2")
	call("wait", map[string]any{"jobs": []string{"job-2"}}, false, `"state":"completed"`)
	call("list", map[string]any{"all": true}, false, `"job":"job-1"`, `"job":"job-2"`)
	call("start", map[string]any{"agent": "demo", "prompt": "x", "directory": "/no/such/place"}, true, "there is no directory")
	call("start", map[string]any{"agent": "demo", "prompt": "x", "mode": "auto"}, true, `unknown field "mode"`)
	call("start", map[string]any{"agent": "nobody", "prompt": "x"}, true, "nobody")
	call("result", map[string]any{"job": "job-99"}, true, "job-99")
	if err := client.Close(); err != nil {
		t.Errorf("scv mcp did not end with its input: %v", err)
	}
}
