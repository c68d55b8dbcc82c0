package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The sums of an index are those of the files that it speaks of, in each version and kind of hash; a split one is refused.
func TestReadSizes(t *testing.T) {
	for _, tc := range []struct {
		name, version, hash string
		split               bool
	}{{"two", "2", "sha1", false}, {"three", "3", "sha1", false}, {"four", "4", "sha1", false}, {"sha256", "2", "sha256", false}, {"split", "2", "sha1", true}} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			git := func(args ...string) {
				t.Helper()
				cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
				cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
			}
			git("init", "-q", "--object-format="+tc.hash)
			write := func(name string, n int) {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), make([]byte, n), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want := 0
			for i, name := range []string{"a", "a b/c", "a b/cc", strings.Repeat("long/", 60) + "name", "z"} {
				write(name, 100+i)
				want += 100 + i
			}
			git("add", "-A")
			write("later", 7)
			git("add", "-N", "later")
			git("update-index", "--index-version", tc.version)
			if tc.split {
				git("update-index", "--split-index")
			}
			got, err := ReadSizes(filepath.Join(dir, ".git", "index"), map[string]int{"sha1": 20, "sha256": 32}[tc.hash], map[string]bool{"z": true, "later": true})
			if tc.split {
				if err == nil {
					t.Error("a split index was read as a whole one")
				}
				return
			}
			if err != nil || got.Bytes != int64(want-104) || got.Newest.IsZero() {
				t.Errorf("got %+v, %v; want %d bytes", got, err, want-104)
			}
		})
	}
}

// FuzzReadSizes: no index makes it panic or loop.
func FuzzReadSizes(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"))
	f.Add(append([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x02"), make([]byte, 200)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		x := indexReader{data: data, hash: 20}
		s, err := x.sum(nil)
		if err == nil && s.Bytes < 0 {
			t.Error("a negative sum")
		}
	})
}
