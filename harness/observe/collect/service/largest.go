package service

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Largest reads one metric of the endpoint, and of several label sets the
// largest value.
func (c *Collector) Largest(ctx context.Context, name string) (float64, error) {
	if c.refused != nil {
		return 0, c.refused
	}
	body, err := c.fetch(ctx)
	if err != nil {
		return 0, err
	}
	var lines strings.Builder
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE "), name) {
			lines.WriteString(line)
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(lines.String()))
	if err != nil {
		return 0, fmt.Errorf("scrape service: %w", err)
	}
	largest := math.Inf(-1)
	for _, m := range families[name].GetMetric() {
		if v, ok := value(m); ok {
			largest = max(largest, v)
		}
	}
	if math.IsInf(largest, -1) {
		return 0, fmt.Errorf("%s has no metric %s", c.shown, name)
	}
	return largest, nil
}
