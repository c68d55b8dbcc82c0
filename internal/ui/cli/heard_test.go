package cli

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
)

// TestU11_WhatFollowsEndsWithItsReader: without a further line, and not before.
func TestU11_WhatFollowsEndsWithItsReader(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	f := newFactory(System{Out: write})
	still, done := whileHeard(t.Context(), write)
	done()
	if cause := context.Cause(still); !errors.Is(cause, context.Canceled) {
		t.Fatalf("while it was read it ended by %v", cause)
	}
	heard, done := whileHeard(t.Context(), write)
	defer done()
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	<-heard.Done()
	if err := f.detached(heard, heard.Err(), ""); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("its end is told as %v", err)
	}
}
