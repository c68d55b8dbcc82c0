package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"scv/internal/home"
	"scv/internal/wire"
)

// A machine that has much to do may take longer to start a daemon than a handshake may last: that is no failed start.
func TestAStartingDaemonMayBeSilentAtFirst(t *testing.T) {
	f, h, l := seat(t)
	served := make(chan error, 1)
	go func() {
		silent, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		defer silent.Close()
		c, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		defer c.Close()
		served <- greet(c)
	}()
	c, err := f.await(t.Context(), h, nil, 0)
	if err != nil {
		t.Fatalf("a daemon that answered the second time: %v", err)
	}
	c.Close()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}

// Two people stop one daemon: it is gone before it answers the second, who got what was wanted.
func TestADaemonThatEndsMeanwhileIsStopped(t *testing.T) {
	f, _, l := seat(t)
	served := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = greet(c)
			l.Close()
			c.Close()
		}
		served <- err
	}()
	if err := runStop(t.Context(), &stopOptions{f: f}); err != nil {
		t.Errorf("a daemon that ended by itself is not stopped: %v", err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}

// A daemon that is replaced in the middle of a question that changes nothing is asked again.
func TestReadingBridgesARestart(t *testing.T) {
	f, _, l := seat(t)
	served := make(chan error, 1)
	go func() {
		for range 2 { // the old one goes away before its answer, and so does its successor in the handshake
			c, err := l.Accept()
			if err == nil {
				err = greet(c)
				c.Close()
			}
			if err != nil {
				served <- err
				return
			}
		}
		c, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		defer c.Close()
		if err = greet(c); err == nil {
			_, err = bufio.NewReader(c).ReadBytes('\n')
		}
		if err == nil {
			_, err = fmt.Fprintln(c, `{"type":"daemon.status","request_id":"2","status":{"version":"1","pid":1,"components":[],"delegations":{"active":0,"reaped":0},"workbench":{"generated_unix_seconds":7}}}`)
		}
		served <- err
	}()
	r, view, err := f.view(t.Context())
	if err != nil {
		t.Fatalf("a look during a restart: %v", err)
	}
	r.close()
	if view.GeneratedUnixSeconds != 7 {
		t.Errorf("another answer: %+v", view)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// seat is a home whose daemon the test plays.
func seat(t *testing.T) (*factory, *home.Home, net.Listener) {
	t.Helper()
	dir, err := os.MkdirTemp("", "scv") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := newFactory(System{Out: io.Discard, Err: io.Discard, Environ: []string{"SCV_HOME=" + dir}, Version: "1", Now: time.Now})
	t.Cleanup(f.close)
	h, err := f.openHome()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", h.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return f, h, l
}

// greet answers one handshake.
func greet(c net.Conn) error {
	line, err := bufio.NewReader(c).ReadBytes('\n')
	if err != nil {
		return err
	}
	var asked struct {
		ID string `json:"request_id"`
	}
	if err := json.Unmarshal(line, &asked); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c, `{"type":"initialized","request_id":%q,"protocol_version":%d,"server":{"name":"x","version":"1"}}`+"\n",
		asked.ID, wire.ProtocolVersion)
	return err
}
