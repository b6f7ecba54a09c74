// SPDX-License-Identifier: Apache-2.0

package spec

// Invariant is something that holds in the database whatever the load did, such as that
// debits and credits add up.
type Invariant struct {
	Name string `json:"name"`
	SQL  string `json:"sql"` // returns the rows that violate it: none if it holds; each ? is the run id
}

// invariants reads invariants by name, in the order of the file.
func (r *reader) invariants(n *node) (all []Invariant) {
	r.names(n, func(name string) (problem, hint string) {
		if name == "" {
			return "the name of an invariant must not be empty", r.hint(n, nil)
		}
		return "", ""
	})
	for _, c := range n.all() {
		all = append(all, Invariant{c.name, c.text})
	}
	return all
}
