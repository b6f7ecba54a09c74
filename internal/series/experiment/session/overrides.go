package session

import (
	"fmt"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/spec"
)

// Overrides are values of the command line that replace those of the file; nil: not
// given.
type Overrides struct {
	Pairs        *int
	Workers      *int
	Seed         *uint64
	SkipCapacity bool
}

// Apply overrides values of an experiment on the target; empty: the local stack.
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
			return e, hint.With(fmt.Errorf("variant %s restarts the database server or the service, which is possible on the local stack only", v.Name),
				"omit --target (and unset ASSAY_TARGET) to run the experiment on the local stack")
		}
	}
	return e, nil
}
