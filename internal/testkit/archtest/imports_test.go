package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const module = "scv/"

type goPackage struct {
	ImportPath string
	Name       string
	Dir        string
	Imports    []string
	Deps       []string
	GoFiles    []string
	Standard   bool
}

// root is the repository's folder.
func root(t *testing.T) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("no source position")
	}
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// list asks the go command for packages; GOOS may be set to see another system's files.
func list(t *testing.T, args ...string) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Name,Dir,Imports,Deps,GoFiles,Standard"}, args...)...)
	cmd.Dir = root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func match(pattern, path string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == base || strings.HasPrefix(path, base+"/")
	}
	return pattern == path
}

func roomOf(path string) (room, bool) {
	all := rooms()
	i := slices.IndexFunc(all, func(r room) bool { return match(r.pattern, path) })
	if i < 0 {
		return room{}, false
	}
	return all[i], true
}

func forbidden(not []string, path string) bool {
	return slices.ContainsFunc(not, func(n string) bool {
		return n == path || strings.HasSuffix(n, "/") && strings.HasPrefix(path, n)
	})
}

func TestImportRules(t *testing.T) {
	for _, p := range list(t, "./...") {
		path := strings.TrimPrefix(p.ImportPath, module)
		r, ok := roomOf(path)
		if !ok {
			t.Errorf("%s stands in no room: give it one in rules_test.go, with its reason", path)
			continue
		}
		for _, imp := range p.Imports {
			if ours, ok := strings.CutPrefix(imp, module); ok {
				if !slices.ContainsFunc(r.may, func(m string) bool { return match(m, ours) }) {
					t.Errorf("%s imports %s: %s", path, ours, r.why)
				}
			} else if forbidden(r.not, imp) {
				t.Errorf("%s imports %s: %s", path, imp, r.why)
			}
		}
	}
}

func TestOnlyCommandsImportTheDaemon(t *testing.T) {
	for _, p := range list(t, "./...") {
		path := strings.TrimPrefix(p.ImportPath, module)
		if path == "internal/ui/cli" || path == "cmd/scv" || strings.HasPrefix(path, "internal/testkit/") || strings.HasPrefix(path, "bench") {
			continue
		}
		if slices.Contains(p.Imports, module+"internal/daemon") {
			t.Errorf("%s imports the daemon, which only cmd and ui/cli may", path)
		}
	}
}

// TestShimStaysSmall looks at all that the shim's package links, since what decides a shim's memory is the init of the
// packages behind it.
func TestShimStaysSmall(t *testing.T) {
	for _, p := range list(t, "./internal/run/shim") {
		for _, dep := range p.Deps {
			switch {
			case dep == "github.com/creack/pty": // has no init
			case strings.HasPrefix(dep, "github.com/"), strings.HasPrefix(dep, "modernc.org/"),
				dep == "net/http", dep == "database/sql", dep == "regexp", dep == "text/template":
				t.Errorf("the shim links %s", dep)
			}
		}
	}
}

func TestNeverLinked(t *testing.T) {
	for _, p := range list(t, "-deps", "./cmd/scv") {
		for _, bad := range neverLinked() {
			if strings.HasPrefix(p.ImportPath, bad) {
				t.Errorf("the program links %s, which docs/decisions rejects", p.ImportPath)
			}
		}
	}
}
