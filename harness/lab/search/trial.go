package search

import (
	"fmt"
	"math"
	"time"

	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// Phases of a trial: enough for connections and caches, and for a queue that the
// trial before has left, without spending on them what the hold needs.
const (
	trialLead     = 5 * time.Second // longest warm-up, ramp and cool-down
	trialBaseline = time.Second     // the least there is: a trial is not diagnosed
)

// Shorten is a profile as its trials run, and what of it that changes. Profiles of
// stages are refused: a length cannot say which of them should change.
func Shorten(p spec.Profile, hold time.Duration) (spec.Profile, map[string]string, error) {
	changed := map[string]string{"hold": hold.String()}
	shorten := func(name string, phase *time.Duration, most time.Duration) {
		if *phase > most {
			*phase = most
			changed[name] = most.String()
		}
	}
	shorten("warmup", &p.Load.Warmup, trialLead)
	shorten("baseline", &p.Load.Baseline.For, trialBaseline)
	shorten("ramp", &p.Load.Ramp, trialLead)
	shorten("cooldown", &p.Load.Cooldown, trialLead)
	p, err := p.WithHold(hold)
	return p, changed, err
}

// Refusal is why trials could tell nothing.
type Refusal struct{ Problem, Hint string }

func (r *Refusal) Error() string { return r.Problem }

// CanTell refuses trials that could never hold a percentile of the transaction:
// with fewer samples than its test needs the first load would miss it or stay
// undecided, and every lower one too.
func (a Asked) CanTell(slos []spec.SLO) error {
	made := a.Range.From * a.Seconds // all stages at their highest rate: no fewer than there are
	for _, s := range slos {
		least := math.Round(stats.Test{Q: 1 - s.Quantile}.Least())
		if s.Aggregate == spec.Percentile && s.Metric == metric.TransactionDuration && made < least {
			return &Refusal{
				fmt.Sprintf("trials of %gs at %s/s cannot tell: %s %s takes at least %.0f transactions, and they make %.0f",
					a.Seconds, number(a.Range.From), s.MetricText(), s.Expression, least, made),
				fmt.Sprintf("lengthen them with --trial %.0fs, better several times that, or begin higher with --from", math.Ceil(least/a.Range.From)),
			}
		}
	}
	return nil
}
