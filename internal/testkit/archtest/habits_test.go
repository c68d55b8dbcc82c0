package archtest

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// calls yields every call pkg.Name(...) of a file.
func calls(s source, visit func(pkg, name string, c *ast.CallExpr)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if sel, ok := c.Fun.(*ast.SelectorExpr); ok {
				if id, ok := sel.X.(*ast.Ident); ok {
					visit(id.Name, sel.Sel.Name, c)
				}
			}
		}
		return true
	})
}

func TestNoSleepInTests(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		calls(s, func(pkg, name string, c *ast.CallExpr) {
			if pkg == "time" && name == "Sleep" {
				t.Errorf("%s: a test sleeps; wait on the fact", s.fset.Position(c.Pos()))
			}
		})
	}
}

func TestContextsComeFromMain(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.file.Name.Name == "main" || strings.HasPrefix(s.path, "internal/testkit/") {
			continue
		}
		calls(s, func(pkg, name string, c *ast.CallExpr) {
			if pkg == "context" && (name == "Background" || name == "TODO") {
				t.Errorf("%s: a context is handed down, not made", s.fset.Position(c.Pos()))
			}
		})
	}
}

func TestGitRunsInOnePlace(t *testing.T) { // T32
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.path, "internal/repo/") || strings.HasPrefix(s.path, "bench/") {
			continue
		}
		calls(s, func(pkg, name string, c *ast.CallExpr) {
			if pkg != "exec" || !strings.HasPrefix(name, "Command") {
				return
			}
			for _, a := range c.Args {
				if lit, ok := a.(*ast.BasicLit); ok && lit.Value == `"git"` {
					t.Errorf("%s: git is run by internal/repo alone", s.fset.Position(c.Pos()))
				}
			}
		})
	}
}

// TestNoMutablePackageState allows what cannot change or is made on first use: error values, interface checks, embedded
// files, and sync.OnceValue.
func TestNoMutablePackageState(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			switch x := d.(type) {
			case *ast.FuncDecl:
				if x.Recv == nil && x.Name.Name == "init" && s.path != "internal/quick/quick.go" { // docs/decisions/010
					t.Errorf("%s: work in init is paid by every process, shims included", s.fset.Position(x.Pos()))
				}
			case *ast.GenDecl:
				if x.Tok == token.VAR {
					checkVars(t, s, x)
				}
			}
		}
	}
}

func checkVars(t *testing.T, s source, d *ast.GenDecl) {
	t.Helper()
	embedded := d.Doc != nil && strings.Contains(d.Doc.Text()+directives(d.Doc), "go:embed")
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok || embedded {
			continue
		}
		for i, name := range v.Names {
			if name.Name == "_" || i < len(v.Values) && constantLike(v.Values[i]) {
				continue
			}
			t.Errorf("%s: package variable %s; hand the value to who needs it", s.fset.Position(name.Pos()), name.Name)
		}
	}
}

func directives(g *ast.CommentGroup) string {
	var b strings.Builder
	for _, c := range g.List {
		b.WriteString(c.Text)
	}
	return b.String()
}

func constantLike(e ast.Expr) bool {
	c, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return false
	}
	switch id.Name + "." + sel.Sel.Name {
	case "errors.New", "fmt.Errorf", "sync.OnceValue", "sync.OnceValues", "sync.OnceFunc":
		return true
	}
	return false
}
