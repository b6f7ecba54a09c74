// Package plan turns a profile's load into what is run: stages with exact
// arrival counts, the windows that are judged and compared, and each worker's
// share and virtual users. It is pure.
package plan
