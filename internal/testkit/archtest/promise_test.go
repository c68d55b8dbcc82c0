package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromisesNameTheirTests reads the pages: a test that one of them names as the keeper of a promise must exist.
func TestPromisesNameTheirTests(t *testing.T) {
	have := tests(t)
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

// tests are the names of all tests.
func tests(t *testing.T) map[string]bool {
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
	return have
}

// TestEachPromiseHasItsRow: docs/operations.md publishes S1 to S15 and R1 to R9, each with every test that carries its id,
// and the cases from the field that are due with them are carried by tests or scripts.
func TestEachPromiseHasItsRow(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	have := tests(t)
	for kind, last := range map[string]int{"S": 15, "R": 9} {
		for n := 1; n <= last; n++ {
			id := fmt.Sprintf("%s%d", kind, n)
			_, row, ok := strings.Cut(string(text), "\n| "+id+" | ")
			row, _, _ = strings.Cut(row, "\n")
			if !ok || !regexp.MustCompile("`Test([A-Z]+[0-9]+_)*"+id+"_").MatchString(row) {
				t.Errorf("docs/operations.md has no row of %s that names a test of it", id)
			}
			carries := regexp.MustCompile("^Test([A-Z]+[0-9]+_)*" + id + "_")
			for name := range have {
				if carries.MatchString(name) && !strings.Contains(row, "`"+name+"`") {
					t.Errorf("docs/operations.md does not name %s in the row of %s", name, id)
				}
			}
		}
	}
	var all strings.Builder
	for name := range have {
		fmt.Fprintln(&all, name)
	}
	scripts, err := filepath.Glob(filepath.Join(root(t), "testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range scripts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				all.WriteString(line)
			}
		}
	}
	for _, id := range []string{"P4", "P7", "P13", "P21", "P35", "P37", "B2", "B8", "B10", "M1", "M2", "U4", "U20"} {
		if !regexp.MustCompile("(Test|_|\\b)" + id + "(_|\\b)").MatchString(all.String()) {
			t.Errorf("no test carries %s", id)
		}
	}
}
