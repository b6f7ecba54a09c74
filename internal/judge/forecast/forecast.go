package forecast

import (
	"cmp"
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
	Hold       time.Duration // hold that would be long enough, in whole minutes; 0: the plan's is
	Past       Past
}

// maxMinutes bounds the hold of a forecast: a year.
const maxMinutes = 366 * 24 * 60

// Each forecasts every SLO of a profile that is decided by a share of samples. past is
// keyed by the SLOs' names.
func Each(p spec.Profile, pl plan.Plan, scope string, past map[string]Past) (all []Forecast) {
	plans := pl.PerFlow()
	for i, flow := range p.Flows {
		longest := plans[i].At(len(plans[i].Looks))
		for _, s := range flow.SLOs {
			if q := s.AllowedShare(); s.Kind() == spec.KindSamples && q > 0 && q < 1 {
				all = append(all, forecast(s, longest, s.BasisIn(scope), past[s.Name()]))
			}
		}
	}
	return all
}

// forecast is that of one SLO, at the last look.
func forecast(s spec.SLO, longest plan.Plan, basis spec.Basis, past Past) Forecast {
	arrivals, hold := float64(longest.JudgedArrivals()), 0.0
	for _, w := range longest.Judged {
		hold += w.Duration().Seconds()
	}
	q, perArrival := s.AllowedShare(), cmp.Or(past.PerArrival, 1)
	f := Forecast{SLO: s.Name(), Basis: basis, Past: past, LongEnough: true, Samples: arrivals * perArrival}
	deff := 1.0 // samples for each effective one
	f.Needed = float64(stats.Needed(q))
	if f.Basis == spec.Inferred {
		deff, f.Needed = max(1, past.DesignEffect), cmp.Or(past.Needed, stats.FewFactor/q)
		f.LongEnough = hold >= stats.MinSeconds && hold/stats.Batches >= stats.BatchFactor*past.Correlation
	}
	f.Expected = f.Samples / deff
	if f.Decides = f.LongEnough && f.Expected >= f.Needed; !f.Decides && arrivals > 0 {
		seconds := f.Needed * deff / (perArrival * arrivals / hold)
		if f.Basis == spec.Inferred {
			seconds = max(seconds, stats.MinSeconds, stats.Batches*stats.BatchFactor*past.Correlation)
		}
		f.Hold = time.Duration(math.Ceil(min(seconds/60, maxMinutes))) * time.Minute
	}
	return f
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
		return fmt.Sprintf("the hold is too short for 95 %% confidence (%s)", why)
	}
	text := fmt.Sprintf("at 95 %% confidence: %.0f effective samples needed, %.0f samples planned", f.Needed, f.Samples)
	if f.Past.Runs == 0 {
		return text + "; the run will show how many of them are effective"
	}
	runs := "the last run"
	if f.Past.Runs > 1 {
		runs = fmt.Sprintf("the last %d runs", f.Past.Runs)
	}
	return text + fmt.Sprintf(", of which about %.0f effective, judging by %s", f.Expected, runs)
}
