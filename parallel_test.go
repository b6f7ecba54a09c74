package assay_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// A live test whose subtests are parallel is parallel, too: otherwise no other test of its
// package runs while they wait for CPUs, and `make test` takes minutes more.
func TestLiveTestsAreParallel(t *testing.T) {
	live := 0
	goFiles(t, func(path string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "//go:build live\n") {
			return
		}
		live++
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range serialWithParallelSubtests(file) {
			t.Errorf("%s: %s does not call t.Parallel, as its subtests do", path, name)
		}
	})
	if live == 0 {
		t.Fatal("no file has live tests")
	}
}

// serialWithParallelSubtests names a file's tests that begin with no call of t.Parallel, but
// have subtests that do.
func serialWithParallelSubtests(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "Test") || len(f.Body.List) == 0 {
			continue
		}
		if first, ok := f.Body.List[0].(*ast.ExprStmt); ok && isCall(first.X, "Parallel") {
			continue
		}
		parallel := false
		ast.Inspect(f.Body, func(n ast.Node) bool {
			parallel = parallel || isCall(n, "Parallel") || isCall(n, "EachFlavour")
			return !parallel
		})
		if parallel {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// isCall reports whether a method, or a function of another package, of this name is called.
func isCall(n ast.Node, name string) bool {
	c, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	s, ok := c.Fun.(*ast.SelectorExpr)
	return ok && s.Sel.Name == name
}

func TestSerialTestsAreFound(t *testing.T) {
	const source = `package p
func TestParallel(t *testing.T) { t.Parallel(); t.Run("", func(t *testing.T) { t.Parallel() }) }
func TestSerial(t *testing.T) { t.Run("", func(t *testing.T) { t.Log() }) }
func TestOmission(t *testing.T) { for range 2 { t.Run("", func(t *testing.T) { t.Parallel() }); t.Run("", func(t *testing.T) { t.Parallel() }) } }
func TestFlavours(t *testing.T) { mysqldtest.EachFlavour(t, func(t *testing.T, _ string) {}) }`
	file, err := parser.ParseFile(token.NewFileSet(), "p_test.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(serialWithParallelSubtests(file), " "); got != "TestOmission TestFlavours" {
		t.Error(got)
	}
}
