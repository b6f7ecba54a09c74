// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/wait"
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
	known := Metrics()
	for _, c := range n.get("primary").all() {
		if !c.bad && !slices.Contains(known, c.text) {
			r.fail(c, unknown("metric", c.text, known), "known: "+strings.Join(known, ", "))
		}
	}
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

// variableName restricts names of variables, which become part of a statement.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}(\.[A-Za-z_][A-Za-z0-9_]{0,63})?$`)

// maxValue bounds a variable's value, which is kept in a journal.
const maxValue = 4096

// variant reads what fill does not.
func (r *reader) variant(n *node, v *Variant) {
	global := n.get("global")
	r.names(global, func(name string) (problem, hint string) {
		if !variableName.MatchString(name) {
			return quote(name) + " is not the name of a variable", r.hint(global, nil)
		}
		return "", ""
	})
	v.Global = nil
	for _, c := range global.all() {
		if !c.bad && (len(c.text) > maxValue || strings.ContainsFunc(c.text, func(x rune) bool { return x < ' ' })) {
			r.fail(c, fmt.Sprintf("must be one line of at most %d bytes", maxValue), "")
		}
		v.Global = append(v.Global, Setting{c.name, c.text})
	}
	database := n.get("stack").get("database")
	r.fill(database, &v.Database)
	for _, flags := range []*node{database, n.get("service")} {
		if slices.ContainsFunc(flags.all(), func(c *node) bool { return c.text == "--" }) {
			r.fail(flags, `"--" is not a flag`, "")
		}
	}
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
