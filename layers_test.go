package assay_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers are the folders, from the bottom up; internal/ is left out of their names. A folder stands for all
// packages below it; of several that match, the longest counts. A package may import
// packages of its own folder and of lower layers, and none of another folder in its
// layer.
var layers = [][]string{
	{"mask"},
	{"crash", "document", "hint", "quantity", "rulebook", "cluster/client"},
	{"foreign", "program"},
	{"servers", "wire", "cluster"},
	{"observe/metric", "observe/wait"}, // all of observe that spec may import
	{"spec"},
	{"signature"},
	{"certificate"},
	{"plan", "thresholds", "localstack"},
	{"observe"},
	{"version"},
	{"load", "judge"},
	{"doctor", "project", "stub"},
	{"run"},
	{"trial"},
	{"series"},
	{"system"},
	{"cli"},
	{"cmd"},
	{"testing"}, // the fixtures
	{"lab"},
}

// pure are the packages that take clock, files and random numbers as arguments.
var pure = []string{
	"rulebook", "observe/metric", "observe/wait", "spec", "plan", "judge/stats", "judge/verdict", "judge/diagnose", "project/model",
}

// impure are packages that they must not import, nor any below. math/rand/v2 is
// allowed with a seed: see impureCalls.
var impure = []string{"os", "net", "syscall", "database/sql", "math/rand", "crypto/rand", "golang.org/x/sys"}

// within: a package is the named one or below it.
func within(pkg, name string) bool { return pkg == name || strings.HasPrefix(pkg, name+"/") }

// layerOf is the folder of layers that a package belongs to, and its layer; -1: it
// belongs to none.
func layerOf(pkg string) (folder string, layer int) {
	layer = -1
	for i, names := range layers {
		for _, n := range names {
			if within(pkg, n) && len(n) > len(folder) {
				folder, layer = n, i
			}
		}
	}
	return folder, layer
}

// folderOf is the folder of a package of this module, as layers names it; other paths are
// returned as they are.
func folderOf(importPath string) string {
	folder, ours := strings.CutPrefix(importPath, "assay.dev/assay/")
	if !ours {
		return importPath
	}
	return strings.TrimPrefix(folder, "internal/")
}

// checkImport says what is wrong with an import; "" where nothing is. Packages of
// this module are named below internal/.
func checkImport(pkg, imported string) string {
	if slices.ContainsFunc(pure, func(p string) bool { return within(pkg, p) }) {
		if imported == "net/url" || imported == "net/netip" {
			return "" // text only
		}
		for _, i := range impure {
			if within(imported, i) && imported != "math/rand/v2" {
				return fmt.Sprintf("%s must be pure and imports %s", pkg, imported)
			}
		}
	}
	if imported == "testing" { // the standard library's, not ours of the same name
		return ""
	}
	to, below := layerOf(imported)
	from, layer := layerOf(pkg)
	switch {
	case layer < 0:
		return pkg + " is in no layer: add it to the table"
	case below < 0: // the standard library, another module, or the embedded files
		return ""
	case from != to && below >= layer:
		return fmt.Sprintf("%s imports %s, which is not in a lower layer", pkg, imported)
	}
	return ""
}

func TestLayers(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Dir,GoFiles", "./certificate/...", "./cmd/...", "./internal/...", "./lab/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for all := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir  string
			Imports, GoFiles []string
		}
		if err := all.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkg := folderOf(p.ImportPath)
		for _, imported := range p.Imports {
			if wrong := checkImport(pkg, folderOf(imported)); wrong != "" {
				t.Error(wrong)
			}
		}
		for _, file := range p.GoFiles {
			if cut := cutsText(t, filepath.Join(p.Dir, file)); cut != "" && pkg != "mask" {
				t.Errorf("%s cuts a text by %s: a part of a secret would be left, use mask.Cut", pkg, cut)
			}
		}
		if !slices.ContainsFunc(pure, func(p string) bool { return within(pkg, p) }) {
			continue
		}
		for _, file := range p.GoFiles {
			for _, call := range impureCalls(t, filepath.Join(p.Dir, file)) {
				t.Errorf("%s must be pure and uses %s", pkg, call)
			}
		}
	}
}

// cutsText is a place of a file that cuts a text that others have said; "": there is none.
// Such a text may be cut within a character, which such a place mends.
func cutsText(t *testing.T, path string) string {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`ToValidUTF8\(.*\[[^\]]*:.*|string\(\w+\[:min\(.*|%\.\d+v.*`).FindString(string(source))
}

