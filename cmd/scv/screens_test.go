//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/testkit/need"
)

// TestPagesShowTheScreens holds every picture in a page to the file that scripts/screens.sh made.
func TestPagesShowTheScreens(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)<!-- screen ([a-z]+) -->\n```\n(.*?)```\n<!-- end -->")
	used := map[string]bool{}
	for _, page := range append(pages, "../../README.md", "../../README.zh-CN.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := block.FindAllStringSubmatch(string(text), -1)
		if n := strings.Count(string(text), "<!-- screen "); n != len(found) {
			t.Errorf("%s: %d of %d screens are whole", page, len(found), n)
		}
		for _, m := range found {
			used[m[1]] = true
			want, err := os.ReadFile("../../docs/screens/" + m[1] + ".txt")
			if diff := cmp.Diff(string(want), m[2]); diff != "" || err != nil {
				t.Errorf("%s: the screen %s is not what scripts/screens.sh made; run it: %v\n%s", page, m[1], err, diff)
			}
		}
	}
	if len(used) < 7 {
		t.Errorf("the pages show only %v", used)
	}
}

// shape is what stays of a screen from one run to the next: its lines without numbers, ids, what was cut, and order.
func shape(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "..")
		line = regexp.MustCompile(`\b[0-9a-f]{6,}\b`).ReplaceAllString(line, "H")
		line = regexp.MustCompile(`[0-9]+[smh]?\b`).ReplaceAllString(line, "N")
		line = strings.ReplaceAll(line, " live ", " ended ")
		if line = strings.Join(strings.Fields(line), " "); line != "" && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

// TestScreensAreWhatTheProgramShows makes the screens anew and compares their shapes with those in docs.
func TestScreensAreWhatTheProgramShows(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo agent takes its time")
	}
	need.Program(t, "awk")
	dir := t.TempDir()
	cmd := exec.Command("sh", "../../scripts/screens.sh", dir)
	cmd.Env = append(os.Environ(), "SCV="+filepath.Join(os.Getenv("SCV_TEST_BIN"), "scv"), "GORACE="+os.Getenv("GORACE"))
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("screens.sh: %v\n%s", err, said)
	}
	files, err := filepath.Glob("../../docs/screens/*.txt")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, name))
		if name == "dashboard.txt" {
			continue // what runs on it depends on the moment; its drawing is tested in ui/tui/view
		}
		if diff := cmp.Diff(shape(string(want)), shape(string(got))); diff != "" || err != nil {
			t.Errorf("%s shows something else now; run scripts/screens.sh: %v\n%s", name, err, diff)
		}
	}
}
