package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
	"time"

	"scv/internal/failpoint"
	"scv/internal/home"
	"scv/internal/workbench/row"
)

// acceptedName is the file of the owner's wishes below the home.
const acceptedName = "state/accepted.jsonl"

// A line is one wish: JSON that ends in ,"c":"<crc32c of all before the comma, 8 hex digits>"}.
type acceptedLine struct {
	AtMs   int64   `json:"at_ms"`
	What   string  `json:"what"`
	Job    row.Job `json:"job"`
	Prompt string  `json:"prompt,omitempty"`

	Approval     *row.Approval     `json:"approval,omitempty"`
	Rule         *row.Rule         `json:"rule,omitempty"`
	Conversation *row.Conversation `json:"conversation,omitempty"`
	// Of an end.
	Result *row.Result `json:"result,omitempty"`
	Run    *row.Run    `json:"run,omitempty"`

	Sum string `json:"c,omitempty"`
}

// accepted is accepted.jsonl, open for appending. Lines are not flushed: the database is. A line that the disk cut is
// taken off again, so a later one never joins it.
type accepted struct {
	f    *os.File
	size int64
}

func (a *accepted) open(h *home.Home) error {
	f, err := h.Root().OpenFile(acceptedName, os.O_CREATE|os.O_RDWR, home.FileMode)
	if err != nil {
		return fmt.Errorf("open accepted.jsonl: %w", err)
	}
	size, err := wholeLines(f)
	if err != nil {
		return errors.Join(fmt.Errorf("look at accepted.jsonl: %w", err), f.Close())
	}
	a.f, a.size = f, size
	return nil
}

// wholeLines returns where the last whole line ends. Only the end is read.
func wholeLines(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 64<<10)
	for end := info.Size(); end > 0; {
		from := max(0, end-int64(len(buf)))
		n, err := f.ReadAt(buf[:end-from], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// ends are the lines of the jobs that a batch ends, with what was stored beside them: what a lost ledger cannot read
// from the runs' directories any more.
func ends(b *row.Batch, now time.Time) (all []row.Accepted) {
	for i := range b.Jobs {
		j := &b.Jobs[i]
		r, ended := b.Results[j.Job.Job]
		if !j.State.Final() || !ended && j.Dismissed {
			continue
		}
		a := row.Accepted{At: now, What: "end", Job: *j}
		if ended {
			a.Result = &r
		}
		for k := range b.Runs {
			if j.Run != nil && b.Runs[k].Handle == *j.Run {
				a.Run = &b.Runs[k]
			}
		}
		for k := range b.Conversations {
			if j.Conversation != nil && b.Conversations[k].ID == *j.Conversation {
				a.Conversation = &b.Conversations[k]
			}
		}
		all = append(all, a)
	}
	return all
}

// append writes the lines with one write.
func (a *accepted) append(all []row.Accepted) error {
	if len(all) == 0 || a.f == nil {
		return nil
	}
	var b bytes.Buffer
	for i := range all {
		line, err := acceptedText(all[i])
		if err != nil {
			return err
		}
		b.WriteString(line)
	}
	write := func(p []byte) (int, error) { return a.f.WriteAt(p, a.size) }
	if _, err := failpoint.Write(failpoint.LedgerAccepted, b.Bytes(), write); err != nil {
		return errors.Join(err, a.f.Truncate(a.size))
	}
	a.size += int64(b.Len())
	return nil
}

func acceptedText(a row.Accepted) (string, error) {
	line, err := encode(acceptedLine{
		AtMs: a.At.UnixMilli(), What: a.What, Job: a.Job, Prompt: a.Prompt, Approval: a.Approval, Rule: a.Rule,
		Conversation: a.Conversation, Result: a.Result, Run: a.Run,
	})
	if err != nil {
		return "", err
	}
	body := line[:len(line)-1]
	return fmt.Sprintf("%s,\"c\":\"%08x\"}\n", body, sum(body)), nil
}

func sum(body string) uint32 {
	return crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli))
}

func (a *accepted) close() error {
	if a.f == nil {
		return nil
	}
	return a.f.Close()
}

// Accepted yields the wishes of a home in order, each with an error when its line is damaged; a damaged line does not
// hide those behind it. It is for rebuilding a ledger that was lost.
func Accepted(h *home.Home) iter.Seq2[row.Accepted, error] {
	return func(yield func(row.Accepted, error) bool) {
		data, err := h.Root().ReadFile(acceptedName)
		if err != nil {
			yield(row.Accepted{}, fmt.Errorf("read accepted.jsonl: %w", err))
			return
		}
		n := 0
		for line := range bytes.Lines(data) {
			n++
			a, err := parseAccepted(bytes.TrimSuffix(line, []byte("\n")))
			if err != nil {
				err = fmt.Errorf("accepted.jsonl, line %d: %w", n, err)
			}
			if !yield(a, err) {
				return
			}
		}
	}
}

const sumSuffix = len(`,"c":"00000000"}`)

func parseAccepted(line []byte) (row.Accepted, error) {
	var l acceptedLine
	if len(line) < sumSuffix {
		return row.Accepted{}, errors.New("too short")
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return row.Accepted{}, err
	}
	body := string(line[:len(line)-sumSuffix])
	if fmt.Sprintf("%s,\"c\":\"%08x\"}", body, sum(body)) != string(line) {
		return row.Accepted{}, errors.New("its checksum does not match")
	}
	return row.Accepted{
		At: timeOf(l.AtMs), What: l.What, Job: l.Job, Prompt: l.Prompt, Approval: l.Approval, Rule: l.Rule,
		Conversation: l.Conversation, Result: l.Result, Run: l.Run,
	}, nil
}
