// Package operand tells whether the files that a command would run are what they were when an agent asked to run it: what
// is approved as `sh x.sh` is the x.sh of that moment. Whoever reads a run's spool looks when a request comes, and the
// server once more before a yes counts. What a script in turn reads or runs is not looked at, and between the answer and
// the agent's own start of the command nobody can look.
package operand

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"scv/internal/workbench/row"
	"scv/internal/workbench/rules"
)

const (
	most     = 16       // operands of one command that are looked at
	hashed   = 16 << 20 // bytes of a file that count
	notThere = "not there"
	notRead  = "cannot be read"
)

// Of returns the files that a command runs in a directory, as they are now.
func Of(command, cwd string) []row.Operand {
	var out []row.Operand
	for _, name := range rules.Scripts(command) {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		if len(out) < most {
			out = append(out, row.Operand{Name: name, Path: path, Sum: sum(path)})
		}
	}
	return out
}

// Changed returns the operands as they are now and the name of the first that is not what it was; empty for none.
func Changed(then []row.Operand) (now []row.Operand, name string) {
	for _, o := range then {
		before := o.Sum
		if o.Sum = sum(o.Path); o.Sum != before && name == "" {
			name = o.Name
		}
		now = append(now, o)
	}
	return now, name
}

// sum stands for what a file holds. Nothing but a plain file is read, and none is waited for.
func sum(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return notThere
	}
	if err != nil {
		return notRead
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return notRead
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d:", info.Size())
	if _, err := io.Copy(h, io.LimitReader(f, hashed)); err != nil {
		return notRead
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
