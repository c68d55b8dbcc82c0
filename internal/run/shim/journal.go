package shim

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"scv/internal/run/control"
	"scv/internal/run/spool"
)

// journal is the one way into the spool. Its lock makes a message's place in the spool, its number and its place in
// the queue for the agent one decision.
type journal struct {
	w      *spool.Writer
	timing control.Timing
	errs   *complaints

	mu       sync.Mutex
	room     sync.Cond // on mu: the backlog got smaller, or a reader must not wait any more
	last     uint64    // number of the last message
	lastSeq  uint64
	keys     map[string]uint64 // every message's key, and its number
	in       *input            // nil until the agent was started
	backlog  backlog
	watchers map[chan struct{}]struct{} // one-slot wakes of the connections
	diskErr  string                     // why the last append failed, empty after one that did not
	flushing bool                       // a flush is due while nobody watches
}

func newJournal(w *spool.Writer, timing control.Timing, errs *complaints) *journal {
	j := &journal{w: w, timing: timing, errs: errs, keys: map[string]uint64{}, watchers: map[chan struct{}]struct{}{}}
	j.room.L = &j.mu
	return j
}

func (j *journal) seq() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lastSeq
}

func (j *journal) setInput(in *input) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.in = in
}

// append adds one frame and wakes the connections.
func (j *journal) append(kind spool.Kind, payload []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.appendLocked(kind, 0, "", 0, payload)
}

func (j *journal) appendLocked(kind spool.Kind, flags spool.Flags, key string, n uint64, payload []byte) error {
	seq, err := j.w.Append(kind, flags, key, n, payload)
	if err != nil {
		if j.diskErr == "" {
			j.errs.say("%v", err)
			j.wakeLocked() // nothing to fold, but a daemon that asks is told why
		}
		j.diskErr = err.Error()
		return err
	}
	j.diskErr = ""
	j.lastSeq = seq
	j.backlog.add(seq, int64(len(payload)))
	j.wakeLocked()
	if len(j.watchers) == 0 && !j.flushing {
		j.flushing = true
		time.AfterFunc(j.timing.Flush, j.flush)
	}
	return nil
}

func (j *journal) wakeLocked() {
	for wake := range j.watchers {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// must appends and tries again until it worked: nothing that an agent said is dropped because a disk is full. Only when
// the run's directory was removed is there nobody left to keep it for.
func (j *journal) must(kind spool.Kind, payload []byte) {
	for j.append(kind, payload) != nil && !abandoned() {
		<-time.After(j.timing.Retry)
	}
}

// note appends a note, however long that takes.
func (j *journal) note(n spool.Note) {
	for !j.tryNote(n) && !abandoned() {
		<-time.After(j.timing.Retry)
	}
}

// tryNote appends a note and reports whether it worked; a note that cannot be encoded counts as written.
func (j *journal) tryNote(n spool.Note) bool {
	b, err := spool.EncodeNote(n)
	if err != nil {
		j.errs.say("%v", err)
		return true
	}
	return j.append(spool.KindNote, b) == nil
}

// message takes a write request: see control.Link.Write for the answers. The key is asked before the number, since a
// repeated message carries the number it was first sent with.
func (j *journal) message(r *control.Request) control.Reply {
	payload := r.Payload()
	if r.Key == "" || len(r.Key) > spool.MaxKey || len(payload) > control.MaxMessage || (len(payload) == 0 && !r.EOF) {
		return refuse(control.RefusedBad, "a message needs a key, and bytes or eof, within their bounds")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if n, seen := j.keys[r.Key]; seen {
		return control.Reply{Type: control.TypeDone, N: n}
	}
	if r.N != j.last+1 {
		return control.Reply{Type: control.TypeStale, N: j.last}
	}
	if class, text := j.in.refusal(len(payload)); class != "" {
		return refuse(class, text)
	}
	var flags spool.Flags
	if r.EOF {
		flags |= spool.FlagCloseStdin
	}
	if err := j.appendLocked(spool.KindIn, flags, r.Key, r.N, payload); err != nil {
		return refuse(control.RefusedDisk, err.Error())
	}
	j.last = r.N
	j.keys[r.Key] = r.N
	j.in.add(payload, r.EOF)
	return control.Reply{Type: control.TypeOK, N: r.N}
}

func refuse(class control.Refusal, text string) control.Reply {
	return control.Reply{Type: control.TypeError, Class: string(class), Error: text[:min(len(text), 512)]}
}

// awaitRoom blocks while too much of the spool is not folded. It returns at once, false, when over says so.
func (j *journal) awaitRoom(over func() bool) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for !over() {
		if j.backlog.size < j.timing.Unfolded {
			return true
		}
		j.room.Wait()
	}
	return false
}

// locked runs f under the lock and then wakes what waits for room.
func (j *journal) locked(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f()
	j.room.Broadcast()
}

func (j *journal) folded(seq uint64) {
	j.locked(func() { j.backlog.drop(seq) })
}

// watch registers a connection's wake and returns what to say in reply to its hello.
func (j *journal) watch(wake chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.watchers[wake] = struct{}{}
}

func (j *journal) unwatch(wake chan struct{}) {
	j.mu.Lock()
	delete(j.watchers, wake)
	alone := len(j.watchers) == 0 && !j.flushing
	if alone {
		j.flushing = true
	}
	j.mu.Unlock()
	if alone {
		time.AfterFunc(j.timing.Flush, j.flush)
	}
}

// flush bounds what a crash of the machine can take while no daemon folds; one that does has its own flushes.
func (j *journal) flush() {
	j.mu.Lock()
	j.flushing = false
	alone := len(j.watchers) == 0
	j.mu.Unlock()
	if !alone {
		return
	}
	if err := j.w.Sync(); err != nil {
		j.errs.say("%v", err)
	}
}

// fill adds what the journal knows to a hello.
func (j *journal) fill(h *control.Hello) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h.Last, h.Seq, h.Unfolded = j.last, j.lastSeq, j.backlog.size
	switch {
	case j.diskErr != "":
		h.Waiting = j.diskErr[:min(len(j.diskErr), 512)]
	case j.backlog.size >= j.timing.Unfolded:
		h.Waiting = "folded"
	}
}

// backlog counts the bytes of spool behind the last acknowledged frame, exact to the grain.
type backlog struct {
	size  int64
	marks []mark // rising; their bytes sum up to size
}

type mark struct {
	seq   uint64 // last frame that is counted here
	bytes int64
}

// grain bounds the memory of a backlog: one mark for so many bytes.
const grain = 64 << 10

// frameOverhead is what a frame takes on the disk besides its payload, in bytes.
const frameOverhead = 28

func (b *backlog) add(seq uint64, bytes int64) {
	bytes += frameOverhead
	b.size += bytes
	if n := len(b.marks); n > 0 && b.marks[n-1].bytes+bytes <= grain {
		b.marks[n-1].seq = seq
		b.marks[n-1].bytes += bytes
		return
	}
	b.marks = append(b.marks, mark{seq: seq, bytes: bytes})
}

func (b *backlog) drop(seq uint64) {
	for len(b.marks) > 0 && b.marks[0].seq <= seq {
		b.size -= b.marks[0].bytes
		b.marks = b.marks[1:]
	}
	if len(b.marks) == 0 {
		b.marks = nil
	}
}

// errInputShut is what a write to a closed input fails with.
var errInputShut = errors.New("the agent's input is closed")

func inputError(err error) string { return fmt.Sprintf("write to the agent: %v", err) }
