package config

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// grain is more than the steps in which file systems count time. A file that was changed so shortly before it was read
// may be changed again without another time, so its stamp proves nothing.
const grain = 2 * time.Second

// A stamp is what tells one state of a file from another without reading it.
type stamp struct {
	path   string
	info   fs.FileInfo // nil: there was none
	proves bool
}

func stamps(paths ...string) []stamp {
	var out []stamp
	for _, path := range paths {
		if path != "" {
			out = append(out, stampOf(path))
		}
	}
	return out
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{path: path, proves: errors.Is(err, fs.ErrNotExist)}
	}
	return stamp{path: path, info: info, proves: time.Since(info.ModTime()) > grain}
}

// Current reports whether Load would read the same from the owner's files as it did for c. It opens nothing; when it is
// not sure it says no. A project's file is not looked at: ForWorkspace reads that each time.
func (c *Config) Current() bool {
	for _, was := range c.seen {
		if !was.proves || !was.same(stampOf(was.path)) {
			return false
		}
	}
	return true
}

func (s stamp) same(now stamp) bool {
	if s.info == nil || now.info == nil {
		return s.info == nil && now.info == nil && now.proves
	}
	a, b := s.info, now.info
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}
