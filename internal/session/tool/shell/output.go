package shell

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"scv/internal/safe/plain"
)

// output keeps the first and the last part of what a command writes. Both of the command's streams write to it.
type output struct {
	room     int
	progress func(string)

	mu    sync.Mutex
	head  []byte
	tail  []byte // a ring, from next on
	next  int
	total int
}

// Write implements io.Writer; it never fails and never blocks.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += len(p)
	rest := p
	if left := o.room/2 - len(o.head); left > 0 {
		n := min(left, len(rest))
		o.head = append(o.head, rest[:n]...)
		rest = rest[n:]
	}
	size := o.room - o.room/2
	if len(rest) > size {
		rest = rest[len(rest)-size:]
	}
	for len(rest) > 0 {
		if len(o.tail) < size {
			n := min(size-len(o.tail), len(rest))
			o.tail = append(o.tail, rest[:n]...)
			rest = rest[n:]
			continue
		}
		n := copy(o.tail[o.next:], rest)
		o.next = (o.next + n) % size
		rest = rest[n:]
	}
	if o.progress != nil {
		text := strings.TrimRight(strings.ToValidUTF8(string(p), ""), "\r\n")
		o.progress(plain.Line(text[strings.LastIndexByte(text, '\n')+1:]))
	}
	return len(p), nil
}

// text is what was kept, and whether something is missing.
func (o *output) text() (string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail := append(append([]byte{}, o.tail[o.next:]...), o.tail[:o.next]...)
	missing := o.total - len(o.head) - len(tail)
	head := string(o.head)
	if missing <= 0 {
		return strings.ToValidUTF8(head+string(tail), "\uFFFD"), false
	}
	// A cut between two bytes of a character leaves a part of it on both sides.
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	middle := fmt.Sprintf("\n[%d bytes left out]\n", missing)
	return strings.ToValidUTF8(head, "") + middle + strings.ToValidUTF8(string(tail), "\uFFFD"), true
}
