package feed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/home"
	"scv/internal/ui/tui/model"
)

func TestPlaceAndPromptsAreKept(t *testing.T) {
	h, err := home.Open(filepath.Join(t.TempDir(), "h"))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if got := Recall(h); got.Filter != "" || got.Chosen != nil {
		t.Errorf("of nothing it recalls %+v", got)
	}
	p := model.Place{View: model.ViewSessions, Filter: "state:failed", Mine: true, Chosen: []string{"j a", ""}}
	Remember(h, p)
	if diff := cmp.Diff(p, Recall(h)); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "{", `{"view":-1}`, `{"view":"x"}`} {
		if err := os.WriteFile(filepath.Join(h.Path(), placeName), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(model.Place{}, Recall(h)); diff != "" {
			t.Errorf("%q: %s", bad, diff)
		}
	}
	if all, err := prompts(h); err != nil || len(all) != 0 {
		t.Errorf("at first %v, %v", all, err)
	}
	want := []model.Prompt{{Name: "tidy", Text: "Tidy up\nand test"}, {Name: "文档", Text: "x"}}
	for _, p := range want {
		if err := keepPrompt(h, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(h.Path(), promptsDir, "other.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := prompts(h)
	if diff := cmp.Diff(want, all); diff != "" || err != nil {
		t.Error(err, diff)
	}
	info, err := os.Stat(filepath.Join(h.Path(), promptsDir, "tidy.md"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := keepPrompt(h, model.Prompt{Name: "../../x", Text: "x"}); err == nil {
		t.Error("a prompt was kept outside of the home")
	}
}

func TestCompletionOfPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"main.go", "main_test.go", "文件一.md", "文件二.md", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, want string
		names      int
	}{
		{"ma", "main", 2},
		{"main.", "main.go", 1},
		{"文", "文件", 2},
		{"s", "sub/", 1},
		{"sub/", "sub/", 0},
		{"nothing", "nothing", 0},
		{"none/x", "none/x", 0},
		{".h", ".hidden", 1},
		{"", "", 5},
		{dir + "/su", dir + "/sub/", 1},
	} {
		if got, names := completion(dir, c.path); got != c.want || len(names) != c.names {
			t.Errorf("%q goes on as %q with %v", c.path, got, names)
		}
	}
}
