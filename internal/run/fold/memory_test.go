package fold_test

import (
	"iter"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"

	"scv/internal/agent"
	"scv/internal/agent/catalog"
	"scv/internal/run/fold"
	"scv/internal/run/fold/foldtest"
	"scv/internal/run/spool"
	"scv/internal/wire"
)

// TestSpeed_ALongLineCostsThreeTimesItsSize folds one message of many lines of each live agent, in the pieces that the
// shim writes and with the daemon's share of garbage, and looks at what the heap holds meanwhile. The row of 20 MB in
// bench is about the same of a whole daemon.
func TestSpeed_ALongLineCostsThreeTimesItsSize(t *testing.T) {
	const size = 16_000_000 // of more than what is long in line.go
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	part := strings.Repeat(`a line of text that an agent might write, or print from a file\n`, 240)
	lines := map[string]string{
		"demo-live": `{"type":"text","text":%s}`,
		"claude":    `{"type":"assistant","message":{"content":[{"type":"text","text":%s}]},"session_id":"s"}`,
		"codex":     `{"method":"item/completed","params":{"threadId":"","turnId":"u","item":{"type":"agentMessage","id":"i","text":%s}}}`,
		"mine":      `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}}}`,
	}
	entries := append(catalog.Builtin(), catalog.Entry{Live: new(catalog.ACP("mine", "mine"))})
	for _, entry := range entries {
		format, ok := lines[entry.Name()]
		if !ok {
			continue
		}
		t.Run(entry.Name(), func(t *testing.T) {
			head, tail, _ := strings.Cut(format, "%s")
			grown, logged := foldLine(t, *entry.Live, func(yield func(text string) bool) {
				_ = yield(head + `"`)
				for range size / len(part) {
					_ = yield(part)
				}
				_ = yield(`"` + tail + "\n")
			})
			if grown > 3*size+size/2 { // the half is a collection that came late, as it does beside other tests
				t.Errorf("the heap grew by %d bytes, %.1f times the line", grown, float64(grown)/size)
			}
			if logged < size*9/10 {
				t.Errorf("%d bytes of it are in the log", logged)
			}
		})
	}
}

// foldLine returns by how much the heap grew at its peak and how much text was logged.
func foldLine(t *testing.T, kind agent.Kind, line iter.Seq[string]) (grown uint64, logged int) {
	t.Helper()
	var s foldtest.Script
	s.Start()
	s.In("turn:1", `{"id":1,"method":"turn/start","params":{}}`)
	f := fold.New(foldtest.Options(kind, agent.Settings{}, "x"))
	for _, frame := range s.Frames {
		if err := f.Frame(frame, func(fold.Item) {}); err != nil {
			t.Fatal(err)
		}
	}
	debug.FreeOSMemory()
	base, stop, peaks := heap(), make(chan struct{}), make(chan uint64)
	go func() {
		for peak := uint64(0); ; {
			select {
			case <-stop:
				peaks <- peak
				return
			default:
				peak = max(peak, heap())
			}
		}
	}()
	take := func(i fold.Item) {
		if i.Event != nil && i.Event.Kind == wire.EventText {
			logged += len(i.Event.Text)
		}
	}
	seq := uint64(len(s.Frames))
	var payload []byte // one buffer, as the reader of a spool has
	for part := range line {
		seq++
		payload = append(payload[:0], part...)
		if err := f.Frame(spool.Frame{Kind: spool.KindOut, Seq: seq, Payload: payload}, take); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	return <-peaks - base, logged
}

// heap is how many bytes the objects of the heap take, garbage that was not collected yet included.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
