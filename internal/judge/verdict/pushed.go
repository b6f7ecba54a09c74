// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"strings"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// pushedLimitations say why metrics that services pushed under OpenTelemetry's names are not
// those of the target, if they would have been needed.
func (e *evidence) pushedLimitations() []string {
	p := e.Timeline.Pushed()
	_, requests := e.Timeline.Sum(metric.ServiceRequestTime, nil, record.All)
	_, statements := e.Timeline.Sum(metric.ServiceQueryTime, nil, record.All)
	switch {
	case len(p.Senders) == 0 || requests && statements:
		return nil
	case len(p.Senders) > 1:
		return []string{fmt.Sprintf("the metrics of %s, pushed by OTLP, are not read as the service's: it is not known which of them is the target; let only that one push to this run", strings.Join(p.Senders, ", "))}
	case p.TooRare():
		return []string{fmt.Sprintf("the metrics of %s, pushed by OTLP, are not read as the service's: an export covers up to %d s; set OTEL_METRIC_EXPORT_INTERVAL=1000", p.Senders[0], p.Longest)}
	}
	return nil
}
