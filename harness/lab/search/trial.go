package search

import (
	"fmt"
	"math"
	"slices"
	"time"

	"assay/harness/hint"
	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// The time that a search takes (TestWithinEightMinutes). A capacity within a factor
// of four of the first rate R has its bounds after three loads (R, R/2, R/4 or R,
// 2R, 4R), and a factor of two is bisected to 10 % by three more:
//
//	ln 2 (1/2 + slack)^3 = 0.103 <= -ln(1 - 0.1) = 0.105
//
// One of the six at least is clear, and the others have two trials at most: eleven
// trials of DefaultTrial, 8 s of other phases and 4 s beside the schedule (workers and
// VUs start, t0 is up to 2.5 s ahead, the last transactions end, the ledger is
// compared, the verdict made: 3 to 4 s were measured, on two cores with a load average
// of 14) take 352 s. What is left of 480 s is for trials that contradict each other or
// may not be judged, and for systems so broken that their transactions end only at
// their time-out, and which get a Rest after it.
const (
	DefaultTrial = 20 * time.Second

	// Enough for connections and caches; the low load before the ramp works off
	// what the trial before has left.
	trialWarmup   = 3 * time.Second
	trialBaseline = time.Second // the least there is: a trial is not diagnosed
	trialRamp     = 2 * time.Second
	trialCooldown = 2 * time.Second
)

// Shorten is a profile as its trials run, and what of it that changes. A trial is
// decided as it ends, and counted whatever the profile infers elsewhere. Profiles of
// stages are refused: a length cannot say which of them should change.
func Shorten(p spec.Profile, hold time.Duration) (spec.Profile, map[string]string, error) {
	changed := map[string]string{"hold": hold.String()}
	shorten := func(name string, phase *time.Duration, most time.Duration) {
		if *phase > most {
			*phase = most
			changed[name] = most.String()
		}
	}
	shorten("warmup", &p.Load.Warmup, trialWarmup)
	shorten("baseline", &p.Load.Baseline.For, trialBaseline)
	shorten("ramp", &p.Load.Ramp, trialRamp)
	shorten("cooldown", &p.Load.Cooldown, trialCooldown)
	if p.Load.HoldMax > 0 {
		p.Load.HoldMax = 0
		changed["hold_max"] = "none"
	}
	p.SLOs = slices.Clone(p.SLOs)
	for i := range p.SLOs {
		if p.SLOs[i].Basis == spec.Inferred {
			p.SLOs[i].Basis = spec.Counted
			changed["basis"] = string(spec.Counted)
		}
	}
	p, err := p.WithHold(hold)
	return p, changed, err
}

// CanTell refuses trials that could never hold a percentile of the transaction:
// with fewer samples than a count takes no load could be told, and lower ones have
// fewer still.
func (a Asked) CanTell(slos []spec.SLO) error {
	made := a.Range.From * a.Seconds // all stages at their highest rate: no fewer than there are
	for _, s := range slos {
		least := math.Ceil(stats.LeastAllowed/(1-s.Quantile) - 1e-6) // 1 - 0.9 is less than a tenth
		if s.Aggregate == spec.Percentile && s.Metric == metric.TransactionDuration && made < least {
			return hint.With(
				fmt.Errorf("trials of %gs at %s/s cannot tell: %s %s takes at least %.0f transactions, and they make %.0f",
					a.Seconds, number(a.Range.From), s.MetricText(), s.Expression, least, made),
				fmt.Sprintf("lengthen them with --trial %.0fs, better several times that, or begin higher with --from", math.Ceil(least/a.Range.From)),
			)
		}
	}
	return nil
}
