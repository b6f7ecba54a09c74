package forecast

import (
	"fmt"
	"math"
	"time"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/spec"
)

// Past is statistics of one SLO in earlier runs of a profile, as medians.
type Past struct {
	Runs         int
	PerArrival   float64 // samples per scheduled transaction
	DesignEffect float64 // samples that count as one; 0: not known
	Needed       float64 // effective samples; 0: not known
	Correlation  float64 // s; 0: not known
}

// Forecast is whether a plan can decide one SLO.
type Forecast struct {
	SLO        string // metric and expression
	Basis      spec.Basis
	Decides    bool
	Samples    float64 // in the longest hold of the plan
	Expected   float64 // effective samples, given Past; all Samples of a counted SLO
	Needed     float64
	LongEnough bool          // given Past, the hold is long enough for 95 % confidence
	Hold       time.Duration // that would be long enough, in whole minutes; 0: the plan's is
	Past       Past
}

// maxMinutes bounds the hold of a forecast: a year.
const maxMinutes = 366 * 24 * 60

// Of forecasts each SLO of a profile that is decided by a share of samples. past is
// keyed by the SLOs' names.
func Of(p spec.Profile, pl plan.Plan, scope string, past map[string]Past) (all []Forecast) {
	plans := pl.PerFlow()
	for i, f := range p.Flows {
		all = append(all, ofFlow(f.SLOs, plans[i], scope, past)...)
	}
	return all
}

// ofFlow is Of for the SLOs of one flow.
func ofFlow(slos []spec.SLO, pl plan.Plan, scope string, past map[string]Past) (all []Forecast) {
	longest := pl.At(len(pl.Looks))
	arrivals, hold := float64(longest.JudgedArrivals()), 0.0
	for _, w := range longest.Judged {
		hold += w.Duration().Seconds()
	}
	for _, s := range slos {
		q := s.AllowedShare()
		if s.Kind() != spec.KindSamples || q <= 0 || q >= 1 {
			continue
		}
		f := Forecast{SLO: s.Name(), Basis: s.BasisIn(scope), Past: past[s.Name()], LongEnough: true}
		perArrival := f.Past.PerArrival
		if perArrival == 0 {
			perArrival = 1
		}
		f.Samples = arrivals * perArrival
		f.Expected, f.Needed = f.Samples, float64(stats.Needed(q))
		deff := 1.0 // samples for each effective one
		if f.Basis == spec.Inferred {
			deff, f.Needed = max(1, f.Past.DesignEffect), stats.FewFactor/q
			if f.Past.Needed > 0 {
				f.Needed = f.Past.Needed
			}
			f.LongEnough = hold >= stats.MinSeconds && hold/stats.Batches >= stats.BatchFactor*f.Past.Correlation
			if !f.LongEnough { // it will be counted
				deff, f.Needed = 1, float64(stats.Needed(q))
			}
			f.Expected = f.Samples / deff
		}
		f.Decides = f.Expected >= f.Needed
		if !f.Decides && arrivals > 0 {
			seconds := f.Needed * deff / (perArrival * arrivals / hold)
			f.Hold = time.Duration(math.Ceil(min(seconds/60, maxMinutes))) * time.Minute
		}
		all = append(all, f)
	}
	return all
}

// String compares the expected with the needed samples.
func (f Forecast) String() string {
	if f.Basis == spec.Counted {
		return fmt.Sprintf("counted in this run: %.0f samples, %.0f needed", f.Samples, f.Needed)
	}
	if !f.LongEnough {
		why := fmt.Sprintf("windows under %d s", stats.MinSeconds)
		if f.Past.Correlation > 0 {
			why = "correlation time " + quantity.Format(f.Past.Correlation, "s")
		}
		return fmt.Sprintf("counted in this run, as the hold is too short for 95 %% confidence (%s): %.0f samples, %.0f needed", why, f.Samples, f.Needed)
	}
	text := fmt.Sprintf("at 95 %% confidence: %.0f effective samples needed, %.0f samples planned", f.Needed, f.Samples)
	if f.Past.Runs == 0 {
		return text + "; the run will show how many of them are effective"
	}
	return text + fmt.Sprintf(", of which about %.0f effective, judging by %s", f.Expected, runs(f.Past.Runs))
}

func runs(n int) string {
	if n == 1 {
		return "the last run"
	}
	return fmt.Sprintf("the last %d runs", n)
}
