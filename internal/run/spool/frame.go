package spool

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"
)

// Kind tells what a frame holds. A reader passes on kinds that it does not know.
type Kind uint8

// The kinds of format version 1.
const (
	KindOut  Kind = 1 // bytes the agent wrote to its standard output
	KindErr  Kind = 2 // bytes the agent wrote to its standard error
	KindIn   Kind = 3 // a message for the agent, with its number and key
	KindNote Kind = 4 // JSON about the process, see Note
)

// String names the kind as the pages do.
func (k Kind) String() string {
	switch k {
	case KindOut:
		return "out"
	case KindErr:
		return "err"
	case KindIn:
		return "in"
	case KindNote:
		return "note"
	default:
		return fmt.Sprintf("kind %d", uint8(k))
	}
}

// Flags are bits that qualify a frame.
type Flags uint8

// FlagCloseStdin on a KindIn frame closes the agent's standard input after the message.
const FlagCloseStdin Flags = 1

// Frame is one record of the spool. Payload is the reader's own memory and valid until its next call.
type Frame struct {
	Pos      Pos   // where the frame begins
	End      Pos   // where the next one begins
	Kind     Kind  //
	Flags    Flags //
	Seq      uint64
	UnixNano int64  // when it was appended
	N        uint64 // KindIn: the message's number in the run, from 1
	Key      string // KindIn: the key of the wish it carries
	Payload  []byte // without number and key
}

// Time is when the frame was appended.
func (f *Frame) Time() time.Time { return time.Unix(0, f.UnixNano) }

// headerLen is u32 length, u32 checksum, u8 kind, u8 flags, u16 key length, u64 seq, i64 time.
const headerLen = 28

type header struct {
	length uint32
	sum    uint32
	kind   Kind
	flags  Flags
	keyLen uint16
	seq    uint64
	at     int64
}

func parseHeader(b []byte) header {
	le := binary.LittleEndian
	return header{
		length: le.Uint32(b), sum: le.Uint32(b[4:]), kind: Kind(b[8]), flags: Flags(b[9]),
		keyLen: le.Uint16(b[10:]), seq: le.Uint64(b[12:]), at: int64(le.Uint64(b[20:])),
	}
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// good tells whether b, a whole frame, carries its own checksum and a possible layout.
func (h header) good(b []byte) bool {
	if h.sum != checksum(b[8:]) {
		return false
	}
	return h.kind != KindIn || int(h.length) >= 8+int(h.keyLen)
}

func (h header) frame(b []byte, pos Pos) Frame {
	f := Frame{
		Pos: pos, End: Pos{pos.Segment, pos.Offset + int64(len(b))}, Kind: h.kind, Flags: h.flags,
		Seq: h.seq, UnixNano: h.at, Payload: b[headerLen:],
	}
	if h.kind == KindIn {
		f.N = binary.LittleEndian.Uint64(f.Payload)
		f.Key = string(f.Payload[8 : 8+int(h.keyLen)])
		f.Payload = f.Payload[8+int(h.keyLen):]
	}
	return f
}

// appendFrame encodes f (its positions are not part of it) behind dst.
func appendFrame(dst []byte, f *Frame) []byte {
	length := len(f.Payload)
	if f.Kind == KindIn {
		length += 8 + len(f.Key)
	}
	le := binary.LittleEndian
	start := len(dst)
	dst = le.AppendUint32(dst, uint32(length))
	dst = le.AppendUint32(dst, 0)
	dst = append(dst, byte(f.Kind), byte(f.Flags))
	if f.Kind == KindIn {
		dst = le.AppendUint16(dst, uint16(len(f.Key)))
	} else {
		dst = le.AppendUint16(dst, 0)
	}
	dst = le.AppendUint64(dst, f.Seq)
	dst = le.AppendUint64(dst, uint64(f.UnixNano))
	if f.Kind == KindIn {
		dst = le.AppendUint64(dst, f.N)
		dst = append(dst, f.Key...)
	}
	dst = append(dst, f.Payload...)
	le.PutUint32(dst[start+4:], checksum(dst[start+8:]))
	return dst
}

// findGood looks in b for a whole good frame with a number after last, as proof that data was written behind
// a damaged one. The numbers that can stand there are few, so almost no checksum is computed.
func findGood(b []byte, last uint64) bool {
	for i := 0; i+headerLen <= len(b); i++ {
		h := parseHeader(b[i:])
		end := i + headerLen + int(h.length)
		if h.length > MaxPayload || end > len(b) {
			continue
		}
		if h.seq <= last || h.seq > last+1+uint64(len(b)/headerLen) {
			continue
		}
		if h.good(b[i:end]) {
			return true
		}
	}
	return false
}
