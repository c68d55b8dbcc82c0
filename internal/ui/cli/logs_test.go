package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFollowedDaemonLogLosesNothingWhenItTurns writes lines, puts the log aside and goes on: each line comes once.
func TestFollowedDaemonLogLosesNothingWhenItTurns(t *testing.T) {
	dir := t.TempDir()
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	f := newFactory(System{Out: w, Err: io.Discard, Environ: []string{"SCV_HOME=" + dir}, Now: time.Now})
	defer f.close()
	h, err := f.openHome()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(h.Path(), "state", "daemon.log")
	add := func(text string) {
		file, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	add("zero\none\n")
	ended := make(chan error, 1)
	go func() {
		err := runLogs(ctx, &logsOptions{f: f, follow: true, tail: 1})
		w.Close()
		ended <- err
	}()
	var got bytes.Buffer
	until := func(text string) {
		buf := make([]byte, 64)
		for !strings.Contains(got.String(), text) {
			n, err := r.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(buf[:n])
		}
	}
	until("one\n")
	add("two\nhal")
	until("two\n")
	add("f\nlast\n")
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	add("new\n")
	until("new\n")
	cancel()
	if err := <-ended; err == nil {
		t.Error("an interrupt is exit code 0")
	}
	if want := "one\ntwo\nhalf\nlast\nnew\n"; got.String() != want {
		t.Errorf("%q, want %q", got.String(), want)
	}
}
