package project

import (
	"fmt"
	"io/fs"

	"assay.dev/assay"
	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/project/model"
	"assay.dev/assay/internal/spec"
)

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
