// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// sameFigure is the relative difference up to which figures of two builds are the same: the
// last digits may differ by how a platform rounds.
const sameFigure = 1e-6

// differingDecisions names the first places in which the decisions and figures of two
// certificates differ, which two builds have made of one record; nil: in none. How a build
// says something is wording, and not compared; nor is what differs between two rulebooks
// (dropAdded).
func differingDecisions(stated, again []byte) (places []string) {
	var a, b map[string]any
	if json.Unmarshal(stated, &a) != nil || json.Unmarshal(again, &b) != nil {
		return []string{"a document that cannot be read"}
	}
	if rulebookOf(a) != rulebookOf(b) {
		dropAdded(a, b)
	}
	compare("", any(a), any(b), func(place string) {
		if len(places) < 5 {
			places = append(places, place)
		}
	})
	return places
}

// rulebookOf is the version of the rulebook by which a certificate was judged; nil: not stated.
func rulebookOf(c map[string]any) any {
	by, _ := c["judged_by"].(map[string]any)
	return by["rulebook"]
}

// ofMethod are the fields, anywhere in a certificate, that depend on the method by which a rulebook
// decides, and not only on the record.
var ofMethod = []string{"lower", "upper", "design_effect", "effective_samples", "effective_samples_needed", "correlation_seconds"}

// dropAdded removes from two certificates of different rulebooks what only the later one, b, has: its
// further fields and rules; and what depends on the method. The counts of the SLOs, and all verdicts,
// remain.
func dropAdded(a, b map[string]any) {
	for name := range b {
		if _, known := a[name]; !known {
			delete(b, name)
		}
	}
	known := map[any]bool{}
	for _, r := range listOf(a, "rules") {
		known[idOf(r)] = true
	}
	if all := listOf(b, "rules"); all != nil {
		b["rules"] = slices.DeleteFunc(all, func(r any) bool { return !known[idOf(r)] })
	}
	for _, c := range []map[string]any{a, b} {
		drop(c, ofMethod)
		drop(c["rules"], []string{"observed", "limit", "unit"})
	}
}

// drop removes fields from a value, and from all values in it.
func drop(v any, names []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range names {
			delete(v, name)
		}
		for _, below := range v {
			drop(below, names)
		}
	case []any:
		for _, below := range v {
			drop(below, names)
		}
	}
}

func listOf(c map[string]any, name string) []any {
	all, _ := c[name].([]any)
	return all
}

func idOf(rule any) any {
	r, _ := rule.(map[string]any)
	return r["id"]
}

// compare calls differs with each place below which two values differ.
func compare(place string, a, b any, differs func(place string)) {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			differs(place)
			return
		}
		names := maps.Clone(a)
		maps.Copy(names, b)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			below := name
			if place != "" {
				below = place + "." + name
			}
			x, inA := a[name]
			y, inB := b[name]
			switch {
			case isWording(name, x) && isWording(name, y):
			case inA != inB:
				differs(below)
			default:
				compare(below, x, y, differs)
			}
		}
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			differs(place)
			return
		}
		for i := range a {
			compare(fmt.Sprintf("%s[%d]", place, i), a[i], b[i], differs)
		}
	case float64:
		b, ok := b.(float64)
		if !ok || math.Abs(a-b) > sameFigure*max(math.Abs(a), math.Abs(b)) {
			differs(place)
		}
	default:
		if a != b {
			differs(place)
		}
	}
}

// wording are the fields, anywhere in a certificate, that say in words what other fields
// decide or measure. Builds may word them differently.
var wording = map[string]bool{
	"claim": true, "limitations": true, "detail": true, "advice": true, "sentence": true, "evidence": true, "what": true, "remedy": true, "protects": true, "error": true,
	"judged_by": true, // names the build, which is compared by itself
}

// isWording reports whether a field of a certificate, with its decoded value (nil: the field
// is missing), is wording: text, a list of texts, or the name of the build.
func isWording(name string, value any) bool {
	if _, object := value.(map[string]any); object && name != "judged_by" {
		return false // the digests of the evidence
	}
	return wording[name]
}
