//go:build linux

package tui

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"scv/internal/client"
	"scv/internal/testkit/census"
	"scv/internal/testkit/glass"
	"scv/internal/ui/tui/feed"
	"scv/internal/ui/tui/model"
	"scv/internal/wire"
)

// playKey makes this test program a dashboard in the terminal that a test gave it.
const playKey = "SCV_TUI_PLAYS"

func TestMain(m *testing.M) {
	if play := os.Getenv(playKey); play != "" {
		os.Exit(played(context.Background(), play))
	}
	os.Exit(census.Main(m))
}

// played shows a dashboard without a daemon, in which something goes wrong.
func played(ctx context.Context, what string) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opts := Options{
		Model: model.Options{NewKey: client.NewKey, Zone: time.UTC}, Env: os.Getenv, Out: os.Stdout, Now: time.Now,
		Feed: feed.Options{Target: client.Target{Socket: "/nowhere/sock", Client: wire.PeerInfo{Name: "t", Version: "1"}}},
		Exit: func(code int) {
			fmt.Fprintln(os.Stderr, "abandoned")
			os.Exit(code)
		},
	}
	switch what {
	case "panic of the feed":
		opts.Feed.Start = func(context.Context) error { panic("the feed broke") }
	case "end":
		opts.Feed.Start = func(ctx context.Context) error {
			time.AfterFunc(100*time.Millisecond, cancel)
			return nil
		}
	}
	if err := Run(ctx, opts); err != nil {
		fmt.Fprintln(os.Stderr, "said:", err)
		return 2
	}
	return 0
}

func play(t *testing.T, what string) *glass.Terminal {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=none")
	cmd.Env = append(os.Environ(), playKey+"="+what, "TERM=xterm-256color")
	term, err := glass.Start(cmd, glass.How{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	return term
}

func ends(t *testing.T, term *glass.Terminal, want string) {
	t.Helper()
	end := term.Wait()
	text := term.Text()
	if end.Err == nil || end.Err.Error() != "exit status 2" || !end.Restored || end.Left != 0 || !strings.Contains(text, want) || strings.Contains(text, "[1 All]") {
		t.Errorf("ended with %v, modes restored %t, %d bytes left; screen:\n%s", end.Err, end.Restored, end.Left, text)
	}
}

func TestE16_APanicGivesTheTerminalBack(t *testing.T) {
	ends(t, play(t, "panic of the feed"), "said: the dashboard failed: the feed broke")

	term := play(t, "panic of the loop")
	if text, err := term.Until(t.Context(), func(s string) bool { return strings.Contains(s, "OFFLINE") }); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if err := term.Type("n"); err != nil {
		t.Fatal(err)
	}
	if text, err := term.Until(t.Context(), func(s string) bool { return strings.Contains(s, "New job") }); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if err := term.Type("\x0f"); err != nil { // the editor's file would be in the home, and there is none
		t.Fatal(err)
	}
	ends(t, term, "said: the dashboard failed: runtime error")
}

func TestE16_TheEndFromOutsideGivesTheTerminalBack(t *testing.T) {
	ends(t, play(t, "end"), "said: context canceled")
}
