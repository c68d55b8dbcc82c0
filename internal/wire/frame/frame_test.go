package frame

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"scv/internal/testkit/need"
)

var vectorDir = flag.String("vectors", "", "folder of golden vectors (frames.jsonl)")

type frameCase struct {
	Type     string   `json:"type"`
	Case     string   `json:"case"`
	Chunks   []string `json:"chunks"`
	Frames   []any    `json:"frames"`
	Limit    int      `json:"limit"`
	Overflow string   `json:"overflow"`
	Line     string   `json:"line"`
	Max      int      `json:"max"`
	Result   *string  `json:"result"`
}

func readCases(t *testing.T, name string) []frameCase {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var all []frameCase
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		var c frameCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func TestVectorsFrames(t *testing.T) {
	dir := *vectorDir
	if dir == "" {
		dir = need.Shared(t, "protocol", "vectors")
	}
	runCases(t, readCases(t, filepath.Join(dir, "frames.jsonl")))
}

func TestOwnFrames(t *testing.T) {
	runCases(t, readCases(t, filepath.Join("testdata", "frames.jsonl")))
}

func runCases(t *testing.T, cases []frameCase) {
	t.Helper()
	for _, c := range cases {
		switch c.Type {
		case "FrameDecoder":
			splitCase(t, c)
		case "trim_line":
			got := string(trim([]byte(c.Line)))
			if fits := len(got) <= c.Max; fits != (c.Result != nil) || fits && got != *c.Result {
				t.Errorf("%s: %q", c.Case, got)
			}
		case "encode_frame": // a line break inside text: checked where messages are written, and in TestWriter
		default:
			t.Errorf("%s: unknown type %s", c.Case, c.Type)
		}
	}
}

// splitCase compares the lines as they come, before their endings are removed and the limit of the object counts.
func splitCase(t *testing.T, c frameCase) {
	t.Helper()
	var sources []io.Reader
	for _, chunk := range c.Chunks {
		sources = append(sources, strings.NewReader(chunk))
	}
	r := &Reader{src: io.MultiReader(sources...), limit: c.Limit - 1 - ending, stop: c.Overflow == "stop"}
	var got []any
	for range 20 {
		line, err := r.raw()
		switch {
		case err == nil:
			got = append(got, map[string]any{"line": string(line)})
			continue
		case errors.Is(err, ErrTooLarge) && !r.stop:
			got = append(got, "too_large")
			continue
		case errors.Is(err, ErrTooLarge):
			got = append(got, "too_large")
		case errors.Is(err, io.ErrUnexpectedEOF):
			got = append(got, map[string]any{"truncated": string(line)})
		case errors.Is(err, io.EOF) && slices.Contains(c.Frames, any("end")):
			got = append(got, "end")
		}
		break
	}
	a, errA := json.Marshal(got)
	b, errB := json.Marshal(c.Frames)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("%s: got %s, want %s", c.Case, a, b)
	}
}

// readAll returns what a reader gives: lines, and errors in braces.
func readAll(r *Reader) []string {
	var all []string
	for {
		line, err := r.Next()
		switch {
		case err == nil:
			all = append(all, string(line))
		case errors.Is(err, ErrTooLarge):
			all = append(all, "{too large}")
			if r.stop {
				return all
			}
		case errors.Is(err, io.ErrUnexpectedEOF):
			all = append(all, "{rest} "+string(line))
		default:
			return all
		}
	}
}

func TestLimitCountsTheObjectOnly(t *testing.T) {
	at, over := strings.Repeat("x", 4096), strings.Repeat("x", 4097)
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"exactly the limit":             {at + "\n", []string{at}},
		"with a carriage return":        {at + "\r\n", []string{at}},
		"one byte more":                 {over + "\n{}\n", []string{"{too large}", "{}"}},
		"one byte more, not ended":      {over, []string{"{too large}"}},
		"a rest of the limit":           {at, []string{"{rest} " + at}},
		"empty lines":                   {"\n\r\n{}\n", []string{"", "", "{}"}},
		"a hundred times more":          {strings.Repeat(over, 100) + "\n{}\n", []string{"{too large}", "{}"}},
		"zero bytes and wrong UTF-8":    {"\x00\xff\n", []string{"\x00\xff"}},
		"a carriage return inside":      {"a\rb\n", []string{"a\rb"}},
		"several endings":               {"ab\r\r\n", []string{"ab"}},
		"large, small, large after all": {at + "\na\n" + at + "\nb", []string{at, "a", at, "{rest} b"}},
	} {
		for source, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader,
			"halves": iotest.HalfReader, "with the error": iotest.DataErrReader,
		} {
			if got := readAll(NewReader(wrap(strings.NewReader(c.in)), 4096)); !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: got %.80q", name, source, got)
			}
		}
	}
}

