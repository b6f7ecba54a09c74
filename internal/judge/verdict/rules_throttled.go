// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/rulebook"
)

// cpuThrottled: no CPU quota stopped the workers. One that did is a limitation; where the
// generator's own delay makes the run INVALID as well, it is the cause of that.
func cpuThrottled(e *evidence) Rule {
	r := Rule{Outcome: Pass, Rule: certificate.Rule{
		Limit:  e.limits.Machine,
		Detail: "no CPU quota is known for the generator",
	}}
	worst := e.throttledGenerator()
	if worst.share == nil {
		return r
	}
	r.Observed = worst.share
	r.Detail = fmt.Sprintf("a CPU quota throttled %s for %s of the time", worst.owner, percent(*worst.share))
	if *worst.share <= *r.Limit {
		return r
	}
	if broken := e.brokenByDelay(); len(broken) > 0 {
		r.Outcome = Invalid
		r.Detail += ", and the generator's own delay breaks " + joinAnd(broken)
		return r
	}
	r.Limitation = r.Detail + "; latencies include it"
	return r
}

// brokenByDelay are the rules that the generator's own delay breaks. Those that are broken
// because nothing was measured are not among them.
func (e *evidence) brokenByDelay() (ids []string) {
	for _, id := range rulebook.IDs(func(r rulebook.Rule) bool { return r.EachFlow && r.Blames == rulebook.Generator }) {
		if slices.ContainsFunc(e.perFlow(), func(f *evidence) bool {
			return f.checked[id].Outcome == Invalid && f.checked[id].Observed != nil
		}) {
			ids = append(ids, id)
		}
	}
	return ids
}

// throttledGenerator is the loss to a CPU quota of the worker that lost most.
func (e *evidence) throttledGenerator() cpuLoss {
	worst, source := cpuLoss{owner: "the generator"}, ""
	for _, w := range e.workers() {
		if s := e.throttledShare(w); s != nil && (worst.share == nil || *s > *worst.share) {
			worst.share, source = s, w
		}
	}
	var where []string
	if source != "" && len(e.plan.Workers) > 1 {
		where = append(where, source)
	}
	if pod := e.podText(source); pod != "" {
		where = append(where, pod)
	}
	if len(where) > 0 {
		worst.owner += " (" + strings.Join(where, ", ") + ")"
	}
	return worst
}
