package git

import (
	"os"
	"testing"

	"scv/internal/testkit/census"
)

// What the tests leave behind fails them.
func TestMain(m *testing.M) { os.Exit(census.Main(m)) }