func TestStopReaderConsumesNothingMore(t *testing.T) {
	r := NewStopReader(strings.NewReader("ok\n"+strings.Repeat("x", 100)+"\nok\n"), 10)
	if got := readAll(r); !slices.Equal(got, []string{"ok", "{too large}"}) {
		t.Fatalf("got %q", got)
	}
	if _, err := r.Next(); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("then %v", err)
	}
}

func TestSourceErrorIsGivenThrough(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(broken)), 100)
	if line, err := r.Next(); err != nil || string(line) != "a" {
		t.Fatalf("%q, %v", line, err)
	}
	for range 2 {
		if line, err := r.Next(); !errors.Is(err, broken) || line != nil {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if _, err := NewReader(iotest.ErrReader(nil), 10).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Fatal(err)
	}
}

func TestReaderMemoryIsBounded(t *testing.T) {
	const limit = 1 << 20
	endless := io.LimitReader(zeros{}, 100<<20)
	r := NewReader(io.MultiReader(endless, strings.NewReader("\n"+strings.Repeat("y", limit)+"\nsmall\n")), limit)
	if _, err := r.Next(); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	if len(r.buf) > 2*limit {
		t.Fatalf("a line of 100 MiB left a buffer of %d", len(r.buf))
	}
	if line, err := r.Next(); err != nil || len(line) != limit {
		t.Fatal(len(line), err)
	}
	if _, err := r.Next(); err != nil || len(r.buf) > keptBuffer {
		t.Fatalf("after a large frame the buffer has %d, %v", len(r.buf), err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestSetLimit(t *testing.T) {
	r := NewReader(strings.NewReader("123456\n123456\n"), 4)
	_, first := r.Next()
	r.SetLimit(6)
	line, second := r.Next()
	if !errors.Is(first, ErrTooLarge) || second != nil || string(line) != "123456" {
		t.Fatal(first, second, line)
	}
}

type recorder struct {
	mu     sync.Mutex
	writes []string
	fail   error
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return len(p) / 2, r.fail
	}
	r.writes = append(r.writes, string(p))
	return len(p), nil
}

func TestWriter(t *testing.T) {
	var out recorder
	w := NewWriter(&out, 8)
	if err := w.Write([]byte("123456789")); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if err := w.Write([]byte("1\n2")); !errors.Is(err, ErrLineFeed) {
		t.Error(err)
	}
	if err := w.Write([]byte("12345678")); err != nil {
		t.Error(err)
	}
	w.SetLimit(200 << 10)
	if err := w.Write(bytes.Repeat([]byte("x"), 200<<10)); err != nil || cap(w.buf) > keptBuffer {
		t.Error(err, cap(w.buf))
	}
	if len(out.writes) != 2 || out.writes[0] != "12345678\n" {
		t.Fatalf("writes %.40q", out.writes)
	}
	out.fail = errors.New("gone")
	if err := w.Write([]byte("a")); !errors.Is(err, out.fail) {
		t.Error(err)
	}
	out.fail = nil
	if err := w.Write([]byte("b")); err == nil || len(out.writes) != 2 {
		t.Error("a writer went on after half a frame")
	}
}

func TestWriterIsShared(t *testing.T) {
	var out recorder
	w := NewWriter(&out, 100)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 100 {
				if err := w.Write(bytes.Repeat([]byte{'a' + byte(i)}, 50)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, line := range out.writes {
		if len(line) != 51 || strings.Trim(line[:50], line[:1]) != "" || line[50] != '\n' {
			t.Fatalf("torn: %q", line)
		}
	}
	if len(out.writes) != 800 {
		t.Fatal(len(out.writes))
	}
}

func FuzzReader(f *testing.F) {
	for _, seed := range []string{"", "a\nb", "\r\n\r\n", "xxxxxxxxxxxx\ny\n", "\n\n\n", "abc\r", strings.Repeat("z", 9000) + "\na"} {
		f.Add([]byte(seed), 4)
	}
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		limit = min(max(limit, 0), 1<<16)
		whole := readAll(NewReader(bytes.NewReader(data), limit))
		if split := readAll(NewReader(iotest.OneByteReader(bytes.NewReader(data)), limit)); !slices.Equal(whole, split) {
			t.Fatalf("%q in one piece, %q byte by byte", whole, split)
		}
		ended := bytes.Count(data, []byte("\n"))
		if len(whole) < ended || len(whole) > ended+1 {
			t.Fatalf("%d frames of %d lines", len(whole), ended)
		}
	})
}
