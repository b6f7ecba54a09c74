// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
)

// The queries of this file are about time and failures that are the generator's or its script's,
// rather than the system's.

// lack is what the generator's host had not got, for which transactions failed.
type lack struct {
	class  string
	failed int64
}

// lacks are all of them, the one that failed most transactions first.
func lacks(e *evidence) (all []lack) {
	for _, class := range metric.Lacks {
		if n := e.tally(metric.GeneratorLacks, label("class", class)).n; n > 0 {
			all = append(all, lack{class, n})
		}
	}
	slices.SortStableFunc(all, func(a, b lack) int { return cmp.Compare(b.failed, a.failed) })
	return all
}

// in names it, with the limit of its workers.
func (l lack) in(e *evidence) string {
	text := fmt.Sprintf("%d transactions failed in the generator: %s", l.failed, l.class)
	switch l.class {
	case metric.ErrorNoPort:
		if ports := largestGauge(e, metric.WorkerPorts); ports > 0 {
			return text + fmt.Sprintf(" of %s (net.ipv4.ip_local_port_range), up to %s connections in TIME_WAIT", number(ports), number(largestGauge(e, metric.WorkerTimeWait)))
		}
	case metric.ErrorOpenFiles:
		if limit := largestGauge(e, metric.WorkerDescriptors); limit > 0 {
			return text + fmt.Sprintf(", of which a worker may have %s", number(limit))
		}
	case metric.ErrorDNS:
		return fmt.Sprintf("%d transactions failed in the generator: names were not resolved (%s)", l.failed, l.class)
	}
	return text
}

// remedies are what to do about a lack, by class.
var remedies = map[string]string{
	metric.ErrorNoPort: `On the workers' hosts widen the range of ports (sysctl -w net.ipv4.ip_local_port_range="1024 65535"), ` +
		"leave noConnectionReuse and noVUConnectionReuse out of the script's options, or use more hosts.",
	metric.ErrorOpenFiles: "Raise the limit on open files of the workers (ulimit -Hn 65536, LimitNOFILE=, docker --ulimit nofile=65536), or use more workers.",
	metric.ErrorNoMemory:  "Give the workers' hosts more memory, also for sockets (net.ipv4.tcp_mem).",
	metric.ErrorAnswers:   "Give the workers' hosts more memory, or use more workers.",
	metric.ErrorDNS:       "Check the resolver of the workers' hosts (/etc/resolv.conf) and that the target's name exists there; neither is judged.",
}

// largestGauge is the largest reading of a worker's gauge in the judged windows; 0: there is none.
func largestGauge(e *evidence, name string) (largest float64) {
	for _, w := range e.workers() {
		for _, v := range gaugeValues(e.Timeline, w, name, e.spans...) {
			largest = max(largest, v)
		}
	}
	return largest
}

// scriptShare is the share of the tightest bound on a latency from which on the time that the script itself takes is shown (ours).
const scriptShare = 0.1

// scriptText says how much of each transaction the script itself took, where that is much;
// empty: little, or not known.
func scriptText(e *evidence) string {
	h := e.distribution(metric.ScriptTime, nil).all
	median, ok := h.Quantile(0.5)
	p95, _ := h.Quantile(0.95)
	bound := float64(e.plan.Timeout.Milliseconds())
	for _, s := range e.Plan.Profile.WholeSLOs() {
		if s.Latency() {
			bound = min(bound, s.Bound)
		}
	}
	if !ok || p95 < scriptShare*bound {
		return ""
	}
	return fmt.Sprintf("the script itself (JavaScript, and sleep() before its first request or after its last one) took %s ms of a transaction at the median, %s ms at p95", number(median), number(p95))
}

// adviceScript is what to do about a script that takes long.
const adviceScript = "Make the script cheaper: prepare data in the init context or in setup(), parse less of each answer, and keep loops and cryptography out of the default function; replace a sleep() that stands for a user by think(); or give the generator more CPUs."

// thinkTime is what users thought, which no latency includes.
func thinkTime(p *part) []certificate.Omission {
	h := p.distribution(metric.ThinkTime, nil).all
	return []certificate.Omission{{
		What: "think time, which no latency includes", Seconds: new(h.Sum() / 1000), Transactions: new(int64(h.Count())),
	}}
}

// generatorErrors are the transactions that failed for what the generator lacks. They are
// violations as measured, and no reason for a FAIL.
func generatorErrors(p *part) (all []certificate.Omission) {
	lost := generatorDropped(p.evidence)
	for _, l := range lacks(p.evidence) {
		all = append(all, certificate.Omission{
			What: "failures of the generator's own, which are no reason for a FAIL: " + l.class, Transactions: &l.failed, Failed: &l.failed,
			Weighs: over(p.evidence, lost, p.limits.GeneratorDrops),
		})
	}
	return all
}

// scriptTime is the time of the script itself, which is no reason for a FAIL, where it is much.
func scriptTime(p *part) []certificate.Omission {
	if scriptText(p.evidence) == "" {
		return nil
	}
	h := p.distribution(metric.ScriptTime, nil).all
	return []certificate.Omission{{
		What: "the script's own time, which is no reason for a FAIL", Seconds: new(h.Sum() / 1000), Transactions: new(int64(h.Count())),
		Weighs: slices.ContainsFunc(p.slos, func(s SLO) bool { return s.HiddenByGenerator }),
	}}
}
