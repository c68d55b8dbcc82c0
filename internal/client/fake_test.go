package client

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"scv/internal/testkit/census"
	"scv/internal/wire"
	"scv/internal/wire/frame"
)

func TestMain(m *testing.M) { os.Exit(census.Main(m)) }

// fake is a daemon whose connections are played by a function.
type fake struct {
	t      *testing.T
	target Target
	l      net.Listener
	wg     sync.WaitGroup
}

// link is one connection as the fake daemon sees it.
type link struct {
	t  *testing.T
	nc net.Conn
	in *frame.Reader
}

func newFake(t *testing.T, play func(n int, l *link)) *fake {
	t.Helper()
	f := &fake{t: t, target: Target{Socket: filepath.Join(t.TempDir(), "s"), Client: wire.PeerInfo{Name: "scv-cli", Version: "test"}}}
	f.listen(play)
	return f
}

func (f *fake) listen(play func(n int, l *link)) {
	var err error
	f.l, err = net.Listen("unix", f.target.Socket)
	if err != nil {
		f.t.Fatal(err)
	}
	listener := f.l
	f.wg.Go(func() {
		for n := 0; ; n++ {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			f.wg.Go(func() {
				defer nc.Close()
				play(n, &link{t: f.t, nc: nc, in: frame.NewReader(nc, wire.MaxClientFrame)})
			})
		}
	})
	f.t.Cleanup(func() {
		listener.Close()
		f.wg.Wait()
	})
}

// next reads a message; nil when the client left.
func (l *link) next() wire.ClientMessage {
	line, err := l.in.Next()
	if err != nil {
		if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
			l.t.Logf("fake daemon: %v", err)
		}
		return nil
	}
	msg, err := wire.DecodeClientMessage(line)
	if err != nil {
		l.t.Errorf("fake daemon got %.200q: %v", line, err)
		return nil
	}
	return msg
}

func (l *link) send(events ...wire.ServerEvent) {
	for _, e := range events {
		data, err := wire.Encode(e)
		if err != nil {
			l.t.Errorf("fake daemon: %v", err)
			return
		}
		if _, err := l.nc.Write(append(data, '\n')); err != nil {
			return
		}
	}
}

// hello shakes hands.
func (l *link) hello(features ...string) bool {
	init, ok := l.next().(wire.Initialize)
	if !ok {
		return false
	}
	home := "home-1"
	answer := wire.Initialized{
		RequestID: init.RequestID, ProtocolVersion: wire.ProtocolVersion,
		Server: wire.PeerInfo{Name: "fake", Version: "1"}, Features: features,
	}
	if len(features) > 0 {
		answer.Home = &home
	}
	l.send(answer)
	return true
}

// command reads a daemon.control.
func (l *link) command() (wire.RequestID, wire.Command) {
	m, ok := l.next().(wire.DaemonControl)
	if !ok {
		return "", nil
	}
	return m.RequestID, m.Command
}

// status answers with a status.
func (l *link) status(id wire.RequestID, st wire.DaemonStatus) {
	st.Version, st.PID = "1", 1
	l.send(wire.DaemonStatusEvent{RequestID: id, Status: st})
}

// drain waits until the client leaves.
func (l *link) drain() {
	for l.next() != nil {
	}
}
