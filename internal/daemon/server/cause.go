package server

import (
	"errors"
	"io/fs"
	"syscall"
)

// plainCause takes the system's own words out of an error about a path that the sentence names already.
func plainCause(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it does not exist")
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}
