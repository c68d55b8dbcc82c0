package fakemodel

import (
	"context"
	"encoding/json"
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
		_, _ = s.w.Write([]byte("event: " + name + "\n"))
	}
	_, _ = s.w.Write(append(append([]byte("data: "), data...), "\n\n"...))
	s.flush()
}

// raw writes one data line as it is.
func (s *stream) raw(line string) {
	s.open()
	_, _ = s.w.Write([]byte("data: " + line + "\n\n"))
	s.flush()
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
