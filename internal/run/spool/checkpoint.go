package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"scv/internal/failpoint"
)

// MaxCheckpoint is the largest checkpoint in bytes.
const MaxCheckpoint = 8 << 20

const checkpointName = "checkpoint"

// WriteCheckpoint stores v as JSON in dir and returns only when it is on the disk, in place of the one before,
// and was read back. It is what must have happened before DeleteBefore.
func WriteCheckpoint(dir string, v any) error {
	body, err := encodeJSON(v)
	if err != nil {
		return fmt.Errorf("encode checkpoint: %w", err)
	}
	if len(body) > MaxCheckpoint {
		return fmt.Errorf("write checkpoint of %d bytes: %w", len(body), ErrTooLarge)
	}
	path := filepath.Join(dir, checkpointName)
	text := fmt.Appendf(body[:len(body):len(body)], "\n%08x\n", checksum(body))
	if err := replaceFile(path, text); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	back, _, err := readCheckpoint(path)
	if err != nil {
		return fmt.Errorf("read checkpoint back: %w", err)
	}
	if !bytes.Equal(back, body) {
		return fmt.Errorf("read checkpoint back: %w: it is not what was written", ErrCorrupt)
	}
	return nil
}

// ReadCheckpoint decodes the checkpoint of dir into v and reports whether there is one. A damaged one is an
// ErrCorrupt.
func ReadCheckpoint(dir string, v any) (bool, error) {
	body, found, err := readCheckpoint(filepath.Join(dir, checkpointName))
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return false, fmt.Errorf("decode checkpoint: %w", err)
	}
	return true, nil
}

func readCheckpoint(path string) (body []byte, found bool, err error) {
	const trailer = len("\n01234567\n")
	f, err := openPlain(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read checkpoint: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxCheckpoint+int64(trailer)+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, false, fmt.Errorf("read checkpoint: %w", err)
	}
	size := len(text) - trailer
	if size < 0 || string(text[size:]) != fmt.Sprintf("\n%08x\n", checksum(text[:size])) || !json.Valid(text[:size]) {
		return nil, false, &CorruptError{File: path, Why: "the checkpoint's checksum does not match"}
	}
	return text[:size], true, nil
}

// replaceFile puts data at path so that a crash leaves the old file or the new one, flushed with its directory.
func replaceFile(path string, data []byte) (err error) {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, writeErr := failpoint.Write(failpoint.Checkpoint, data, f.Write)
	if err := errors.Join(writeErr, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := failpoint.Do(failpoint.CheckpointMove, func() error { return os.Rename(tmp, path) }); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
