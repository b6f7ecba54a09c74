package verdict

import (
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// Undecided names the SLOs that a look at a running hold leaves undecided, of those
// that its samples decide; none where they all hold, or one is broken. What is read
// back after a run, as the ledger is, is no matter of a longer hold.
func Undecided(r record.Run) (names []string) {
	e := gather(r)
	for i, s := range judgeSLOs(e) {
		sampled := i >= len(r.Plan.Profile.SLOs) || r.Plan.Profile.SLOs[i].Sampled() && r.Plan.Profile.SLOs[i].Aggregate != spec.Max
		switch {
		case s.Outcome == Fail:
			return nil
		case sampled && s.Outcome == Inconclusive:
			names = append(names, s.name()+" "+s.why())
		}
	}
	return names
}
