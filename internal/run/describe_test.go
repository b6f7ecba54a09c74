//go:build live

package run

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Every imported local module has a digest, however its import is formatted; a path in a
// comment or string has none.
func TestScriptDigestsFollowImports(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.js": "import http from 'k6/http';\nimport {\n  a,\n  b,\n} from './lib/a.js';\nexport {\n  c\n} from \"./lib/c.js\";\nimport './lib/d.js';\n" +
			"/*\nimport x from './lib/gone.js';\n*/\nexport default function () { return './lib/text.js'; }\n",
		"lib/a.js": "export * from './b.js';\n",
		"lib/b.js": "", "lib/c.js": "", "lib/d.js": "import '../main.js';", "lib/text.js": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	digests, err := digestsOf(dir, filepath.Join(dir, "main.js"))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, d := range digests {
		paths = append(paths, d.Path)
	}
	if want := []string{"lib/a.js", "lib/b.js", "lib/c.js", "lib/d.js", "main.js"}; !slices.Equal(paths, want) {
		t.Errorf("digests of %v, want %v", paths, want)
	}
}

// A target or database is co-located if it is reached by any address of this host.
func TestCoLocation(t *testing.T) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		ip := a.(*net.IPNet).IP.String()
		if got := coLocated(t.Context(), "http://"+net.JoinHostPort(ip, "80"), "u@tcp("+net.JoinHostPort(ip, "3306")+")/x"); !slices.Equal(got, []string{"service", "database"}) {
			t.Errorf("at %s: %v", ip, got)
		}
	}
	for target, want := range map[string][]string{
		"http://localhost:80": {"service"},
		"http://192.0.2.1":    {}, // TEST-NET-1
	} {
		if got := coLocated(t.Context(), target, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", target, got, want)
		}
	}
	if got := coLocated(t.Context(), "http://192.0.2.1", "u@unix(/run/db.sock)/x"); !slices.Equal(got, []string{"database"}) {
		t.Errorf("by a socket: %v", got)
	}
}
