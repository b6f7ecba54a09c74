package assay_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goFiles visits the files of Go, without those of the root.
func goFiles(t *testing.T, visit func(path string)) {
	t.Helper()
	for _, folder := range []string{"certificate", "cmd", "internal", "lab"} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") {
				visit(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The table of foreign formats in CONTRIBUTING.md names each fuzz target, which `make fuzz`
// runs, and no other.
func TestFuzzTargets(t *testing.T) {
	t.Parallel()
	target := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)
	var all []string
	goFiles(t, func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range target.FindAllStringSubmatch(string(text), -1) {
			all = append(all, filepath.ToSlash(filepath.Dir(path))+" "+m[1])
			if strings.HasPrefix(string(text), "//go:build") {
				t.Errorf("%s of %s does not run in the quick suite", m[1], path)
			}
		}
	})
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\|.*\\| `((?:internal|lab)/\\S+)` `(Fuzz\\w+)` \\|$").FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, m[1]+" "+m[2])
	}
	slices.Sort(all)
	slices.Sort(listed)
	for _, one := range all {
		if !slices.Contains(listed, one) {
			t.Errorf("CONTRIBUTING.md does not list %s", one)
		}
	}
	for i, one := range listed {
		if !slices.Contains(all, one) || i > 0 && listed[i-1] == one {
			t.Errorf("CONTRIBUTING.md lists %s, which is none, or twice", one)
		}
	}
	if len(all) < 30 {
		t.Errorf("%d targets were found: this test tests nothing", len(all))
	}
}

// The panic of a goroutine ends a process at once, with instruments on and folders left:
// those of a run are started by package crash.
func TestGoroutinesAreStartedByCrash(t *testing.T) {
	t.Parallel()
	own := regexp.MustCompile(`^lab/|^internal/(stub|series/experiment/binlog|testing|crash)/|_test\.go$`)
	visited := 0
	goFiles(t, func(path string) {
		if own.MatchString(filepath.ToSlash(path)) {
			return
		}
		visited++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s has a go statement: use crash.Go", path)
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" && !isCrash(s.X) && declaresWaitGroup(file) {
					t.Errorf("%s starts goroutines by sync.WaitGroup: use crash.Group", path)
				}
			}
			return true
		})
	})
	if visited < 300 {
		t.Errorf("%d files: this test tests nothing", visited)
	}
}

func isCrash(n ast.Expr) bool {
	name, ok := n.(*ast.Ident)
	return ok && name.Name == "crash"
}

func declaresWaitGroup(file *ast.File) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "WaitGroup" {
			found = true
		}
		return true
	})
	return found
}
