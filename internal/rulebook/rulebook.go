// SPDX-License-Identifier: Apache-2.0

package rulebook

import "slices"

// Version is the semantic version of the rulebook. A rule or limit that is added or changed
// raises it, as verdicts under two versions may differ.
const Version = "2.0.0"

// Rule is one entry of the table.
type Rule struct {
	ID     string
	What   string // what must hold, in one sentence without a full stop
	Limit  string // as text; empty: there is none
	Unit   string // unit of the limit and of what is observed, in certificates
	Effect string // what a broken rule does to the verdict
	Advice string // what to do about it, if the finding has no better advice of its own
	Source string // where the rule comes from
	// Blames is what the rule names as the cause, if it is broken; empty: nothing.
	Blames Part
	// EachFlow rules are applied to each flow of the profile; others to the run as a whole.
	EachFlow bool
	// Override rules have a limit that a profile may override, under the rule's id.
	Override bool
}

// Part is a part of the run that a broken rule may name as the cause.
type Part string

// The parts.
const (
	Generator Part = "generator"
	System    Part = "system" // under test
)

// All are the rules, in the order in which the verdict applies them.
func All() []Rule { return slices.Clone(table) }

// Find finds a rule by its id.
func Find(id string) (Rule, bool) {
	if i := slices.IndexFunc(table, func(r Rule) bool { return r.ID == id }); i >= 0 {
		return table[i], true
	}
	return Rule{}, false
}

// Blames is the part that a rule names as the cause, if it is broken; empty: nothing.
func Blames(id string) Part {
	r, _ := Find(id)
	return r.Blames
}

// IDs are the ids of the chosen rules, in the order of the table.
func IDs(chosen func(Rule) bool) (ids []string) {
	for _, r := range table {
		if chosen(r) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// See is advice to read what another rule says.
func See(id string) string { return "See the rule " + id + "." }
