package experiment

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"assay/harness/judge/compare"
)

// Event is what sessions of the database waited for, before and after.
type Event struct {
	Event    string   `json:"event"`
	Class    string   `json:"class"`
	Inferred bool     `json:"inferred"`
	A        *float64 `json:"a"` // ms a transaction, median over runs; 0: it was never seen
	B        *float64 `json:"b"`
}

// mostEvents is how many are told.
const mostEvents = 8

// events are the events of the runs that were compared, the largest first.
func events(control, variant compare.Group, c compare.Comparison) []Event {
	type key struct {
		event, class string
		inferred     bool
	}
	values := map[key]*[2][]float64{}
	sampled := [2]int{}
	take := func(side int, g compare.Group, compared []compare.RunFact) {
		for _, r := range g.Runs {
			if !slices.ContainsFunc(compared, func(f compare.RunFact) bool { return f.Folder == r.Folder }) || r.Certificate.Waits == nil {
				continue
			}
			sampled[side]++
			for _, w := range r.Certificate.Waits {
				k := key{w.Event, w.Class, w.Inferred}
				if values[k] == nil {
					values[k] = &[2][]float64{}
				}
				if w.MsPerTransaction != nil {
					values[k][side] = append(values[k][side], *w.MsPerTransaction)
				}
			}
		}
	}
	take(0, control, c.A.Runs)
	take(1, variant, c.B.Runs)
	all := []Event{}
	for k, sides := range values {
		all = append(all, Event{k.event, k.class, k.inferred, middle(sides[0], sampled[0]), middle(sides[1], sampled[1])})
	}
	slices.SortFunc(all, func(x, y Event) int {
		return cmp.Or(cmp.Compare(y.most(), x.most()), cmp.Compare(x.Event, y.Event), cmp.Compare(x.Class, y.Class))
	})
	return all[:min(len(all), mostEvents)]
}

func (e Event) most() float64 {
	most := 0.0
	for _, v := range []*float64{e.A, e.B} {
		if v != nil {
			most = math.Max(most, *v)
		}
	}
	return most
}

// middle is the median over so many runs, of which those without the event have
// none of it; nil where no run was sampled.
func middle(values []float64, runs int) *float64 {
	if runs == 0 {
		return nil
	}
	all := slices.Clone(values)
	for len(all) < runs {
		all = append(all, 0)
	}
	slices.Sort(all)
	n := len(all)
	v, err := strconv.ParseFloat(strconv.FormatFloat((all[(n-1)/2]+all[n/2])/2, 'g', 6, 64), 64) // as comparisons shorten theirs
	if err != nil {
		return nil
	}
	return &v
}
