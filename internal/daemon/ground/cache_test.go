package ground

import (
	"log/slog"
	"maps"
	"os"
	"testing"

	"scv/internal/home"
	"scv/internal/workbench/row"
)

// P32: what works in worktrees shares the caches that are configured: the owner's own, else a private folder of the home.
// Who works in no worktree gets none of them.
func TestP32_WorktreesShareCaches(t *testing.T) {
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	names := []string{"CCACHE_DIR", "CARGO_TARGET_DIR"}
	g := &Ground{Config: Config{
		Home: h, Environ: []string{"CCACHE_DIR=/home/ann/ccache", "OTHER=x"}, Caches: func() []string { return names }, Log: slog.New(slog.DiscardHandler),
	}}
	own := h.Path() + "/cache/CARGO_TARGET_DIR"
	for range 2 { // the folder is there the second time
		got := g.Caches(row.Order{Conversation: row.Conversation{Plan: "{}"}})
		if want := map[string]string{"CCACHE_DIR": "/home/ann/ccache", "CARGO_TARGET_DIR": own}; !maps.Equal(got, want) {
			t.Errorf("they get %v, want %v", got, want)
		}
	}
	if info, err := os.Stat(own); err != nil || info.Mode().Perm() != home.DirMode.Perm() {
		t.Errorf("the folder is %v, %v", info, err)
	}
	if got := g.Caches(row.Order{}); len(got) > 0 {
		t.Errorf("without a worktree they get %v", got)
	}
}
