package project

import (
	"fmt"
	"io/fs"

	"assay"
	"assay/harness/document"
	"assay/harness/project/model"
	"assay/harness/spec"
)

// ProposedFiles returns the files of a proposed profile by their slashed paths: thresholds.json
// with its schema, the scripts with what they import, and the model itself.
func ProposedFiles(d model.Document) (map[string][]byte, error) {
	all, err := model.Scripts(d)
	if err != nil {
		return nil, err
	}
	all[schemaFile] = spec.Schema
	if all["thresholds.json"], err = model.Thresholds(d, schemaFile); err != nil {
		return nil, fmt.Errorf("make thresholds.json: %w", err)
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
