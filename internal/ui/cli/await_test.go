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

	"scv/internal/wire"
)

// A machine that has much to do may take longer to start a daemon than a handshake may last: that is no failed start.
func TestAStartingDaemonMayBeSilentAtFirst(t *testing.T) {
	dir, err := os.MkdirTemp("", "scv") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := newFactory(System{Out: io.Discard, Err: io.Discard, Environ: []string{"SCV_HOME=" + dir}, Version: "1", Now: time.Now})
	defer f.close()
	h, err := f.openHome()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", h.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
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