// impureCalls are the functions of time in a file that read the clock, and those of
// math/rand/v2 that draw from the process's own source.
func impureCalls(t *testing.T, path string) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	seeded := []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "Zipf"}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := s.X.(*ast.Ident); ok {
				if of.Name == "time" && slices.Contains(clock, s.Sel.Name) || of.Name == "rand" && !slices.Contains(seeded, s.Sel.Name) {
					all = append(all, of.Name+"."+s.Sel.Name)
				}
			}
		}
		return true
	})
	return all
}

func TestLayersOfImports(t *testing.T) {
	for _, c := range []struct {
		pkg, imported string
		allowed       bool
	}{
		{"cmd/assay", "run", true},
		{"observe/collect", "observe/metric", true},
		{"observe/influx", "observe/record", true},
		{"spec", "observe/metric", true},
		{"spec", "observe/record", false},
		{"plan", "observe/record", false},
		{"observe/record", "load/k6", false},
		{"observe/record", "judge/stats", false},
		{"load/k6", "judge/verdict", false},
		{"judge/verdict", "load/k6", false},
		{"judge/verdict", "run", false},
		{"servers/mysqld", "observe/database", false},
		{"servers/mysqld", "wire", false},
		{"trial", "run", true},
		{"trial", "lab/stack", false},
		{"run", "testing/budget", false},
		{"lab/scale", "trial", true},
		{"trial", "series/search", false},
		{"attic", "fmt", false},
		{"spec", "net/url", true},
		{"spec", "net", false},
		{"judge/stats/effect", "os/exec", false},
		{"judge/diagnose", "math/rand/v2", true},
		{"judge/diagnose", "math/rand", false},
		{"judge/audit", "os", true},
		{"observe/record", "certificate", true},
		{"certificate", "observe/record", false},
		{"signature", "certificate", false},
		{"project/model/traffic", "observe/metric", true},
		{"project/model", "os", false},
		{"project/logfile", "os", true},
	} {
		if wrong := checkImport(c.pkg, c.imported); (wrong == "") != c.allowed {
			t.Errorf("%s imports %s: %q", c.pkg, c.imported, wrong)
		}
	}
}

// unguarded are the files that open what neither a user nor a stranger names: of the kernel,
// and what this program has written itself. assay model reads logs from pipes, too. The last
// ones are fixtures, and servers that this program has started.
var unguarded = []string{
	"foreign/", "observe/collect/host/", "observe/collect/quota/",
	"series/experiment/change/journal.go", "load/fleet/log.go", "load/k6/output.go", "trial/incluster/hold.go",
	"judge/audit/covered.go", // a folder
	"project/logfile/read.go",
	"testing/", "servers/", "lab/bench/", "lab/fakegrafana/",
}

// All other files are opened by the package foreign: a pipe would block for ever, and a
// device never end.
func TestFilesAreOpenedByForeign(t *testing.T) {
	goFiles(t, func(path string) {
		name := strings.TrimPrefix(filepath.ToSlash(path), "internal/")
		if strings.HasSuffix(name, "_test.go") || slices.ContainsFunc(unguarded, func(of string) bool { return strings.HasPrefix(name, of) }) {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := s.X.(*ast.Ident); ok && of.Name == "os" && (s.Sel.Name == "Open" || s.Sel.Name == "ReadFile") {
					t.Errorf("%s uses os.%s: use the package foreign", path, s.Sel.Name)
				}
			}
			return true
		})
	})
}

// assay-verify judges anywhere: it links nothing that makes load or reaches a server, and
// what ships links no fixture.
func TestProgramsLinkOnlyWhatTheyNeed(t *testing.T) {
	for program, banned := range map[string]string{
		"./cmd/assay-verify": `^(go\.k6\.io/|github\.com/(grafana|aws|go-sql-driver|jackc|go-mysql-org|twmb)/|k8s\.io/|assay\.dev/assay/(lab|internal/(load|run|trial|series|system|servers|localstack|testing|cluster))(/|$))`,
		"./cmd/assay":        `^(github\.com/(google/nftables|twmb/franz-go/pkg/kfake)|assay\.dev/assay/(lab|internal/testing)(/|$))`,
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", program).Output()
		if err != nil {
			t.Fatal(err)
		}
		linked := strings.Fields(string(out))
		if len(linked) < 100 {
			t.Errorf("%s: %d packages: this test tests nothing", program, len(linked))
		}
		for _, p := range linked {
			if regexp.MustCompile(banned).MatchString(p) {
				t.Errorf("%s links %s", program, p)
			}
		}
	}
}
