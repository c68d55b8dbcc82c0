package fakemodel

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// A stream is the answer's body: server-sent events, or one JSON value when the request wants no stream.
type stream struct {
	w     http.ResponseWriter
	ctx   context.Context
	stop  <-chan struct{}
	plain bool
	begun bool

	// A bounded answer ends after left bytes: the connection breaks when it is abrupt.
	bounded, abrupt bool
	left            int
}

// open sends the head of the answer.
func (s *stream) open() {
	if s.begun {
		return
	}
	s.begun = true
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.WriteHeader(http.StatusOK)
	s.flush()
}

func (s *stream) flush() {
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// event writes one event; name may be empty. A client that is gone is noticed by wait, so errors are left.
func (s *stream) event(name string, value any) {
	s.open()
	data, _ := json.Marshal(value)
	if name != "" {
		s.write([]byte("event: " + name + "\n"))
	}
	s.write(append(append([]byte("data: "), data...), "\n\n"...))
	s.flush()
}

// raw writes one data line as it is.
func (s *stream) raw(line string) {
	s.open()
	s.write([]byte("data: " + line + "\n\n"))
	s.flush()
}

// errEnd ends a bounded answer in an orderly way.
var errEnd = errors.New("the answer ends here")

// write writes what the bound leaves, and leaves the answer's code when it is met.
func (s *stream) write(data []byte) {
	if !s.bounded || len(data) <= s.left {
		_, _ = s.w.Write(data)
		s.left -= len(data)
		return
	}
	_, _ = s.w.Write(data[:s.left])
	s.flush()
	if s.abrupt {
		panic(http.ErrAbortHandler)
	}
	panic(errEnd)
}

// recover is deferred by who plays an answer.
func (s *stream) recover() {
	if r := recover(); r != nil && r != errEnd {
		panic(r)
	}
}

// wait passes time; it ends early when the client or the server goes.
func (s *stream) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	case <-s.stop:
	}
}
