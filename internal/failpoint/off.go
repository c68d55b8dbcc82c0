//go:build !failpoint

package failpoint

import "time"

// Enabled tells whether this build can be armed.
const Enabled = false

// Do does op.
func Do(_ Point, op func() error) error { return op() }

// Write writes b by write.
func Write(_ Point, b []byte, write func([]byte) (int, error)) (int, error) { return write(b) }

// Size is n, a bound in bytes.
func Size(_ string, n int64) int64 { return n }

// Word is s.
func Word(_, s string) string { return s }

// Environ is what a daemon adds to the environment of its shims: nothing.
func Environ() []string { return nil }

// Now is the time.
func Now() time.Time { return time.Now() }
