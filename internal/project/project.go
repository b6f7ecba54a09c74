package project

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay.dev/assay"
	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/project/model"
	"assay.dev/assay/internal/spec"
)

//go:embed all:files
var own embed.FS

// The JSON Schemas of thresholds.json, of experiment files and of stub files, for editors.
const (
	schemaFile           = "thresholds.schema.json"
	experimentSchemaFile = "experiment.schema.json"
	stubSchemaFile       = "stub.schema.json"
)

// projectFiles returns the files of a new project by their slashed paths: some of this
// repository, and some that only a new project has.
func projectFiles() (map[string][]byte, error) {
	all := map[string][]byte{schemaFile: spec.Schema, experimentSchemaFile: spec.ExperimentSchema, stubSchemaFile: spec.StubSchema}
	more, err := fs.Sub(own, "files")
	if err != nil {
		return nil, err
	}
	for _, from := range []fs.FS{assay.Files, more} {
		err := fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			all[path], err = fs.ReadFile(from, path)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the files of a new project: %w", err)
		}
	}
	// Under its real name git would apply it to this repository.
	all[".gitignore"] = all["gitignore"]
	thresholds, err := withProfile(all["thresholds.json"], all["profile.json"])
	if err != nil {
		return nil, err
	}
	all["thresholds.json"] = thresholds
	for path, data := range all {
		for folder, schema := range map[string]string{"scenarios/experiments/": experimentSchemaFile, "stubs/": stubSchemaFile} {
			if strings.HasPrefix(path, folder) {
				all[path] = bytes.Replace(data, []byte("internal/spec/"+schema), []byte(schema), 1)
			}
		}
	}
	delete(all, "gitignore")
	delete(all, "profile.json")
	return all, nil
}

// withProfile adds a profile before the others, and refers to the schema's file. It
// edits the text, as an encoder would not keep the layout.
func withProfile(thresholds, profile []byte) ([]byte, error) {
	for was, is := range map[string]string{
		`"profiles": {` + "\n":                   `"profiles": {` + "\n" + string(profile),
		`"internal/spec/thresholds.schema.json"`: `"` + schemaFile + `"`,
	} {
		if bytes.Count(thresholds, []byte(was)) != 1 {
			return nil, fmt.Errorf("make thresholds.json: it has no %s", strings.TrimSpace(was))
		}
		thresholds = bytes.Replace(thresholds, []byte(was), []byte(is), 1)
	}
	return thresholds, nil
}

// ErrExists is wrapped where a file of the new project exists.
var ErrExists = errors.New("exists already")

// Write makes the project in a folder, which it creates, and lists its files. Where
// one of them exists it writes nothing; where it fails it removes what it wrote.
func Write(dir string) ([]string, error) {
	files, err := projectFiles()
	if err != nil {
		return nil, err
	}
	return WriteFiles(dir, files)
}

// WriteFiles writes files, by their slashed paths, as Write does.
func WriteFiles(dir string, files map[string][]byte) (_ []string, err error) {
	paths := slices.Sorted(maps.Keys(files))
	for _, path := range paths {
		if _, err := os.Lstat(filepath.Join(dir, path)); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = ErrExists
			}
			return nil, fmt.Errorf("make project: %s: %w", filepath.Join(dir, path), err)
		}
	}
	var made []string // the newest last
	defer func() {
		if err != nil {
			for _, path := range slices.Backward(made) {
				_ = os.Remove(path) // fails for a folder that is not empty
			}
			err = fmt.Errorf("make project: %w", err)
		}
	}()
	for _, path := range paths {
		path, data := filepath.Join(dir, path), files[path]
		folders, err := makeFolder(filepath.Dir(path))
		made = append(made, folders...)
		if err != nil {
			return nil, err
		}
		made = append(made, path)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// makeFolder makes a folder and those above it, and lists the new ones, the
// outermost first.
func makeFolder(dir string) (made []string, err error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, at)
	}
	slices.Reverse(made)
	return made, os.MkdirAll(dir, 0o755)
}

// ProposedFiles returns the files of a proposed profile by their slashed paths: thresholds.json
// with its schema, the scripts with what they import, and the model itself. A profile that
// assay certify would refuse is an error.
func ProposedFiles(d model.Document) (map[string][]byte, error) {
	all, err := model.Scripts(d)
	if err != nil {
		return nil, err
	}
	all[schemaFile] = spec.Schema
	if all["thresholds.json"], err = model.Thresholds(d, schemaFile); err != nil {
		return nil, fmt.Errorf("make thresholds.json: %w", err)
	}
	if _, err := spec.Decode("thresholds.json", all["thresholds.json"]); err != nil {
		return nil, hint.With(fmt.Errorf("the proposed profile is not valid: %w", err), "nothing was written; this is a mistake of assay model: report it with what it prints with --json in place of --out")
	}
	if all["model.json"], err = document.Marshal(d); err != nil {
		return nil, fmt.Errorf("make model.json: %w", err)
	}
	for _, path := range model.Libraries {
		if all[path], err = fs.ReadFile(assay.Files, path); err != nil {
			return nil, fmt.Errorf("read the scripts' libraries: %w", err)
		}
	}
	return all, nil
}
