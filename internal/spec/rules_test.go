package spec_test

import (
	"math"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

func TestLimits(t *testing.T) {
	percentile := func(name string, q float64) spec.SLO {
		return spec.SLO{Metric: name, Aggregate: spec.Percentile, Quantile: q}
	}
	for _, c := range []struct {
		name           string
		slos           []spec.SLO
		drops, offered float64
	}{
		{"none", nil, 0.001, 0.01},
		{"p95", []spec.SLO{percentile("transaction_duration", 0.95)}, 0.001, 0.005},
		{"p99.9", []spec.SLO{percentile("transaction_duration", 0.95), percentile("http_req_duration", 0.999)}, 0.0001, 0.0001},
		{"not sampled", []spec.SLO{percentile(metric.PersistLag, 0.999)}, 0.001, 0.01},
	} {
		got := spec.DefaultRules(c.slos)
		if math.Abs(*got.GeneratorDrops-c.drops) > 1e-12 || math.Abs(*got.Offered-c.offered) > 1e-12 {
			t.Errorf("%s: drops %g, offered %g", c.name, *got.GeneratorDrops, *got.Offered)
		}
		if *got.GeneratorCPU != 0.8 || *got.Machine != 0.02 || *got.CollectorShare != 0.99 || *got.CollectorGap != 2*time.Second {
			t.Errorf("%s: %+v", c.name, got)
		}
	}

	p := decode(t, "testdata/good/full.json").Profiles["payment"]
	got := p.Limits()
	if *got.GeneratorDrops != 0 || *got.Offered != 0.02 || *got.GeneratorCPU != 0.5 || *got.Machine != 0.1 || *got.CollectorShare != 0.9 || *got.CollectorGap != 1500*time.Millisecond {
		t.Errorf("overrides: %+v", got)
	}
	p.Rules.Offered = nil
	if got := p.Limits(); math.Abs(*got.Offered-0.0001) > 1e-12 {
		t.Errorf("default under overrides: %g", *got.Offered)
	}
}
