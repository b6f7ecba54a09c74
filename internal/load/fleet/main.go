package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/spec"
)

// Main is the module that k6 runs: the script of a profile, or where its flows have names a
// module that imports the script of each.
type Main struct {
	scripts []string // paths, one for each flow
	flows   bool     // which have names
}

// MainOf is the module of a profile of a file.
func MainOf(f spec.File, p spec.Profile) (m Main) {
	m.flows = p.Named()
	for _, of := range p.Flows {
		m.scripts = append(m.scripts, f.ScriptPath(of))
	}
	return m
}

// String names the scripts.
func (m Main) String() string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(m.scripts))), ", ")
}

// argument is that of k6 which names the module, and what k6 reads from standard input if
// it is no file.
func (m Main) argument() (name, source string, err error) {
	if !m.flows {
		return m.scripts[0], "", nil
	}
	source, err = importAll(m.scripts)
	return "-", source, err
}

// function is the name of the function that runs a transaction of a flow.
func function(flow int) string { return fmt.Sprintf("flow%d", flow) }

// importAll is a module with a function for each script, which runs its default function,
// and with a setup and a teardown that run those of all scripts in turn. Each script gets
// what its own setup has returned, as k6 would hand it over: null stays null, and
// undefined, which k6 would turn into null, is left out. The options of all scripts are the
// same (CheckScripts).
func importAll(scripts []string) (string, error) {
	var b strings.Builder
	for i, script := range scripts {
		path, err := filepath.Abs(script)
		if err != nil {
			return "", fmt.Errorf("find the script: %w", err)
		}
		name, err := json.Marshal(filepath.ToSlash(path))
		if err != nil {
			return "", fmt.Errorf("find the script: %w", err)
		}
		fmt.Fprintf(&b, "import * as script%d from %s;\n", i, name)
		fmt.Fprintf(&b, "export function %s(data) { return script%d.default(data[%d].data); }\n", function(i), i, i)
	}
	b.WriteString("const scripts = [")
	for i := range scripts {
		fmt.Fprintf(&b, "script%d, ", i)
	}
	b.WriteString(`];
export const options = script0.options;
export async function setup() {
  const all = [];
  for (const s of scripts) {
    const data = s.setup ? await s.setup() : undefined;
    all.push(data === undefined ? {} : { data });
  }
  return all;
}
export async function teardown(all) {
  for (const [i, s] of scripts.entries()) if (s.teardown) await s.teardown(all[i].data);
}
export default function () {} // k6 requires one
`)
	return b.String(), nil
}

// CheckScripts is CheckScript for all scripts of a profile. Those of flows run in one
// process, so that they must not set options differently.
func CheckScripts(ctx context.Context, executable string, f spec.File, p spec.Profile, env []string) (Script, error) {
	var all Script
	options := map[string]map[string]string{} // options of each script, by its path
	var first spec.Flow
	for i, of := range p.Flows {
		path := f.ScriptPath(of)
		if options[path] != nil {
			continue
		}
		found, set, err := inspect(ctx, executable, path, env)
		if err != nil {
			return Script{}, err
		}
		options[path] = set
		if i == 0 {
			first, all = of, found
			continue
		}
		if name := differing(options[f.ScriptPath(first)], set); name != "" {
			return Script{}, hint.With(fmt.Errorf("flows %s and %s: their scripts differ in options.%s, and run in one process", first.Name, of.Name, name),
				"set it in both scripts alike, or in neither")
		}
	}
	return all, nil
}

// harmless are options that have no effect in a worker.
var harmless = []string{"thresholds", "summaryTrendStats", "summaryTimeUnit"}

// differing is an option that is not the same in both scripts; empty: there is none.
func differing(a, b map[string]string) string {
	for _, name := range append(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))...) {
		if b[name] != a[name] && !slices.Contains(harmless, name) {
			return name
		}
	}
	return ""
}
