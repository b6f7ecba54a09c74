package session

import (
	"fmt"

	"assay/harness/hint"
	"assay/harness/spec"
)

// Overrides are what a command line says before the file. A nil field says nothing.
type Overrides struct {
	Pairs        *int
	Workers      *int
	Seed         *uint64
	SkipCapacity bool
}

// Apply puts them into an experiment on the target; empty: on the local stack.
func (o Overrides) Apply(e spec.Experiment, target string) (spec.Experiment, error) {
	if o.Pairs != nil {
		if *o.Pairs < 1 || *o.Pairs > spec.MaxPairs {
			return e, fmt.Errorf("--pairs is %d: from 1 to %d", *o.Pairs, spec.MaxPairs)
		}
		e.Pairs = *o.Pairs
	}
	if o.Workers != nil {
		e.Load.Workers = *o.Workers
	}
	if o.Seed != nil {
		e.Seed = o.Seed
	}
	if o.SkipCapacity {
		e.Capacity = nil
	}
	for _, v := range e.Variants {
		if target != "" && v.Local() {
			return e, hint.With(fmt.Errorf("variant %s starts server or service anew, and those of --target are not ours", v.Name),
				"leave --target (ASSAY_TARGET) out: the experiment then runs on the local stack")
		}
	}
	return e, nil
}
