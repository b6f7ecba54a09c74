// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/wait"
)

// DecodeExperiment reads an experiment file, as strictly as Decode. Its error is of
// type Errors: every mistake with its line.
func DecodeExperiment(file string, data []byte) (_ Experiment, err error) {
	defer foreign.Guard(&err)
	root, bad := parse(file, data, "")
	if bad != nil {
		return Experiment{}, Errors{bad}
	}
	r := newReader(file, data)
	var e Experiment
	if err := r.errors(func() { e = r.experiment(root) }); err != nil {
		return Experiment{}, err
	}
	e.Path, e.Digest, e.Name = file, DigestOf(data), nameOf(file)
	return e, nil
}

const experimentExample = `{"version": 1, "description": "...", "question": "...", "profile": "payment", "primary": [...], "variants": [...]}`

func (r *reader) experiment(n *node) Experiment {
	e := Experiment{Pairs: defaultPairs, Tolerance: defaultTol}
	required := []string{"version", "description", "question", "profile", "primary", "variants"}
	optional := []string{"$schema", "source", "load", "pairs", "tolerance", "seed", "capacity"}
	if !r.is(n, jsontext.KindBeginObject, experimentExample) || !r.version(n.get("version")) || !r.object(n, required, optional) {
		return e
	}
	r.reportDuplicates(n)
	r.is(n.get("$schema"), jsontext.KindString, exampleOf(n.get("$schema")))
	e.Description, e.Question = r.line(n.get("description")), r.line(n.get("question"))
	if s := n.get("source"); s != nil {
		e.Source = r.line(s)
	}
	e.Profile = r.line(n.get("profile"))
	e.Load = r.loadChange(n.get("load"))
	if p := n.get("pairs"); p != nil {
		e.Pairs = r.integer(p, 1, MaxPairs)
	}
	if t := n.get("tolerance"); t != nil {
		e.Tolerance = r.positiveShare(t, maxTolerance)
	}
	if s := n.get("seed"); s != nil {
		seed := uint64(r.integer(s, 0, 1<<53))
		e.Seed = &seed
	}
	e.Primary = r.primary(n.get("primary"))
	e.Variants = r.variants(n.get("variants"))
	if c := n.get("capacity"); c != nil {
		e.Capacity = r.capacity(c)
	}
	return e
}

// line reads a text of one line, which appears in sentences and tables.
func (r *reader) line(n *node) string {
	text, _ := r.text(n)
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		r.fail(n, "must be one line of text", "")
	}
	return text
}

// integer reads a whole number from least to most.
func (r *reader) integer(n *node, least, most int) int {
	v, ok := r.number(n)
	if ok && (v != float64(int(v)) || v < float64(least) || v > float64(most)) {
		r.fail(n, fmt.Sprintf("%s is not a whole number from %d to %d", n.text, least, most), "")
		return least
	}
	return int(v)
}

// positiveShare reads a share above 0.
func (r *reader) positiveShare(n *node, most float64) float64 {
	v, ok := r.number(n)
	if ok && !(v > 0 && v <= most) {
		r.fail(n, fmt.Sprintf("%s is out of range: want above 0 and at most %g", n.text, most), "a share: 0.05 is 5 %")
	}
	return v
}

func (r *reader) loadChange(n *node) (c LoadChange) {
	if !r.object(n, nil, []string{"target", "workers", "warmup", "baseline", "ramp", "hold", "cooldown"}) {
		return c
	}
	if t := n.get("target"); t != nil {
		c.Target = r.rate(t)
	}
	if w := n.get("workers"); w != nil {
		c.Workers = r.integer(w, 1, MaxWorkers)
	}
	if b := n.get("baseline"); r.object(b, []string{"rate", "for"}, nil) {
		c.Baseline = &Baseline{Rate: r.rate(b.get("rate"))}
		c.Baseline.For, _ = r.duration(b.get("for"))
	}
	for name, to := range map[string]**time.Duration{"warmup": &c.Warmup, "ramp": &c.Ramp, "hold": &c.Hold, "cooldown": &c.Cooldown} {
		if p := n.get(name); p != nil {
			d, _ := r.duration(p)
			*to = &d
		}
	}
	return c
}

func (r *reader) rate(n *node) float64 {
	v, ok := r.number(n)
	if ok && !(v > 0 && v <= MaxRate) {
		r.fail(n, fmt.Sprintf("rate %s is out of range: want above 0 and at most %d per second", n.text, int(MaxRate)), "")
	}
	return v
}

// aggregates of a transaction's latency that an experiment can be decided on.
var aggregates = []string{"p50", "p95", "p99", "p99.9", "mean"}

// Metrics are those that can decide an experiment, as a comparison names them:
// latency at equal load, database time per transaction, in total and by class of
// wait, and costs per transaction.
func Metrics() (all []string) {
	for _, a := range aggregates {
		all = append(all, "transaction "+a)
	}
	all = append(all, WaitMetric(""))
	for _, class := range wait.Classes() {
		all = append(all, WaitMetric(class))
	}
	return append(all, metric.Costs...)
}

// WaitMetric is the metric of a class of waits; "" is all of them.
func WaitMetric(class string) string { return strings.TrimSpace("database " + class) }

func (r *reader) primary(n *node) (all []string) {
	known := Metrics()
	for _, c := range r.list(n) {
		name, ok := r.text(c)
		switch {
		case !ok:
		case !slices.Contains(known, name):
			r.fail(c, unknown("metric", name, known), "known: "+strings.Join(known, ", "))
		case slices.Contains(all, name):
			r.fail(c, "duplicate metric "+quote(name), "")
		}
		all = append(all, name)
	}
	if n != nil && !n.bad && len(all) == 0 {
		r.fail(n, "want at least one metric", "write for example "+example["primary"])
	}
	return all
}

func (r *reader) capacity(n *node) *Capacity {
	c := Capacity{Max: MaxRate, Trial: defaultTrial, Trials: DefaultTrials, Width: DefaultWidth}
	if !r.object(n, nil, []string{"from", "max", "trial", "trials", "width"}) {
		return &c
	}
	if f := n.get("from"); f != nil {
		c.From = r.rate(f)
	}
	if m := n.get("max"); m != nil {
		if c.Max = r.rate(m); n.valid("from") && n.valid("max") && c.Max < c.From {
			r.fail(m, fmt.Sprintf("max %g is less than from %g", c.Max, c.From), "")
		}
	}
	if t := n.get("trial"); t != nil {
		var ok bool
		if c.Trial, ok = r.duration(t); ok && (c.Trial < MinHold || c.Trial > MaxDuration) {
			r.fail(t, fmt.Sprintf("trial %v is not between %v and %v", c.Trial, MinHold, MaxDuration), "")
		}
	}
	if t := n.get("trials"); t != nil {
		c.Trials = r.integer(t, 1, MaxTrials)
	}
	if w := n.get("width"); w != nil {
		if c.Width = r.positiveShare(w, MaxWidth); !w.bad && c.Width < MinWidth {
			r.fail(w, fmt.Sprintf("width %g is less than %g", c.Width, MinWidth), "")
		}
	}
	return &c
}

// variableName restricts names of variables, which become part of a statement.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}(\.[A-Za-z_][A-Za-z0-9_]{0,63})?$`)
