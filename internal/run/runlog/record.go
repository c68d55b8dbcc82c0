package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// maxRecord bounds a line of a log in bytes, its line feed included (reliability.md 4): one write(2) stays whole.
const maxRecord = 64 << 10

// A line is a JSON object whose last two members, always in this order, let a reader check it without parsing: "src"
// is the spool position it came from, "c" the crc32c of all bytes before its own comma.
const (
	srcMark  = `,"src":"`
	sumMark  = `,"c":"`
	sumBytes = len(sumMark) + 8 + len(`"}`)
)

var errDamaged = errors.New("a damaged record")

// A header is the first line of a half of the tail: the position of the byte after it, and what came before.
type header struct {
	Base uint64 `json:"base"` // position in the tail of the byte after the header
	Seq  uint64 `json:"seq"`  // of the record before
}

// seal makes the line of a value, which must encode to a JSON object with at least one member.
func seal(v any, src row.Pos) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a log record: %w", err)
	}
	line := bytes.TrimSuffix(b.Bytes(), []byte("}\n"))
	line = append(line, srcMark...)
	line = strconv.AppendUint(line, src.Frame, 10)
	line = append(line, '.')
	line = strconv.AppendUint(line, uint64(src.Index), 10)
	line = append(line, '"')
	sum := checksum(line)
	line = append(line, sumMark...)
	line = append(line, sum...)
	line = append(line, '"', '}', '\n')
	if len(line) > maxRecord {
		return nil, fmt.Errorf("a log record of %d bytes is over the bound of %d", len(line), maxRecord)
	}
	return line, nil
}

// unseal reads one line without its line feed. Whatever its checksum does not vouch for is errDamaged.
func unseal(line []byte, v any) (row.Pos, error) {
	head := len(line) - sumBytes
	if head <= 0 || !bytes.HasPrefix(line[head:], []byte(sumMark)) || !bytes.HasSuffix(line, []byte(`"}`)) {
		return row.Pos{}, errDamaged
	}
	at := bytes.LastIndex(line[:head], []byte(srcMark))
	if at < 0 || string(line[head+len(sumMark):len(line)-2]) != checksum(line[:head]) {
		return row.Pos{}, errDamaged
	}
	src, err := parsePos(line[at+len(srcMark) : head-1])
	if err != nil {
		return row.Pos{}, err
	}
	if err := json.Unmarshal(append(bytes.Clone(line[:at]), '}'), v); err != nil {
		return row.Pos{}, errors.Join(errDamaged, err)
	}
	return src, nil
}

func checksum(b []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

func parsePos(text []byte) (row.Pos, error) {
	frame, index, ok := bytes.Cut(text, []byte{'.'})
	f, err := strconv.ParseUint(string(frame), 10, 64)
	i, err2 := strconv.ParseUint(string(index), 10, 32)
	if !ok || err != nil || err2 != nil {
		return row.Pos{}, errDamaged
	}
	return row.Pos{Frame: f, Index: uint32(i)}, nil
}

// activity reports whether events of a kind make room for others once a log is full (behaviour/runlog.md 5).
func activity(kind wire.RunEventKind) bool {
	switch kind {
	case wire.EventText, wire.EventTool, wire.EventToolFailed, wire.EventPlan:
		return true
	}
	return false
}
