package offline

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"

	"scv/internal/wire"
)

// maxRecorded bounds how much of a recording is read, in bytes; the daemon keeps less.
const maxRecorded = 16 << 20

// Recording is what the terminal of a run showed, in its order. A run that never had one is wire.ReasonNotFound.
func (r *Reader) Recording(run wire.RunHandle) (pages []wire.RecordedPage, err error) {
	none := wire.Refuse(wire.ReasonNotFound, "list runs: scv agents ps --all   Or read its log: scv jobs log "+string(run), "there is no recording of %s", run)
	root, err := r.home.RunRoot(run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, none
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	file, err := root.Open(wire.RecordingName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, none
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := bufio.NewScanner(io.LimitReader(file, maxRecorded))
	lines.Buffer(nil, maxRecorded)
	for lines.Scan() {
		var p wire.RecordedPage
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 && wire.Decode(line, &p) == nil { // the last one may be cut off
			pages = append(pages, p)
		}
	}
	return pages, lines.Err()
}
