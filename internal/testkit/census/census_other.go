//go:build !linux

package census

import "testing"

// Main runs the tests of a package. What they leave behind is counted on Linux.
func Main(m *testing.M) int { return m.Run() }
