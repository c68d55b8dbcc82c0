package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	maxFileLines     = 400
	maxFunctionLines = 60
	maxMethods       = 25
	maxPackageFiles  = 12
)

// manySmallFiles are packages with one small file per noun, action or command.
func manySmallFiles() []string {
	return []string{"internal/wire", "internal/daemon/server", "internal/ui/cli", "internal/workbench/hub"}
}

type source struct {
	path string // relative, with slashes
	test bool
	data []byte
	file *ast.File
	fset *token.FileSet
}

func sources(t *testing.T) []source {
	t.Helper()
	top := root(t)
	var all []source
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n == ".git" || n == "testdata" || n == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		all = append(all, source{filepath.ToSlash(rel), strings.HasSuffix(path, "_test.go"), data, file, fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (s source) lines(from, to token.Pos) int {
	return s.fset.Position(to).Line - s.fset.Position(from).Line + 1
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	for _, s := range sources(t) {
		if n := bytes.Count(s.data, []byte("\n")); n > maxFileLines {
			t.Errorf("%s has %d lines, more than %d: split it by noun", s.path, n, maxFileLines)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if n := s.lines(f.Pos(), f.End()); n > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, more than %d", s.path, f.Name.Name, n, maxFunctionLines)
			}
		}
	}
}

func TestTypesAndPackagesAreSmall(t *testing.T) {
	methods, files := map[string]int{}, map[string]int{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		dir := s.path[:max(0, strings.LastIndex(s.path, "/"))]
		files[dir]++
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[dir+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods, more than %d: move a noun out", name, n, maxMethods)
		}
	}
	for dir, n := range files {
		if n > maxPackageFiles && !slices.Contains(manySmallFiles(), dir) {
			t.Errorf("%s has %d source files, more than %d", dir, n, maxPackageFiles)
		}
	}
}

func receiver(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return "?"
}

func TestPackageNames(t *testing.T) {
	bad := []string{"util", "utils", "common", "helper", "helpers", "types", "manager", "misc"}
	for _, s := range sources(t) {
		if slices.Contains(bad, s.file.Name.Name) {
			t.Errorf("%s: package %s says nothing", s.path, s.file.Name.Name)
		}
	}
}
