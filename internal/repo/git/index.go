package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"time"
)

// errIndex says that an index is not written in a way that is read here; git has to be asked then.
var errIndex = errors.New("the index cannot be read")

// maxIndex bounds an index that is read, in bytes.
const maxIndex = 512 << 20

// Sizes are sums over the files of an index, as they were when git last looked at them.
type Sizes struct {
	Bytes  int64
	Newest time.Time
}

// ReadSizes sums up an index without asking git, but for the names in not. Hash is the length of the repository's hashes
// in bytes. An index that is split, or of a version above 4, is an error.
func ReadSizes(file string, hash int, not map[string]bool) (Sizes, error) {
	info, err := os.Stat(file)
	if err != nil || info.Size() > maxIndex {
		return Sizes{}, errors.Join(errIndex, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return Sizes{}, err
	}
	x := indexReader{data: data, hash: hash}
	return x.sum(not)
}

type indexReader struct {
	data []byte
	at   int
	hash int
	v    uint32
	name []byte // of the entry before, for version 4
}

func (x *indexReader) sum(not map[string]bool) (s Sizes, err error) {
	d := x.data
	if len(d) < 12+x.hash || string(d[:4]) != "DIRC" {
		return s, errIndex
	}
	x.v = binary.BigEndian.Uint32(d[4:])
	count := binary.BigEndian.Uint32(d[8:])
	if x.v < 2 || x.v > 4 || bytes.Contains(d[len(d)-min(len(d), 4<<10):], []byte("link")) {
		return s, errIndex
	}
	x.at = 12
	for range count {
		e, err := x.next()
		if err != nil {
			return s, err
		}
		if e.counts && !not[string(x.name)] {
			s.Bytes += int64(e.size)
			if e.changed.After(s.Newest) {
				s.Newest = e.changed
			}
		}
	}
	return s, nil
}

type indexEntry struct {
	size    uint32
	changed time.Time
	counts  bool // a file that is checked out
}

func (x *indexReader) next() (e indexEntry, err error) {
	d, start := x.data, x.at
	head := 40 + x.hash + 2
	if len(d)-start < head+3 { // with room for further flags and a NUL
		return e, errIndex
	}
	field := func(n int) uint32 { return binary.BigEndian.Uint32(d[start+4*n:]) }
	flags := binary.BigEndian.Uint16(d[start+40+x.hash:])
	kind, more := field(6)&0xf000, uint16(0)
	if x.v >= 3 && flags&0x4000 != 0 {
		more = binary.BigEndian.Uint16(d[start+head:])
		head += 2
	}
	e = indexEntry{size: field(9), changed: time.Unix(int64(field(2)), int64(field(3)))}
	e.counts = (kind == 0x8000 || kind == 0xa000) && flags&0x3000 == 0 && more&0x4000 == 0
	at := start + head
	if x.v == 4 {
		return e, x.packed(at)
	}
	end := bytes.IndexByte(d[at:], 0)
	if end < 0 {
		return e, errIndex
	}
	x.name = d[at : at+end]
	x.at = start + (head+end+8)&^7 // one to eight NULs
	return e, nil
}

// packed reads a name of version 4: how much of the one before it goes, then what follows.
func (x *indexReader) packed(at int) error {
	strip, d := 0, x.data
	for first := true; ; first = false {
		if at >= len(d) || strip > len(d) {
			return errIndex
		}
		c := d[at]
		at++
		if !first {
			strip++
		}
		strip = strip<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			break
		}
	}
	end := bytes.IndexByte(d[at:], 0)
	if end < 0 || strip > len(x.name) {
		return errIndex
	}
	x.name = append(bytes.Clone(x.name[:len(x.name)-strip]), d[at:at+end]...)
	x.at = at + end + 1
	return nil
}

// HashLength is that of a repository's hashes in bytes, by one of them.
func HashLength(hash string) int { return len(strings.TrimSpace(hash)) / 2 }
