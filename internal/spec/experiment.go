// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Experiment is a decoded experiment file: one profile, run under several variants
// of its environment.
type Experiment struct {
	Path        string     // as the caller named it
	Digest      string     // "sha256:" and the hex digest of the file's bytes
	Name        string     // name of the file, without folder and .json
	Description string     // what is compared
	Question    string     // question that the experiment answers
	Source      string     // earlier findings; may be empty
	Profile     string     // name of a profile of thresholds.json
	Load        LoadChange // changes to the profile's load
	Pairs       int        // rounds in which every variant is run once
	Tolerance   float64    // share; a ratio within 1 +- Tolerance is no change
	Seed        *uint64    // seed of the first round; nil: a random one
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
	Global      []Setting // variables of the database, set by SET GLOBAL, and set back
	SQL         *Steps    // further statements, and the statements that undo them
	Database    []string  // options of the local stack's server, which is started with them
	Service     []string  // flags of the local stack's service, which is started with them
	Command     *Steps    // a program, and the program that undoes it
	Readers     int       `json:"binlog_readers"` // number of readers of the binlog, like replicas
}

// Setting is a global variable of the database.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Steps are statements, or a program with its arguments, and what undoes them.
type Steps struct{ Apply, Revert []string }

// Capacity is a search for the highest rate within the SLOs, for every variant.
type Capacity struct {
	From   float64       // the first rate; 0: the load's target
	Max    float64       // the highest rate to try; 0: MaxRate
	Trial  time.Duration // judged length of a trial
	Trials int           // maximum number of trials of a rate whose outcome is close to the limit
	Width  float64       // width of the bracket at which the search ends, as a share of its upper bound
}

// Limits of an experiment.
const (
	MaxPairs     = 100
	defaultPairs = 6 // the fewest that can show a change at all
	defaultTol   = 0.03
	defaultTrial = 30 * time.Second
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
		set(&l.Baseline, c.Baseline)
		set(&l.Warmup, c.Warmup)
		set(&l.Ramp, c.Ramp)
		set(&l.Cooldown, c.Cooldown)
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

// Limits and defaults of a search for the highest rate, for the command line and for
// experiment files. A load whose share of violations is close to the limit gets a
// second trial; further ones would add little, as that share would not change.
const (
	DefaultTrials = 2   // maximum number of trials of a load that is close to the limit
	DefaultWidth  = 0.1 // width of the bracket at which the search ends, as a share of its upper bound

	MaxTrials = 20
	MinWidth  = 0.005
	MaxWidth  = 0.5
)

// DecodeExperiment reads an experiment file, as strictly as Decode. Its error is of
// type Errors: every mistake with its line.
func DecodeExperiment(file string, data []byte) (Experiment, error) {
	e := Experiment{Path: file, Digest: DigestOf(data), Name: nameOf(file), Pairs: defaultPairs, Tolerance: defaultTol}
	if err := decode(file, data, experimentSchema(), "", func(r *reader, root *node) { r.experiment(root, &e) }); err != nil {
		return Experiment{}, err
	}
	return e, nil
}

func (r *reader) experiment(n *node, e *Experiment) {
	r.fill(n, e)
	for i := range e.Variants {
		c := n.get("variants").children[i]
		r.variant(c, &e.Variants[i])
		if slices.ContainsFunc(e.Variants[:i], func(v Variant) bool { return v.Name != "" && v.Name == e.Variants[i].Name }) {
			r.fail(c.get("name"), "duplicate variant "+quote(e.Variants[i].Name), "")
		}
	}
	if c := n.get("capacity"); c != nil {
		e.Capacity = &Capacity{Max: MaxRate, Trial: defaultTrial, Trials: DefaultTrials, Width: DefaultWidth}
		r.fill(c, e.Capacity)
		if c.validTree() && e.Capacity.Max < e.Capacity.From {
			r.fail(c.get("max"), fmt.Sprintf("max %g is less than from %g", e.Capacity.Max, e.Capacity.From), "")
		}
	}
}

// maxValue bounds a variable's value, which is kept in a journal.
const maxValue = 4096

// variant reads what fill does not.
func (r *reader) variant(n *node, v *Variant) {
	v.Global = nil
	for _, c := range n.get("global").all() {
		if !c.bad && (len(c.text) > maxValue || strings.ContainsFunc(c.text, func(x rune) bool { return x < ' ' })) {
			r.fail(c, fmt.Sprintf("must be one line of at most %d bytes", maxValue), "")
		}
		v.Global = append(v.Global, Setting{c.name, c.text})
	}
	r.fill(n.get("stack").get("database"), &v.Database)
}

// WaitMetric is the metric of a class of waits; "" is all of them.
func WaitMetric(class string) string { return strings.TrimSpace("database " + class) }
