package ledger

import (
	"bytes"
	"testing"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// FuzzAccepted: no line makes the parser panic, and one that it takes says nothing but what was written.
func FuzzAccepted(f *testing.F) {
	whole, err := acceptedText(row.Accepted{At: time.UnixMilli(5), What: "start", Job: row.Job{Job: wire.Job{Job: "job-1", Task: "t"}, Num: 1}, Prompt: "p"})
	if err != nil {
		f.Fatal(err)
	}
	line := bytes.TrimSuffix([]byte(whole), []byte("\n"))
	f.Add(line)
	f.Add([]byte(`{"c":"00000000"}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := parseAccepted(data)
		if err != nil {
			return
		}
		again, err := acceptedText(a)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := parseAccepted(bytes.TrimSuffix([]byte(again), []byte("\n"))); err != nil || b.What != a.What || b.Prompt != a.Prompt {
			t.Fatalf("%q came back as %q, %v", data, again, err)
		}
	})
}

// TestS9_AcceptedBitFlips: any single bit that flips in a line is noticed.
func TestS9_AcceptedBitFlips(t *testing.T) {
	whole, err := acceptedText(row.Accepted{At: time.UnixMilli(5), What: "start", Job: row.Job{Num: 1}, Prompt: "the prompt"})
	if err != nil {
		t.Fatal(err)
	}
	line := bytes.TrimSuffix([]byte(whole), []byte("\n"))
	for i := range len(line) * 8 {
		line[i/8] ^= 1 << (i % 8)
		if _, err := parseAccepted(line); err == nil {
			t.Errorf("bit %d: %s", i, line)
		}
		line[i/8] ^= 1 << (i % 8)
	}
	if _, err := parseAccepted(line); err != nil {
		t.Error(err)
	}
}
