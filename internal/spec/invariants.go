// SPDX-License-Identifier: Apache-2.0

package spec

import "github.com/go-json-experiment/json/jsontext"

// Invariant is something that holds in the database whatever the load did, such as that
// debits and credits add up.
type Invariant struct {
	Name string `json:"name"`
	SQL  string `json:"sql"` // returns the rows that violate it: none if it holds; each ? is the run id
}

// invariants reads invariants by name, in the order of the file.
func (r *reader) invariants(n *node) (all []Invariant) {
	if n == nil || !r.is(n, jsontext.KindBeginObject, exampleOf(n)) {
		return nil
	}
	if len(n.children) == 0 {
		r.fail(n, "want at least one invariant", "write for example "+exampleOf(n))
	}
	for _, c := range n.children {
		if c.name == "" {
			r.failKey(c, "the name of an invariant must not be empty", "write for example "+example["invariants"])
		}
		if text, ok := r.text(c); ok {
			all = append(all, Invariant{Name: c.name, SQL: text})
		}
	}
	return all
}
