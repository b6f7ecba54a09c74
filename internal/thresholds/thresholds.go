// Package thresholds reads files of profiles, and refuses those that hold a secret.
package thresholds

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/spec"
)

// Read reads a file of profiles.
func Read(ctx context.Context, path string) (spec.File, error) {
	data, err := foreign.ReadText(ctx, path, spec.MaxBytes)
	if err != nil {
		return spec.File{}, hint.With(fmt.Errorf("thresholds cannot be read: %w", err), "name the file with --thresholds FILE, or write one with: assay init DIR")
	}
	file, err := spec.Decode(path, data)
	if err != nil {
		return spec.File{}, err
	}
	return file, CheckSecrets(file.Path, data)
}

// CheckSecrets refuses a file with a secret of this process, as it is copied into the record.
// Names are left: a password may be one of them. Elsewhere it may be a word, but for what
// is given to scripts and commands.
func CheckSecrets(path string, text []byte) error {
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if place := secretIn(root, "", false); place != "" {
		return hint.With(fmt.Errorf("%s: %s holds a secret of the environment, and the file is copied into the record", path, place),
			"let the script read it from a file, open('secret.txt'), and a command from a variable")
	}
	return nil
}

// secretIn is the place in a decoded document that holds a secret; "": none does.
func secretIn(value any, place string, given bool) string {
	switch v := value.(type) {
	case string:
		if mask.Found(v) || given && mask.Text(v) != v {
			return place
		}
	case []any:
		for i, of := range v {
			if found := secretIn(of, fmt.Sprintf("%s[%d]", place, i), given); found != "" {
				return found
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if _, text := v[key].(string); text && (key == "name" || key == "scenario") {
				continue
			}
			if found := secretIn(v[key], strings.TrimPrefix(place+"."+key, "."), given || key == "env" || key == "run" || key == "undo"); found != "" {
				return found
			}
		}
	}
	return ""
}
