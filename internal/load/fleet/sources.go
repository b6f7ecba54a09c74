package fleet

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/wire"
)

var localImport = regexp.MustCompile(`(?m)^\s*(?:import\b[^'";]*|export\b[^'";]*\bfrom\s*)['"](\.{1,2}/[^'"]+)['"]`)

// EachSource visits scripts and the local modules that they import, each once.
func EachSource(scripts []string, visit func(path string, source []byte) error) error {
	seen := map[string]bool{}
	for queue := slices.Clone(scripts); len(queue) > 0; {
		path := queue[0]
		queue = queue[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		data, err := foreign.ReadLinked(path, wire.MaxArchive)
		if errors.Is(err, fs.ErrNotExist) && !slices.Contains(scripts, path) {
			continue // an import in a comment: the scenario initialises without it
		}
		if err != nil {
			return fmt.Errorf("read scenario: %w", err)
		}
		if err := visit(path, data); err != nil {
			return err
		}
		for _, m := range localImport.FindAllSubmatch(data, -1) {
			queue = append(queue, filepath.Join(filepath.Dir(path), filepath.FromSlash(string(m[1]))))
		}
	}
	return nil
}

// waiting is a function that waits: how a file imports it, and calls it.
type waiting struct{ imported, called *regexp.Regexp }

var (
	sleeping = waiting{
		regexp.MustCompile(`(?m)^\s*import\s*(?:\w+\s*,\s*)?\{[^}]*\bsleep\b[^}]*\}\s*from\s*['"]k6['"]`),
		regexp.MustCompile(`\bsleep\s*\(`),
	}
	thinking = waiting{
		regexp.MustCompile(`(?m)^\s*import\s*\{[^}]*\bthink(?:Between)?\b[^}]*\}\s*from\s*['"][^'"]*/think\.js['"]`),
		regexp.MustCompile(`\bthink(?:Between)?\s*\(`),
	}
)

// Sleeps lists the files of scripts that call k6's sleep(), whose time counts as that of
// the system under test.
func (m Main) Sleeps() []string { return m.waitsBy(sleeping) }

// Thinks lists the files of scripts that call think(), for which the profile must plan.
func (m Main) Thinks() []string { return m.waitsBy(thinking) }

func (m Main) waitsBy(w waiting) (paths []string) {
	err := EachSource(m.scripts, func(path string, source []byte) error {
		if w.imported.Match(source) && w.called.Match(source) {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		return nil // an unreadable script is reported where it is run
	}
	return paths
}
