package desk

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"scv/internal/run/control"
	"scv/internal/terminal/takeover"
)

// oldShim answers at a socket as one does that takes no numbered input, or with drop once only closes the connection.
func oldShim(t *testing.T, knows, drop bool) (socket string, got func() []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "desk") // short: a socket's path is at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "ctl")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var typed []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				var q control.Request
				if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
					t.Errorf("the shim got %q", lines.Bytes())
				}
				typed = append(typed, fmt.Sprintf("%s %s", q.Type, q.Payload()))
				if drop {
					drop = false
					break
				}
				reply := control.Reply{Type: control.TypeOK}
				if q.Type == control.TypeTyped && !knows {
					reply = control.Reply{Type: control.TypeUnknown, What: q.Type}
				}
				line, err := control.EncodeLine(reply)
				if _, err2 := conn.Write(line); err != nil || err2 != nil {
					t.Error(err, err2)
				}
			}
			_ = conn.Close()
		}
	}()
	return socket, func() []string {
		_ = l.Close()
		<-done
		return typed
	}
}

// TestAnOlderShimIsTypedInto without numbers. What it may have had is not typed again, since it could not tell.
func TestAnOlderShimIsTypedInto(t *testing.T) {
	socket, got := oldShim(t, false, false)
	s := &shim{socket: socket}
	in := func(text string, again bool) error {
		return s.Type(t.Context(), takeover.Input{Bytes: []byte(text), Typist: "me", Again: again})
	}
	if err := errors.Join(in("one", false), in("two", false)); err != nil {
		t.Fatal(err)
	}
	if err := in("three", true); err == nil || !strings.Contains(err.Error(), "older release") {
		t.Errorf("what it may have had: %v", err)
	}
	if err := s.Type(t.Context(), takeover.Input{Bytes: []byte("four")}); err != nil {
		t.Error(err)
	}
	s.close()
	if got, want := got(), []string{"typed one", "type one", "type two", "type four"}; !slices.Equal(got, want) {
		t.Errorf("it got %q, want %q", got, want)
	}
}

// TestALostLinkIsNoLossOfNumberedInput: it is offered again over another, and other input is not.
func TestALostLinkIsNoLossOfNumberedInput(t *testing.T) {
	for _, c := range []struct {
		typist string
		want   []string
	}{{"me", []string{"typed one", "typed one"}}, {"", []string{"type one"}}} {
		socket, got := oldShim(t, true, true)
		s := &shim{socket: socket}
		err := s.Type(t.Context(), takeover.Input{Bytes: []byte("one"), Typist: c.typist})
		if lost := errors.Is(err, control.ErrLinkClosed); lost != (c.typist == "") {
			t.Errorf("typed by %q: %v", c.typist, err)
		}
		s.close()
		if got := got(); !slices.Equal(got, c.want) {
			t.Errorf("typed by %q it got %q, want %q", c.typist, got, c.want)
		}
	}
}
