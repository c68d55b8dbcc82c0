//go:build linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"scv/internal/quick"
	"scv/internal/testkit/need"
)

// copyTree copies what a release is built from to another place.
func copyTree(t *testing.T, to string) {
	t.Helper()
	root := filepath.Join("..", "..")
	for _, name := range []string{"cmd", "internal", "scripts", "contrib"} {
		if err := os.CopyFS(filepath.Join(to, name), os.DirFS(filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "README.md", "LICENSE"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// release builds for this machine's Linux in a tree and returns the directory with what was built.
func release(t *testing.T, tree string) string {
	t.Helper()
	out := t.TempDir()
	cmd := exec.Command("sh", filepath.Join(tree, "scripts", "release.sh"), out)
	cmd.Env = append(os.Environ(), "TARGETS=linux/amd64", "SOURCE_DATE_EPOCH=1767225600")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("release.sh: %v\n%s", err, said)
	}
	return out
}

// TestReleaseIsReproducible builds twice, in two places, and compares the sums; then it reads the parts list, installs
// the deb into a root of its own and runs the program there.
func TestReleaseIsReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("it links the program four times")
	}
	for _, program := range []string{"dpkg-deb", "dpkg", "gzip", "sha256sum", "awk"} {
		need.Program(t, program)
	}
	other := t.TempDir()
	copyTree(t, other)
	one, two := release(t, filepath.Join("..", "..")), release(t, other)
	for _, name := range []string{"SHA256SUMS", "scv.rb"} {
		a, err := os.ReadFile(filepath.Join(one, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(two, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(a), string(b)); diff != "" {
			t.Errorf("%s differs between two builds: %s", name, diff)
		}
	}
	sums, err := os.ReadFile(filepath.Join(one, "SHA256SUMS"))
	if err != nil || strings.Count(string(sums), "\n") != 3 {
		t.Errorf("sums: %q, %v", sums, err)
	}
	checkParts(t, one)
	checkDeb(t, one)
}

func checkParts(t *testing.T, out string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, "scv_"+quick.Version+"_linux_amd64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		BomFormat  string `json:"bomFormat"`
		Components []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range list.Components {
		seen[c.Name] = c.Version != "" && c.Purl != ""
	}
	if list.BomFormat != "CycloneDX" || !seen["go"] || !seen["modernc.org/sqlite"] || !seen["github.com/spf13/cobra"] {
		t.Errorf("the parts list has %v", seen)
	}
}

func checkDeb(t *testing.T, out string) {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	deb := filepath.Join(out, "scv_"+quick.Version+"_linux_amd64.deb")
	said, err := exec.Command("dpkg", "--root="+root, "--force-not-root", "--force-architecture", "--log=/dev/null", "--install", deb).CombinedOutput()
	if err != nil {
		t.Fatalf("install the deb: %v\n%s", err, said)
	}
	for _, name := range []string{
		"usr/share/man/man1/scv.1.gz", "usr/share/man/man1/scv-jobs-start.1.gz", "usr/share/bash-completion/completions/scv",
		"usr/share/zsh/vendor-completions/_scv", "usr/share/fish/vendor_completions.d/scv.fish", "usr/share/doc/scv/copyright",
	} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s is not installed: %v", name, err)
		}
	}
	unit, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/user/scv.service"))
	if err != nil || !strings.Contains(string(unit), "ExecStart=/usr/bin/scv run\n") {
		t.Errorf("the unit: %v\n%s", err, unit)
	}
	told, err := exec.Command(filepath.Join(root, "usr/bin/scv"), "version").Output()
	if err != nil || !strings.HasPrefix(string(told), "scv "+quick.Version+" ") {
		t.Errorf("the installed program: %q, %v", told, err)
	}
}
