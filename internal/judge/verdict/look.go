// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// Undecided names the sampled SLOs that are undecided at a look during the hold, each
// with the reason; none where one has failed. Only these can gain from a longer hold:
// the ledger, for one, is read back after the run.
func Undecided(r record.Run) (names []string) {
	e := gather(r)
	for i, s := range judgeSLOs(e) {
		sampled := i >= len(r.Plan.Profile.WholeSLOs()) || r.Plan.Profile.WholeSLOs()[i].Kind() == spec.KindSamples && r.Plan.Profile.WholeSLOs()[i].Aggregate != spec.Max
		switch {
		case s.Outcome == Fail:
			return nil
		case sampled && s.Outcome == Inconclusive:
			names = append(names, s.Name()+" "+s.undecidedReason())
		}
	}
	return names
}
