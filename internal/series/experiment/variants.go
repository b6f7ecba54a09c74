package experiment

import (
	"slices"
	"strings"

	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/spec"
)

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
	var b strings.Builder
	for i, r := range runs {
		if i > 0 && runs[i-1].Round != r.Round {
			b.WriteString(" ")
		}
		b.WriteString(Letter(slices.IndexFunc(variants, func(v Variant) bool { return v.Name == r.Variant })))
	}
	return b.String()
}

// Changes describes a variant's changes.
func Changes(v spec.Variant) []string {
	all := []string{}
	if len(v.Database) > 0 {
		all = append(all, "database server started with "+strings.Join(v.Database, " "))
	}
	if len(v.Service) > 0 {
		all = append(all, "service started with "+strings.Join(v.Service, " "))
	}
	for _, g := range v.Global {
		all = append(all, g.Name+" = "+g.Value)
	}
	if v.SQL != nil {
		all = append(all, v.SQL.Apply...)
	}
	if v.Command != nil {
		all = append(all, strings.Join(v.Command.Apply, " "))
	}
	if v.Readers > 0 {
		all = append(all, quantity.Number(v.Readers, "binlog reader"))
	}
	return all
}

// variantsOf describes the variants of an experiment.
func variantsOf(e spec.Experiment) (all []Variant) {
	for _, v := range e.Variants {
		all = append(all, Variant{v.Name, v.Description, Changes(v)})
	}
	return all
}
