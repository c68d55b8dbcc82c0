package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEachFeatureIsOnTheProtocolPage: who reads the page learns of everything that this daemon adds to the protocol, and the
// example of a handshake announces nothing else.
func TestEachFeatureIsOnTheProtocolPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range features() {
		if !strings.Contains(string(page), "\n| `"+f+"` |") {
			t.Errorf("the table of features has no row of %q", f)
		}
	}
	if want := `"features":["` + strings.Join(features(), `","`) + `"]`; !strings.Contains(string(page), want) {
		t.Errorf("the example of a handshake does not say\n%s", want)
	}
}
