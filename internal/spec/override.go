// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Override is what the command line changes in a profile's load. A nil field changes nothing.
type Override struct {
	Rate *float64
	Hold *time.Duration
}

// Keys of the texts of an override.
const overrideRate, overrideHold = "rate", "hold"

// Texts are the changes by option, for the record.
func (o Override) Texts() map[string]string {
	texts := map[string]string{}
	if o.Rate != nil {
		texts[overrideRate] = strconv.FormatFloat(*o.Rate, 'g', -1, 64)
	}
	if o.Hold != nil {
		texts[overrideHold] = o.Hold.String()
	}
	return texts
}

// ReadOverride reads the texts of an override.
func ReadOverride(texts map[string]string) (o Override, err error) {
	for key, text := range texts {
		switch key {
		case overrideRate:
			o.Rate = new(float64)
			*o.Rate, err = strconv.ParseFloat(text, 64)
		case overrideHold:
			o.Hold = new(time.Duration)
			*o.Hold, err = time.ParseDuration(text)
		default:
			err = fmt.Errorf("unknown override %.40q", key)
		}
		if err != nil {
			return Override{}, err
		}
	}
	return o, nil
}

// Apply returns the changed profile: first at the rate, then with the hold. The order decides
// whether each of them is valid.
func (o Override) Apply(p Profile) (_ Profile, err error) {
	if o.Rate != nil {
		if p, err = p.WithRate(*o.Rate); err != nil {
			return p, fmt.Errorf("--%s: %w", overrideRate, err)
		}
	}
	if o.Hold != nil {
		if p, err = p.WithHold(*o.Hold); err != nil {
			return p, fmt.Errorf("--%s: %w", overrideHold, err)
		}
	}
	return p, nil
}

// WithRate is the profile at another target rate: baseline, or all stages, in
// the same proportion to it as before. The target of stages is the highest
// judged rate. Overrides are checked like the file.
func (p Profile) WithRate(target float64) (Profile, error) {
	var c loadCheck
	c.rate("target", target, false)
	if err := p.overrideError(c.faults); err != nil {
		return Profile{}, err
	}
	before := p.Target()
	if before <= 0 {
		return Profile{}, p.overrideError([]loadFault{{"target", "the load has no rate to scale", ""}})
	}
	return p.withLoads(func(l Load) Load {
		// Multiplying first keeps whole numbers whole; the target itself is exact.
		return l.scaled(func(rate float64) float64 {
			if rate == before { // exact on purpose
				return target
			}
			return rate * target / before
		})
	})
}

// withLoads is the profile with another load for each of its flows.
func (p Profile) withLoads(change func(Load) Load) (Profile, error) {
	p = p.WithFlows(func(f *Flow) { f.Load = change(f.Load) })
	for _, f := range p.Flows {
		var place []string
		if p.Named() {
			place = []string{"flows", f.Name}
		}
		if err := p.overrideError(f.Load.check(), place...); err != nil {
			return Profile{}, err
		}
	}
	return p, nil
}

// WithHold is the profile with another hold; it fails for a profile with stages, which
// has none. A hold_max that does not fit the new hold changes with it, to keep the
// number of looks.
func (p Profile) WithHold(d time.Duration) (Profile, error) {
	if p.HasStages() {
		return Profile{}, &Error{
			Place:   p.place(),
			Problem: fmt.Sprintf("hold %v: the profile has stages, not a hold", d),
			Next:    `change "for" of its stages in the file`,
		}
	}
	p, err := p.withLoads(func(l Load) Load { return l.withHold(d) })
	if err != nil {
		return Profile{}, err
	}
	for _, m := range p.misplacedFaults() {
		return Profile{}, &Error{Place: p.place("faults"), Problem: m.problem, Next: m.hint}
	}
	if problem := p.judgedFault(); problem != "" {
		return Profile{}, &Error{Place: p.place("load", "hold"), Problem: problem, Next: judgedHint}
	}
	return p, nil
}

// overrideError returns the first fault as an error without a line.
func (p Profile) overrideError(faults []loadFault, of ...string) error {
	if len(faults) == 0 {
		return nil
	}
	f := faults[0]
	return &Error{Place: p.place(append(append(of, "load"), strings.Split(f.path, ".")...)...), Problem: f.problem, Next: f.hint}
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

// Target is the highest judged rate, which WithRate replaces; the sum of all flows' rates.
func (p Profile) Target() (sum float64) {
	for _, f := range p.Flows {
		sum += f.Load.Highest()
	}
	return sum
}

// Highest is the highest judged rate of a load.
func (l Load) Highest() float64 {
	highest := l.Target
	for _, s := range l.Stages {
		if s.Judge {
			highest = max(highest, s.Rate)
		}
	}
	return highest
}
