package server

import (
	"bytes"
	"sync"
)

// syncBuffer is a log that tests read and wait for.
type syncBuffer struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more *sync.Cond
}

func newSyncBuffer() *syncBuffer {
	s := &syncBuffer{}
	s.more = sync.NewCond(&s.mu)
	return s
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more.Broadcast()
	return s.b.Write(p)
}

// wait returns once the log holds text n times.
func (s *syncBuffer) wait(text string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for bytes.Count(s.b.Bytes(), []byte(text)) < n {
		s.more.Wait()
	}
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
