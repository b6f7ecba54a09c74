package spec

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// WithRate is the profile at another target rate: baseline, or all stages, in
// the same proportion to it as before. The target of stages is the highest
// judged rate. Overrides are checked like the file.
func (p Profile) WithRate(target float64) (Profile, error) {
	c := loadCheck{valid: allValid}
	c.rate(target, false, "target")
	if err := p.overrideError(c.faults); err != nil {
		return Profile{}, err
	}
	l, before := p.Load, p.Target()
	if before <= 0 {
		return Profile{}, p.overrideError([]loadFault{{[]string{"target"}, "the load has no rate to scale", ""}})
	}
	// Multiplying first keeps whole numbers whole; the target itself is exact.
	scale := func(rate float64) float64 {
		if rate == before { //nolint:staticcheck // exact on purpose
			return target
		}
		return rate * target / before
	}
	l.Target, l.Baseline.Rate = scale(l.Target), scale(l.Baseline.Rate)
	l.Stages = slices.Clone(l.Stages)
	for i := range l.Stages {
		l.Stages[i].Rate = scale(l.Stages[i].Rate)
	}
	p.Load = l
	if err := p.overrideError(l.check(allValid)); err != nil {
		return Profile{}, err
	}
	return p, nil
}

// WithHold is the profile with another hold; it fails for a profile with stages, which
// has none. A hold_max that does not fit the new hold changes with it, to keep the
// number of looks.
func (p Profile) WithHold(d time.Duration) (Profile, error) {
	if len(p.Load.Stages) > 0 {
		return Profile{}, &Error{
			Place:   p.place("load"),
			Problem: fmt.Sprintf("hold %v: the profile has stages, not a hold", d),
			Next:    `change "for" of its stages in the file`,
		}
	}
	p.Load = p.Load.withHold(d)
	if err := p.overrideError(p.Load.check(allValid)); err != nil {
		return Profile{}, err
	}
	if err := p.faultsError(); err != nil {
		return Profile{}, err
	}
	return p, nil
}

// overrideError returns the first fault as an error without a line.
func (p Profile) overrideError(faults []loadFault) error {
	if len(faults) == 0 {
		return nil
	}
	f := faults[0]
	return &Error{Place: p.place(append([]string{"load"}, f.path...)...), Problem: f.problem, Next: f.hint}
}

// place is the place of a key of this profile, as in errors of the file.
func (p Profile) place(path ...string) string {
	place := joinPlace("profiles", p.Name)
	for _, step := range path {
		if _, err := strconv.Atoi(step); err == nil {
			place += "[" + step + "]"
		} else {
			place = joinPlace(place, step)
		}
	}
	return place
}

// Target is the highest judged rate, which WithRate replaces.
func (p Profile) Target() float64 {
	target := p.Load.Target
	for _, s := range p.Load.Stages {
		if s.Judge {
			target = max(target, s.Rate)
		}
	}
	return target
}
