package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"
)

// maxConfidence is the largest confidence that is reported (ours): what no source measures,
// or the model leaves out, is in no resample.
const maxConfidence = 0.99

// resampling is the analysis repeated on resampled seconds: it answers how sure the result is.
type resampling struct {
	*layout
	seed    uint64
	growths [][]float64 // by component and resample: Ms - BaselineMs
	charged [][]float64 // by component and resample
	refused []bool      // by resample: the database refused connections
}

// resample repeats the analysis on resampled seconds: a resampled hold with the original
// baseline, and the original hold with a resampled baseline. Each deviation from the
// original result is widened for the number of seconds; adding up the two deviations is a
// first-order approximation.
func (c charges) resample(holdRows, baseRows [][]float64, seed uint64) resampling {
	random := rand.New(rand.NewPCG(seed, uint64(len(holdRows))))
	r := resampling{layout: c.layout, seed: seed, growths: make([][]float64, len(c.names)), charged: make([][]float64, len(c.names))}
	for i := range c.names {
		r.growths[i], r.charged[i] = make([]float64, resamples), make([]float64, resamples)
	}
	sum := make([]float64, len(c.hold.sum))
	grown := c.growth()
	holdWidening, baseWidening := widening(len(holdRows)), widening(len(baseRows))
	holdSeconds, baseSeconds := samplerOf(holdRows), samplerOf(baseRows)
	for s := range resamples {
		holdSeconds.resample(sum, random)
		r.refused = append(r.refused, c.connectionsRefused(sum))
		g, charged := slices.Clone(grown), slices.Clone(c.charged)
		addDeviation := func(of comparison, widening float64) {
			for i, v := range of.growth() {
				g[i] += widening * (v - grown[i])
			}
			for i, v := range of.charge().charged {
				charged[i] += widening * (v - c.charged[i])
			}
		}
		addDeviation(c.of(c.window(sum), c.base), holdWidening)
		if c.base.parts != nil {
			baseSeconds.resample(sum, random)
			addDeviation(c.of(c.hold, c.window(sum)), baseWidening)
		}
		for i := range c.names {
			r.growths[i][s], r.charged[i][s] = g[i], charged[i]
		}
	}
	return r
}

// confidence is the share of resamples s in which component c leads although a part of the
// time that was measured in no component belongs to its strongest rival:
//
//	G_c(s) > G_r(s) + u(s) * O_r(s)   for every other component r
//
// G is the growth that is charged to a component, and u is uniform in [0,1): nothing is
// known of how that time divides. O is the growth of the residual and of unmeasured time;
// between two components of the database, also the time that statements took and samples
// did not see. Both the variation from second to second and the gaps of the measurement
// thus lower it: gap is the share of the statements' time that samples did not see. At most
// maxConfidence.
func (r resampling) confidence(leader int, gap float64) float64 {
	random := rand.New(rand.NewPCG(r.seed, confidenceStream))
	open := []int{r.index[Unmeasured], r.index[Residual]}
	ofDatabase := r.isDatabase(leader)
	n := 0
	for s := range resamples {
		u, unassigned := random.Float64(), 0.0
		for _, i := range open {
			if i != leader {
				unassigned += max(0, r.charged[i][s])
			}
		}
		unseen := 0.0
		for _, i := range r.databaseParts {
			unseen += gap * max(0, r.charged[i][s])
		}
		leads := r.charged[leader][s] > 0
		for i := range r.charged {
			rival := r.charged[i][s]
			switch {
			case i == leader:
				continue
			case slices.Contains(open, i): // it is the unassigned time itself
			case ofDatabase && r.isDatabase(i):
				rival += u * (unassigned + unseen)
			default:
				rival += u * unassigned
			}
			leads = leads && rival < r.charged[leader][s]
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
func (c comparison) samplingGap() float64 {
	counted := c.hold.sum[statementTime]
	if counted == 0 || c.hold.sum[samples] == 0 {
		return 0
	}
	return math.Max(0, 1-c.sampledTime(c.hold.sum)/counted)
}
