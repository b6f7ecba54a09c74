// SPDX-License-Identifier: Apache-2.0

package spec

import _ "embed"

// Schema is the JSON Schema (draft 2020-12) of thresholds.json, for editors.
// Decode does not use it: it checks more, and reports lines and near words.
//
//go:embed thresholds.schema.json
var Schema []byte
