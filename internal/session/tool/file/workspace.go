// Package file holds the tools that work on the files of a session's workspace: read, list, search, write and edit. All
// of them go through one os.Root, so no path and no link leads out of it, and all are bounded.
package file

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"scv/internal/safe/plain"
	"scv/internal/session/tool"
	"scv/internal/wire"
)

// Bounds are in bytes; a zero is the default.
type Bounds struct {
	Read  int // of one read; 256 KiB
	Write int // of a whole file; 1 MiB
}

// A Workspace is a folder that tools work in. It is safe for concurrent use until it is closed.
type Workspace struct {
	dir    string
	root   *os.Root
	bounds Bounds
}

// Open opens the folder dir, which is absolute and resolved.
func Open(dir string, bounds Bounds) (*Workspace, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	if bounds.Read <= 0 {
		bounds.Read = 256 << 10
	}
	if bounds.Write <= 0 {
		bounds.Write = 1 << 20
	}
	return &Workspace{dir, root, bounds}, nil
}

// Close lets go of the folder.
func (w *Workspace) Close() error { return w.root.Close() }

// Tools are those of the workspace; the ones that change files are left out of a session that may only read.
func (w *Workspace) Tools(mayWrite bool) []tool.Tool {
	tools := []tool.Tool{read{w}, list{w}, search{w}}
	if mayWrite {
		tools = append(tools, write{w}, edit{w})
	}
	return tools
}

// local is a path as the model wrote it, below the workspace.
func (w *Workspace) local(path string) (string, error) {
	if path == "" {
		path = "."
	}
	if filepath.IsAbs(path) {
		below, err := filepath.Rel(w.dir, path)
		if err != nil {
			return "", invalid("The path %s is not one of the workspace.", path)
		}
		path = below
	}
	if path = filepath.Clean(path); strings.ContainsRune(path, 0) || !filepath.IsLocal(path) {
		return "", invalid("The path %s leads out of the workspace %s. Use one relative to it.", path, w.dir)
	}
	return path, nil
}

func invalid(format string, args ...any) error {
	return &tool.Failure{Kind: wire.ToolInvalidArguments, Sentence: plain.Line(fmt.Sprintf(format, args...))}
}

func failed(format string, args ...any) error {
	return &tool.Failure{Kind: wire.ToolErrorFailed, Sentence: plain.Line(fmt.Sprintf(format, args...))}
}

func tooLarge(format string, args ...any) error {
	return &tool.Failure{Kind: wire.ToolLimit, Sentence: plain.Line(fmt.Sprintf(format, args...))}
}

// open opens a plain file for reading. A pipe or a device is not waited for.
func (w *Workspace) open(path string) (*os.File, fs.FileInfo, error) {
	file, err := w.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, said(path, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it is no plain file; use list for a folder")
	}
	if err != nil {
		return nil, nil, errors.Join(said(path, err), file.Close())
	}
	return file, info, nil
}

// said is a failure of the file system as the model may read it, without the machinery's words around it.
func said(path string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failed("%s does not exist.", path)
	case strings.Contains(err.Error(), "escapes"):
		return invalid("%s leads out of the workspace by a link.", path)
	}
	return failed("%s: %v.", path, err)
}

// text reads a whole file that is to be changed, which must be text of at most the bound.
func (w *Workspace) text(path string) ([]byte, fs.FileInfo, error) {
	file, info, err := w.open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, int64(w.bounds.Write)+1))
	switch {
	case err != nil:
		return nil, nil, said(path, err)
	case len(data) > w.bounds.Write:
		return nil, nil, tooLarge("%s is larger than %s.", path, plain.Size(uint64(w.bounds.Write)))
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return nil, nil, failed("%s is not UTF-8 text.", path)
	}
	return data, info, nil
}

// hashOf is how the tools name a state of a file: the first 16 hex digits of its SHA-256.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// replace puts data in the place of path in one step: whoever reads sees the old file or the new one.
func (w *Workspace) replace(path string, data []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	if err := w.root.MkdirAll(dir, 0o755); err != nil {
		return said(dir, err)
	}
	temporary := filepath.Join(dir, ".scv-"+hashOf([]byte(path))+"-"+fmt.Sprint(os.Getpid())+".tmp")
	file, err := w.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return said(path, err)
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Chmod(mode.Perm()), file.Close())
	if err == nil {
		err = w.root.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(said(path, err), w.root.Remove(temporary))
	}
	return nil
}

// sensitive are places whose files are run or believed by programs: git's hooks and settings, and our own.
func sensitive(path string) bool {
	for part := range strings.SplitSeq(path, string(filepath.Separator)) {
		if part == ".git" || part == ".scv" {
			return true
		}
	}
	return false
}
