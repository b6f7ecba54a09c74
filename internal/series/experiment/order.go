package experiment

import "strings"

// Turn is a planned run.
type Turn struct {
	Variant int    // index
	Round   int    // from 0
	Seed    uint64 // the same for all variants of a round
}

// Round is the order of the variants in a round: A B C, then C B A, and so on, so
// that drift affects all variants equally.
func Round(variants, round int, seed uint64) []Turn {
	turns := make([]Turn, variants)
	for i := range turns {
		v := i
		if round%2 == 1 {
			v = variants - 1 - i
		}
		turns[i] = Turn{v, round, seed + uint64(round)}
	}
	return turns
}

// spareRounds is how many rounds may be repeated because of an INVALID run. Being
// INVALID does not depend on a run's result, so that repeating does not bias the
// comparison. Where more are needed, the machine is not fit for the experiment.
func spareRounds(pairs int) int { return (pairs + 1) / 2 }

// Letter abbreviates a variant by its index: A, the control, then B and so on.
func Letter(v int) string { return string(rune('A' + v)) }

// order formats the runs that were made as "AB BA".
func order(runs []RunResult, variants []Variant) string {
	index := map[string]int{}
	for i, v := range variants {
		index[v.Name] = i
	}
	var b strings.Builder
	for i, r := range runs {
		if i > 0 && runs[i-1].Round != r.Round {
			b.WriteString(" ")
		}
		b.WriteString(Letter(index[r.Variant]))
	}
	return b.String()
}
