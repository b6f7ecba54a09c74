//go:build live

package doctor

import (
	"errors"
	"strings"
	"testing"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// Unreadable lags have their own check and remedy, or the hint of their error.
func TestReadersFindings(t *testing.T) {
	judges := func(name, metric string) Load {
		return Load{Profile: spec.Profile{Name: name, Flows: []spec.Flow{{SLOs: []spec.SLO{{Metric: metric, Aggregate: spec.Max, Operator: "<", Bound: 1}}}}}}
	}
	no := errors.New("refused")
	for name, c := range map[string]struct {
		subject Subject
		results []*gaugeResult
		state   State
		words   string
		remedy  string
	}{
		"no replica named":   {Subject{Loads: []Load{judges("a", "x"), judges("b", metric.ReplicaLag)}}, nil, Lacking, "profile b judges replica_lag, and no replica is named", "name each with --db-reader, like --db-reader 'user@tcp(127.0.0.1:3307)/'"},
		"replicas":           {Subject{Loads: []Load{judges("b", metric.ReplicaLag)}, Readers: []string{"r"}}, []*gaugeResult{{metric: metric.ReplicaLag}}, OK, "", ""},
		"a replica, judged":  {Subject{Loads: []Load{judges("b", metric.ReplicaLag)}, Readers: []string{"r"}}, []*gaugeResult{{metric: metric.ReplicaLag, err: no}}, Lacking, "refused", "check that it is running, and its DSN, query or metric"},
		"a replica, watched": {Subject{Loads: []Load{judges("a", "x")}, Readers: []string{"r"}}, []*gaugeResult{{metric: metric.ReplicaLag, err: no}}, Warning, "refused", "check that it is running, and its DSN, query or metric"},
		"with a hint":        {Subject{Loads: []Load{judges("a", "x")}}, []*gaugeResult{{metric: metric.BinlogReaderLag, profile: "a", err: hint.With(no, "do it")}}, Warning, "refused", "do it"},
		"judged by another":  {Subject{Loads: []Load{judges("a", metric.BinlogReaderLag), judges("b", "x")}}, []*gaugeResult{{metric: metric.BinlogReaderLag, profile: "b", err: no}}, Warning, "refused", "check that it is running, and its DSN, query or metric"},
		"judged by this one": {Subject{Loads: []Load{judges("a", metric.BinlogReaderLag), judges("b", "x")}}, []*gaugeResult{{metric: metric.BinlogReaderLag, profile: "a", err: no}}, Lacking, "refused", "check that it is running, and its DSN, query or metric"},
	} {
		t.Run(name, func(t *testing.T) {
			all := c.subject.gaugesFindings(c.results)
			if len(all) != 1 || all[0].Check != CheckReaders || all[0].State != c.state || all[0].Why != c.words || all[0].Remedy != c.remedy {
				t.Errorf("%+v", all)
			}
		})
	}
}

// A consumer group that cannot be read is found before the run, and stops it only if its
// lag is judged.
func TestConsumerIsExamined(t *testing.T) {
	t.Parallel()
	p := spec.Profile{Name: "p", Consumer: &spec.Consumer{Brokers: []string{"127.0.0.1:1"}, Group: "g", Topic: "t"}}
	for state, slos := range map[State][]spec.SLO{
		Warning: nil,
		Lacking: {{Metric: metric.ConsumerLag, Aggregate: spec.Max, Operator: "<", Bound: 1}},
	} {
		p.Flows = []spec.Flow{{SLOs: slos}}
		s := Subject{Loads: []Load{{Profile: p}}}
		all := s.gaugesFindings(s.examineGauges(t.Context()))
		if len(all) != 1 || all[0].Check != CheckGauges || all[0].State != state || !strings.Contains(all[0].Why, "connection refused") || !strings.Contains(all[0].Remedy, "check that the broker is up") {
			t.Errorf("%+v", all)
		}
	}
}
