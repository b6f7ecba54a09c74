package fleet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
		data, err := os.ReadFile(path)
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

// sleepCall is a call of it.
var sleepCall = regexp.MustCompile(`\bsleep\s*\(`)

// sleepImport is an import of k6's sleep().
var sleepImport = regexp.MustCompile(`(?m)^\s*import\s*(?:\w+\s*,\s*)?\{[^}]*\bsleep\b[^}]*\}\s*from\s*['"]k6['"]`)

// Sleeps lists the files of scripts that call k6's sleep(), whose time counts as that of
// the system under test.
func (m Main) Sleeps() (paths []string) {
	err := EachSource(m.scripts, func(path string, source []byte) error {
		if sleepImport.Match(source) && sleepCall.Match(source) {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		return nil // that the script cannot be read is reported where it is run
	}
	return paths
}
