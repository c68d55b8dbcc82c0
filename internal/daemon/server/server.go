// Package server answers protocol 3 at the daemon's socket: one file for each action, which decodes, checks bounds and
// calls one method of the hub. It owns connections and nothing else; only package daemon makes a Server.
//
// A connection is one goroutine that reads a message, answers it and writes the answer before it reads the next, so
// answers come in order, a client holds at most one unread answer, and its memory is that answer's. A client that does
// not read for Options.Stall is cut, with the reason in the daemon's log. A watching connection holds at most one
// unsent page, made from the values of the moment when it is written: intermediate values are skipped, final ones never.
//
// The server accepts before the daemon has recovered: it answers the handshake's faults and bad input at once, and all
// else once Ready was called.
package server

import (
	"context"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"scv/internal/home"
	"scv/internal/repo"
	"scv/internal/repo/work"
	"scv/internal/run/runlog"
	"scv/internal/safe/redact"
	"scv/internal/session"
	"scv/internal/wire"
	"scv/internal/workbench/hub"
)

// Name is what the daemon calls itself in the handshake; no client checks it.
const Name = "scv"

// DefaultStall is how long a client may leave an answer unread before it is cut (reliability.md section 10).
const DefaultStall = 5 * time.Second

// Options are what a server needs before anything is recovered.
type Options struct {
	Version string
	Log     *slog.Logger
	Now     func() time.Time
	Stall   time.Duration  // DefaultStall when zero
	Stop    func(all bool) // the owner wants the daemon's end; called once the answer is written
	Started time.Time
	// Succession is how a client restarts the daemon; nil refuses it.
	Succession Succession
	// Stdio is set of a server for one client, on standard input: it has sessions, and nothing of a daemon.
	Stdio bool
}

// A Workbench is what the server answers from once the daemon has recovered. Its fields are not changed afterwards.
type Workbench struct {
	Hub     *hub.Hub
	Records Records
	Home    *home.Home
	HomeID  string
	Mask    func() *redact.Masker
	Notify  *runlog.Notifier
	Screens Screens
	// Reread looks whether the owner's settings were changed, and refuses a start with what is wrong with them; Agents, Mode
	// and Fits are then by what it read. Nil: they never change.
	Reread func() error
	Agents func() []string                               // names that a job may ask for, sorted
	Mode   func(workspace, agent string) (string, error) // permission mode of a job that names none
	// Fits refuses a job that its agent is known not to be able to serve over a transport, or with a model or an effort; nil
	// refuses none.
	Fits     func(agent, transport, model, effort string) error
	Problems func() []string
	// Reviewers are who may review a builder's work when nobody is named, best first.
	Reviewers func(builder string) []string
	// Journal draws a name for the record of a review.
	Journal func() string

	Trees  *repo.Trees
	Work   *work.Bench
	Ground Ground // nil: no worktrees, and neither of the two above

	Sessions *session.Host
	Talks    Talks
}

// A Server serves one daemon's connections. All its methods may be called from any goroutine.
type Server struct {
	opt    Options
	ready  chan struct{} // closed by Ready
	bench  atomic.Pointer[Workbench]
	pages  pages
	kin    lineage
	conns  sync.WaitGroup
	reaped atomic.Uint64 // runs ended by delegation_kill
	cut    atomic.Uint64 // clients cut because they did not read
}

// New makes a server that accepts and waits for Ready.
func New(opt Options) *Server {
	if opt.Stall == 0 {
		opt.Stall = DefaultStall
	}
	return &Server{opt: opt, ready: make(chan struct{}), kin: lineage{daemon: os.Getpid()}}
}

// Ready says that the daemon has recovered and gives what to answer from. It is called at most once.
func (s *Server) Ready(w Workbench) {
	s.bench.Store(&w)
	close(s.ready)
}

// workbench waits until the daemon has recovered.
func (s *Server) workbench(ctx context.Context) (*Workbench, error) {
	select {
	case <-s.ready:
		return s.bench.Load(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Serve accepts connections until ctx ends or the listener fails, and returns when all of them are gone. It closes the
// listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer s.conns.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	go rehearse()
	a := acceptor{listener: l, log: s.opt.Log, reserve: newReserve()}
	defer a.reserve.close()
	for {
		conn, err := a.accept(ctx)
		if ctx.Err() != nil {
			if conn != nil {
				conn.Close()
			}
			return nil
		}
		if err != nil {
			return err
		}
		s.conns.Go(func() { s.Handle(ctx, conn) })
	}
}

// rehearse makes the decoder and the encoder learn the shapes of a first request and its answer while the workbench is
// still being read: they would take some milliseconds of the answer's time.
func rehearse() {
	_, _ = wire.DecodeClientMessage([]byte(`{"type":"initialize","request_id":"r","protocol_version":3,"client":{"name":"","version":""}}`))
	_, _ = wire.Encode(wire.Initialized{})
	_, _ = wire.Encode(wire.DaemonStatusEvent{})
}

// Speak serves one connection of a server with Options.Stdio until it ends or ctx does.
func (s *Server) Speak(ctx context.Context, nc net.Conn) {
	newConn(s, nc, peer{}).serve(ctx)
	s.conns.Wait()
}

// Handle serves one connection until it ends or ctx does, and closes it. A peer of another user is closed without a
// byte.
func (s *Server) Handle(ctx context.Context, nc net.Conn) {
	p, known, err := peerOf(nc)
	if err != nil || known && p.uid != uint32(os.Getuid()) {
		s.opt.Log.Warn("refused a connection of another user", "uid", p.uid, "error", err)
		nc.Close()
		return
	}
	c := newConn(s, nc, p)
	c.serve(ctx)
}
