// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"path"
	"strings"
	"time"
)

// Experiment is a decoded experiment file: one profile, run under several variants
// of its environment.
type Experiment struct {
	Path        string     // as the caller named it
	Digest      string     // "sha256:" and the hex digest of the file's bytes
	Name        string     // of the file, without folder and .json
	Description string     // what is compared
	Question    string     // that the experiment answers
	Source      string     // earlier findings; may be empty
	Profile     string     // of thresholds.json
	Load        LoadChange // changes to the profile's load
	Pairs       int        // rounds in which every variant is run once
	Tolerance   float64    // share; a ratio within 1 +- Tolerance is no change
	Seed        *uint64    // of the first round; nil: a random one
	Primary     []string   // metrics that decide, as a comparison names them
	Variants    []Variant  // the first is the control
	Capacity    *Capacity  // nil: no capacity search
}

// LoadChange is what an experiment changes in a profile's load; zero and nil values
// change nothing.
type LoadChange struct {
	Target                       float64
	Workers                      int
	Baseline                     *Baseline
	Warmup, Ramp, Hold, Cooldown *time.Duration
}

// Variant is one way in which the system is set up for a run.
type Variant struct {
	Name        string
	Description string
	Global      []Setting // of the database, by SET GLOBAL, and back
	SQL         *Steps    // further statements, and the statements that undo them
	Database    []string  // options of the local stack's server, which is started with them
	Service     []string  // flags of the local stack's service, which is started with them
	Command     *Commands // a program, and the program that undoes it
	Readers     int       `json:"binlog_readers"` // of the binlog, as replicas are
}

// Setting is a global variable of the database.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Steps are statements and the statements that undo them.
type Steps struct{ Apply, Revert []string }

// Commands are a program with its arguments, and the program that undoes it.
type Commands struct{ Apply, Revert []string }

// Capacity is a search for the highest rate within the SLOs, for every variant.
type Capacity struct {
	From   float64       // the first rate; 0: the load's target
	Max    float64       // the highest rate to try; 0: MaxRate
	Trial  time.Duration // judged length of a trial
	Trials int           // maximum number of trials of a rate whose outcome is close to the limit
	Width  float64       // of the bracket at which the search ends, as a share of its upper bound
}

// Limits of an experiment.
const (
	MaxPairs      = 100
	MaxVariants   = 8
	MaxReaders    = 64
	defaultPairs  = 6 // the fewest that can show a change at all
	defaultTol    = 0.03
	defaultTrial  = 30 * time.Second
	maxStatements = 64
	maxTolerance  = 0.5
)

// Local reports whether the variant needs the local stack, the only system that may
// be restarted.
func (v Variant) Local() bool { return len(v.Database)+len(v.Service) > 0 }

// NeedsDatabase reports whether the variant needs a connection to the database.
func (v Variant) NeedsDatabase() bool { return len(v.Global) > 0 || v.SQL != nil || v.Readers > 0 }

// Control is the variant that the others are compared with.
func (e Experiment) Control() Variant { return e.Variants[0] }

// Apply is the profile with the experiment's load.
func (c LoadChange) Apply(p Profile) (Profile, error) {
	var err error
	if c.Target > 0 {
		if p, err = p.WithRate(c.Target); err != nil {
			return Profile{}, err
		}
	}
	if p.Named() {
		return Profile{}, &Error{Place: p.place("flows"), Problem: "an experiment changes one load, and the profile has flows", Next: "choose a profile with one scenario"}
	}
	if p.HasStages() {
		if c.Baseline != nil || c.Warmup != nil || c.Ramp != nil || c.Hold != nil || c.Cooldown != nil {
			return Profile{}, &Error{
				Place: p.place("load"), Problem: "the experiment changes phases, but the profile has stages",
				Next: "change only the target in the experiment's load, or choose a profile with phases",
			}
		}
		return p, nil
	}
	return p.withLoads(func(l Load) Load {
		if c.Baseline != nil {
			l.Baseline = *c.Baseline
		}
		for _, phase := range []struct {
			from *time.Duration
			to   *time.Duration
		}{{c.Warmup, &l.Warmup}, {c.Ramp, &l.Ramp}, {c.Cooldown, &l.Cooldown}} {
			if phase.from != nil {
				*phase.to = *phase.from
			}
		}
		if c.Hold != nil {
			l = l.withHold(*c.Hold)
		}
		return l
	})
}

// nameOf is the name of an experiment by its file.
func nameOf(file string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(file, "\\", "/")), ".json")
}
