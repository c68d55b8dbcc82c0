package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func testRoot() *cobra.Command {
	return newRoot(newFactory(System{Out: io.Discard, Err: io.Discard, Now: time.Now, Version: "1"}))
}

// TestTopicsAreWholeAndNarrow reads each topic, and that every file of one is listed.
func TestTopicsAreWholeAndNarrow(t *testing.T) {
	files, err := topicFiles.ReadDir("topic")
	if err != nil || len(topics()) != len(files)+1 {
		t.Errorf("%d topics of %d files and the exit codes, %v", len(topics()), len(files), err)
	}
	for _, page := range topics() {
		if page.title == "" || strings.Count(page.text, "\n") < 8 {
			t.Errorf("%s: a title %q and %d bytes", page.name, page.title, len(page.text))
		}
		for line := range strings.Lines(page.text) {
			if len(line) > 84 {
				t.Errorf("%s: a line of %d: %q", page.name, len(line), line)
			}
		}
		code, out, errs := run(t, nil, "help", page.name)
		if code != 0 || out != page.text || errs != "" {
			t.Errorf("scv help %s: %d, %q", page.name, code, errs)
		}
	}
}

// mentioned finds commands that a page tells to type.
func mentioned(text string) [][]string {
	var out [][]string
	for _, m := range regexp.MustCompile("(?m)(?:^|[` $(])scv ((?:[a-z]+ ?)+(?:[^`\n;|&]*))").FindAllStringSubmatch(text, -1) {
		out = append(out, strings.Fields(m[1]))
	}
	return out
}

// TestPagesNameRealCommands looks at every command that a topic or a page of docs tells to type: verb and flags exist.
func TestPagesNameRealCommands(t *testing.T) {
	pages := map[string]string{}
	for _, page := range topics() {
		pages[page.name] = page.text
	}
	files, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "../../../README.md", "../../../README.zh-CN.md") {
		data, err := os.ReadFile(file)
		if err != nil && !strings.Contains(file, "zh-CN") {
			t.Fatal(err)
		}
		pages[filepath.Base(file)] = string(data)
	}
	seen := 0
	for name, text := range pages {
		for _, words := range mentioned(text) {
			if wrong := wrongCommand(testRoot(), words); wrong != "" {
				t.Errorf("%s: scv %s: %s", name, strings.Join(words, " "), wrong)
			}
			seen++
		}
	}
	if seen < 60 {
		t.Errorf("only %d commands found", seen)
	}
}

// wrongCommand tells what of a command line is not there; words that follow a command in a sentence are none of it.
func wrongCommand(root *cobra.Command, words []string) string {
	cmd := root
	for i, word := range words {
		if !regexp.MustCompile(`^[a-z]+$`).MatchString(word) {
			break
		}
		next, _, err := cmd.Find([]string{word})
		if err != nil || next == cmd {
			if i == 0 {
				return "no such command"
			}
			break
		}
		cmd = next
	}
	for _, word := range words {
		word = strings.TrimRight(word, "`.,;:)\"'")
		if name, ok := strings.CutPrefix(word, "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			if name != "" && regexp.MustCompile(`^[a-z-]+$`).MatchString(name) && cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
				return fmt.Sprintf("%s has no flag --%s", cmd.CommandPath(), name)
			}
		}
		if strings.ContainsAny(word, "|;&") {
			break
		}
	}
	return ""
}

// TestOneTableOfExitCodes holds docs/operations.md to the table of this program, and the table to what is used.
func TestOneTableOfExitCodes(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(page), "## Exit codes\n")
	part, _, _ = strings.Cut(part, "\n## ")
	var want []string
	for _, e := range exitCodes() {
		want = append(want, fmt.Sprintf("| %d | %s |", e.code, e.says))
	}
	var got []string
	for line := range strings.Lines(part) {
		if regexp.MustCompile(`^\| [0-9]`).MatchString(line) {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/operations.md has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestManPages writes the pages of all commands twice: they are equal, and none has a line that man would obey.
func TestManPages(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		if code, _, errs := run(t, nil, "man", dir+"/"); code != 0 {
			t.Fatal(code, errs)
		}
	}
	pages, err := filepath.Glob(one + "/*.1")
	if err != nil || len(pages) < 40 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		a, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(two, filepath.Base(page)))
		if err != nil || string(a) != string(b) {
			t.Errorf("%s differs from one time to the other (%v)", page, err)
		}
		for line := range strings.Lines(string(a)) {
			if strings.HasPrefix(line, ".") && !regexp.MustCompile(`^\.(TH|SH|TP|B|BR|nf|fi)\b`).MatchString(line) {
				t.Errorf("%s: %q", filepath.Base(page), line)
			}
		}
	}
}
