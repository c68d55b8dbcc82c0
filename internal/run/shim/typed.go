package shim

import (
	"fmt"
	"slices"
	"sync"

	"scv/internal/run/control"
)

// maxTypists is of how many keys it is remembered how far they have typed.
const maxTypists = 64

// typists remember how far was typed under each key, so that what a client sends again, since it cannot know whether a
// daemon that died had passed it on, is taken once. The memory is here because daemons lose theirs.
type typists struct {
	mu  sync.Mutex
	all []typist // who typed last stands last
}

type typist struct {
	key  string
	upto uint64 // position behind the last byte that was taken or skipped
}

// take gives write what is new of a request. The answer's number is how far its key has come: "done" when that was known.
func (t *typists) take(q *control.Request, write func([]byte) control.Reply) control.Reply {
	p := q.Payload()
	end := q.At + uint64(len(p))
	if q.Key == "" || len(q.Key) > control.MaxTypist || end < q.At {
		return refuse(control.RefusedBad, fmt.Sprintf("what is typed needs a key of at most %d bytes and a position", control.MaxTypist))
	}
	t.mu.Lock() // over the write too: two daemons may have the same in hand
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.all, func(one typist) bool { return one.key == q.Key })
	one := typist{key: q.Key}
	if i >= 0 {
		one = t.all[i]
	}
	if len(p) == 0 || end <= one.upto {
		return control.Reply{Type: control.TypeDone, N: one.upto}
	}
	if one.upto > q.At {
		p = p[one.upto-q.At:]
	}
	reply := write(p)
	if reply.Type != control.TypeOK {
		return reply
	}
	one.upto = end
	if i >= 0 {
		t.all = slices.Delete(t.all, i, i+1)
	}
	if t.all = append(t.all, one); len(t.all) > maxTypists {
		t.all = slices.Delete(t.all, 0, 1)
	}
	reply.N = end
	return reply
}
