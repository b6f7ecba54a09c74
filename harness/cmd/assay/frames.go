package main

import (
	"bufio"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

func newFrames() *cobra.Command {
	return &cobra.Command{
		Use:   "frames RUN",
		Short: "The frames of a run as JSON lines, for jq",
		Long: `Frames prints everything that was measured: one line for each metric, source
and second. Counters and gauges have a value; histograms a count, a sum and
percentiles, in the metric's unit.`,
		Example: `  assay frames runs/latest | jq -s 'map(select(.metric == "db_session")) | length'
  assay frames runs/latest | jq -c 'select(.metric == "transaction_duration") | [.second, .p95]'`,
		Args: oneRun,
		RunE: func(c *cobra.Command, args []string) error {
			if err := record.CheckSeal(args[0]); err != nil {
				return err
			}
			out := bufio.NewWriter(c.OutOrStdout())
			encoder := json.NewEncoder(out)
			err := record.EachFrame(args[0], func(f metric.Frame) error {
				for _, p := range f.Points {
					if err := encoder.Encode(frameLine(f, p)); err != nil {
						return err
					}
				}
				return nil
			})
			return errors.Join(err, out.Flush())
		},
	}
}

// line is one point of one frame.
type line struct {
	Source   string            `json:"source"`
	Sequence uint64            `json:"sequence"`
	Second   int64             `json:"second"`
	Closing  bool              `json:"closing,omitempty"`
	Metric   string            `json:"metric"`
	Unit     string            `json:"unit,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Value    *float64          `json:"value,omitempty"`
	Count    *uint64           `json:"count,omitempty"`
	Sum      *float64          `json:"sum,omitempty"`
	P50      *float64          `json:"p50,omitempty"`
	P95      *float64          `json:"p95,omitempty"`
	P99      *float64          `json:"p99,omitempty"`
	Max      *float64          `json:"max,omitempty"`
}

func frameLine(f metric.Frame, p metric.Point) line {
	l := line{Source: f.Source, Sequence: f.Sequence, Second: f.Second, Closing: f.Closing, Metric: p.Series.Name, Unit: p.Series.Unit}
	for _, label := range p.Series.Labels {
		if l.Labels == nil {
			l.Labels = map[string]string{}
		}
		l.Labels[label.Key] = label.Value
	}
	if p.Kind != metric.Histogram {
		l.Value = &p.Value
		return l
	}
	count, sum := p.Hist.Count(), p.Hist.Sum()
	l.Count, l.Sum = &count, &sum
	for q, into := range map[float64]**float64{0.5: &l.P50, 0.95: &l.P95, 0.99: &l.P99, 1: &l.Max} {
		if v, ok := p.Hist.Quantile(q); ok {
			*into = &v
		}
	}
	return l
}
