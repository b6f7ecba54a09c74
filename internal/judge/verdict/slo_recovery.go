// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// judgeRecovery decides recovery_time, settle_time or time_to_scale by the longest recovery.
// It is known to a second: PASS needs the longest possible time, FAIL the shortest without
// the generator's own delay. A disturbance of which the load showed nothing leaves the SLO
// without data, unless another one decides that it is violated. Nothing is known of how the
// system settles after an overload that the generator did not deliver.
func judgeRecovery(p *part, s spec.SLO) SLO {
	out := newSLO(s, "ms")
	n, broken, possible := int64(0), int64(0), int64(0)
	unbounded, unseen := false, false
	for _, r := range p.recovered {
		if r.Metric != s.Metric {
			continue
		}
		n++
		if r.unseen() {
			unseen, unbounded = true, true
			possible++
			continue
		}
		if s.Violates(*r.RecoveryMs.Least) {
			broken++
			end := r.Until.Unix()
			if r.RecoveryMs.Most != nil {
				end = min(end, r.At.Add(time.Duration(*r.RecoveryMs.Most*float64(time.Millisecond))).Unix())
			}
			out.Seconds = append(out.Seconds, record.Span{From: r.At.Unix(), To: end})
		}
		if r.RecoveryMs.Most == nil || s.Violates(*r.RecoveryMs.Most) {
			possible++
		}
		out.Lower = longer(out.Lower, r.RecoveryMs.Least)
		out.Upper = longer(out.Upper, r.RecoveryMs.Most)
		unbounded = unbounded || r.RecoveryMs.Most == nil
	}
	if n == 0 || unseen && broken == 0 {
		return newSLO(s, "ms")
	}
	out.Observed = out.Upper
	if unbounded { // it is at least what was seen of it
		out.Observed, out.ObservedAtLeast, out.Upper = out.Lower, out.Lower, nil
	}
	out.between(n, broken, possible)
	out.Allowed, out.Outcome = new(int64(0)), decideByCount(broken, possible, 0)
	if s.Metric == metric.SettleTime {
		out.hide(undeliveredOverload(p.evidence))
	}
	return out
}

func longer(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
