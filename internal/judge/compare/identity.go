// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"slices"
)

// identity of a run is the digest of its evidence.
func identity(r Run) string { return r.Certificate.Evidence.ManifestSHA256 }

// checkIdentity refuses groups in which a run occurs twice. Identical groups are allowed:
// they compare a system with itself.
func checkIdentity(a, b Group) error {
	for _, g := range []Group{a, b} {
		seen := map[string]string{}
		for _, r := range g.Runs {
			if other, ok := seen[identity(r)]; ok {
				return &Refusal{fmt.Sprintf("%s and %s are the same run", other, r.Folder), "remove one of them: each run counts once"}
			}
			seen[identity(r)] = r.Folder
		}
	}
	if sameRuns(a.Runs, b.Runs) {
		return nil
	}
	for _, r := range b.Runs {
		if slices.ContainsFunc(a.Runs, func(other Run) bool { return identity(other) == identity(r) }) {
			return &Refusal{fmt.Sprintf("%s is in both A and B", r.Folder), "remove it from one of them"}
		}
	}
	return nil
}

func sameRuns(a, b []Run) bool {
	ids := func(runs []Run) (all []string) {
		for _, r := range runs {
			all = append(all, identity(r))
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(ids(a), ids(b))
}

// checkAnyLeft refuses a side without any comparable run, and says why.
func (m *matched) checkAnyLeft(a, b Group) error {
	problem, left := "", slices.Concat(m.leftA, m.leftB)
	switch {
	case len(m.a) == 0 && len(m.b) == 0 && m.pairing.Paired:
		problem = "no pair of runs can be compared"
	case len(m.a) == 0:
		problem, left = fmt.Sprintf("A (%s) has no run that can be compared", a.Name), m.leftA
	case len(m.b) == 0:
		problem, left = fmt.Sprintf("B (%s) has no run that can be compared", b.Name), m.leftB
	default:
		return nil
	}
	for _, l := range left {
		if !l.judgeable {
			return &Refusal{problem + ": " + l.Folder + ": " + l.Reason, "repeat the run: an INVALID run cannot be compared"}
		}
	}
	return &Refusal{problem, "name a run folder, or a folder of run folders"}
}
