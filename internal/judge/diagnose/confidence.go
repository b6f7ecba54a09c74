package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"
)

// maxConfidence is the largest confidence that is reported (ours): what no source measures,
// or the model leaves out, is in no resample.
const maxConfidence = 0.99

// confidence is the share of resamples s in which component c leads although a part of the
// time that was measured in no component belongs to its strongest rival:
//
//	G_c(s) > G_r(s) + u(s) * O_r(s)   for every other component r
//
// G is the growth that is charged to a component, and u is uniform in [0,1): nothing is
// known of how that time divides. O is the growth of the residual and of unmeasured time;
// between two components of the database, also the time that statements took and samples
// did not see. Both the variation from second to second and the gaps of the measurement
// thus lower it. At most maxConfidence.
func (a *analysis) confidence(leader int) float64 {
	random := rand.New(rand.NewPCG(a.run.Plan.Load.Seed, confidenceStream))
	open := []int{a.index[Unmeasured], a.index[Residual]}
	ofDatabase, gap := a.isDatabase(leader), a.samplingGap()
	n := 0
	for s := range resamples {
		u, unassigned := random.Float64(), 0.0
		for _, i := range open {
			if i != leader {
				unassigned += max(0, a.resampled[i][s])
			}
		}
		unseen := 0.0
		for _, i := range a.databaseParts {
			unseen += gap * max(0, a.resampled[i][s])
		}
		leads := a.resampled[leader][s] > 0
		for i := range a.resampled {
			rival := a.resampled[i][s]
			switch {
			case i == leader:
				continue
			case slices.Contains(open, i): // it is the unassigned time itself
			case ofDatabase && a.isDatabase(i):
				rival += u * (unassigned + unseen)
			default:
				rival += u * unassigned
			}
			leads = leads && rival < a.resampled[leader][s]
		}
		if leads {
			n++
		}
	}
	return min(maxConfidence, float64(n)/resamples)
}

// confidenceStream keeps these draws independent of those of the resamples.
const confidenceStream = 2

// samplingGap is the share of the counted time of statements that samples did not see.
func (a *analysis) samplingGap() float64 {
	counted := a.hold.sum[statementTime]
	if counted == 0 || a.hold.sum[samples] == 0 {
		return 0
	}
	return math.Max(0, 1-a.sampledTime(a.hold.sum)/counted)
}
