package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromisesNameTheirTests reads the pages: a test that one of them names as the keeper of a promise must exist.
func TestPromisesNameTheirTests(t *testing.T) {
	have := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for line := range strings.Lines(string(s.data)) {
			if rest, ok := strings.CutPrefix(line, "func Test"); ok {
				name, _, _ := strings.Cut(rest, "(")
				have["Test"+name] = true
			}
		}
	}
	named := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
	pages, err := filepath.Glob(filepath.Join(root(t), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, filepath.Join(root(t), "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			found++
			if !have[m[1]] {
				t.Errorf("%s promises by %s, which no file has", filepath.Base(page), m[1])
			}
		}
	}
	if found == 0 {
		t.Error("README names no test")
	}
}
