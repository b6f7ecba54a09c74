// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"math"
	"slices"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
)

// withoutLateEnds are the judged spans without the first seconds after a recovery from a
// fault. Most times are counted in the second in which they end: transactions that arrived
// during the outage end there, with times that are none of the rest. They end within the
// timeout. A span that would have fewer than minSeconds left stays as it is.
func withoutLateEnds(r record.Run, v verdict.Verdict) []record.Span {
	spans := slices.Clone(v.Judged)
	late := int64(math.Ceil(float64(r.Plan.Load.Longest()) / float64(time.Second)))
	for i := 1; i < len(spans); i++ {
		if v.WindowOf[i] == v.WindowOf[i-1] && v.Judged[i].From > v.Judged[i-1].To && spans[i].Seconds() >= late+minSeconds {
			spans[i].From += late
		}
	}
	return spans
}
