package spec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// judged are the metrics that an SLO may name.
func judged() []metric.Descriptor {
	return metric.Catalogue(func(d metric.Descriptor) bool { return len(d.SLO) > 0 })
}

// overload is a load with an overload and a step up, and the latency SLO that judges them.
const overload = `"load": {"stages": [{"rate": 1, "for": "10s"}, {"rate": 2, "for": "60s", "judge": true}, {"rate": 3, "for": "10s", "overload": true}, {"rate": 2, "for": "60s"}]},
	"slo": {"transaction_duration": ["p(95)<250"], "settle_time": ["max<30000"], `

// needed is what a profile must hold for an SLO on a metric.
func needed(t *testing.T, d metric.Descriptor) string {
	t.Helper()
	head, name, _ := strings.Cut(d.Key, ".")
	switch head {
	case "":
		if d.From(metric.SourceStages) {
			return overload
		}
		return ""
	case "ledger":
		return `, "ledger": {"persisted": "SELECT id, at FROM t WHERE run = ?"}`
	case "faults":
		return `, "faults": [{"at": "5s", "node": "a", "do": "kill", "for": "5s"}]`
	case "invariants":
		return `, "invariants": {"no negative balance": "SELECT 1"}`
	case "binlog_reader":
		return `, "binlog_reader": {"sql": "SELECT 1"}`
	case "consumer":
		return `, "consumer": {"group": "a", "topic": "b"}`
	case "gauges":
		return fmt.Sprintf(`, "gauges": {%q: {"metric": "queue"}}`, name)
	}
	t.Fatalf("%s needs %q, which this test does not know", d.Name, d.Key)
	return ""
}

// Every metric with SLO forms in the catalogue takes these conditions, and no others,
// and only in a profile that says where to read it.
func TestSLOsFollowTheCatalogue(t *testing.T) {
	profile := func(d metric.Descriptor, condition, more string) error {
		if start, ofStages := strings.CutPrefix(more, overload); ofStages {
			// Its SLOs are those that the load needs, and the one on d.
			start = overload + start
			if d.Name == metric.SettleTime {
				start = strings.Replace(start, `"settle_time": ["max<30000"], `, `"goodput": ["rate>0.5"], `, 1)
			}
			_, err := spec.Decode("t.json", fmt.Appendf(nil, `{"version": 1, "profiles": {"p": {"scenario": "a.js", %s%q: [%q]}}}}`, start, d.Name, condition))
			return err
		}
		_, err := spec.Decode("t.json", fmt.Appendf(nil,
			`{"version": 1, "profiles": {"p": {"scenario": "a.js", "load": {"target": 1}, "slo": {%q: [%q]}%s}}}`, d.Name, condition, more))
		return err
	}
	for _, d := range judged() {
		if kind, ofLoad := (spec.SLO{Metric: d.Name}).Kind(), d.From(metric.SourceWorker) || d.From(metric.SourceK6); (kind == spec.KindSamples) != ofLoad {
			t.Errorf("%s is decided by %s", d.Name, kind)
		}
		for _, condition := range []string{"p(95)<7", "p(99.9)<=7", "max<7", "rate<0.5", "missing==0", "duplicated==0", "violated==0"} {
			if d.Name == metric.Goodput { // a floor
				condition = strings.Replace(condition, "rate<", "rate>", 1)
			}
			takes := slices.ContainsFunc(d.SLO, func(example string) bool { return aggregate(example) == aggregate(condition) })
			if err := profile(d, condition, needed(t, d)); (err == nil) != takes {
				t.Errorf("%s: %s: %v", d.Name, condition, err)
			}
		}
		for _, example := range d.SLO {
			if err := profile(d, example, needed(t, d)); err != nil {
				t.Errorf("%s: the catalogue's own %s: %v", d.Name, example, err)
			}
			if err := profile(d, example, ""); d.Key != "" && (err == nil || !strings.Contains(err.Error(), "the profile has no \""+d.Key+"\"")) {
				t.Errorf("%s without %s: %v", d.Name, d.Key, err)
			}
		}
	}
}

// aggregate is the word of a condition before its operator, without an argument.
func aggregate(condition string) string {
	return condition[:strings.IndexAny(condition, "(<>=")]
}

// The schema agrees with the catalogue about Assay's own metrics: their conditions,
// and where they are read.
func TestSchemaFollowsTheCatalogue(t *testing.T) {
	var schema struct {
		Defs struct {
			SLO struct {
				Properties map[string]struct {
					Items struct {
						Ref string `json:"$ref"`
					}
				}
			}
			Profile struct {
				Properties struct {
					Gauges struct {
						Properties map[string]any
					}
				}
				AllOf []any
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(spec.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	conditions, got := map[string]string{}, map[string]string{}
	for name, p := range schema.Defs.SLO.Properties {
		got[name] = p.Items.Ref
	}
	var named []string
	needs, _ := json.Marshal(schema.Defs.Profile.AllOf)
	for _, d := range judged() {
		switch {
		case d.From(metric.SourceWorker) || d.From(metric.SourceK6):
			continue
		case aggregate(d.SLO[0]) == "missing":
			conditions[d.Name] = "#/$defs/ledgerCondition"
		case d.Name == metric.Goodput:
			conditions[d.Name] = "#/$defs/goodputCondition"
		case d.Name == metric.RecoveryTime || d.From(metric.SourceStages):
			conditions[d.Name] = "#/$defs/recoveryCondition"
		case d.Name == metric.Invariants:
			conditions[d.Name] = "#/$defs/invariantsCondition"
		default:
			conditions[d.Name] = "#/$defs/levelCondition"
		}
		if d.Sources[0] == metric.SourceGauges {
			named = append(named, d.Name)
		}
		if d.Key != "" && !strings.Contains(string(needs), fmt.Sprintf(`"required":[%q]`, d.Name)) {
			t.Errorf("the schema does not say that an SLO on %s needs %s", d.Name, d.Key)
		}
	}
	if diff := cmp.Diff(conditions, got); diff != "" {
		t.Errorf("slo.properties (-catalogue +schema):\n%s", diff)
	}
	if diff := cmp.Diff(named, slices.Sorted(maps.Keys(schema.Defs.Profile.Properties.Gauges.Properties))); diff != "" {
		t.Errorf("gauges (-catalogue +schema):\n%s", diff)
	}
}

// The table of conditions in docs/slos.md has every metric of Assay that an SLO may use.
func TestConditionsFollowTheCatalogue(t *testing.T) {
	chapter, err := os.ReadFile("../../docs/slos.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(chapter), "| condition | metrics |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, d := range judged() {
		if !d.From(metric.SourceK6) && !strings.Contains(table, "`"+d.Name+"`") {
			t.Errorf("the table has no %s", d.Name)
		}
	}
}

// The schema knows which metrics are judged for the whole run, and not for each flow.
func TestSchemaKnowsTheMetricsOfTheRun(t *testing.T) {
	for _, d := range judged() {
		kind := spec.SLO{Metric: d.Name}.Kind()
		whole := kind == spec.KindGauge || kind == spec.KindInvariants
		_, err := spec.Decode("t.json", fmt.Appendf(nil, `{"version": 1, "profiles": {"p": {"slo": {%[1]q: [%[2]q]},
			"flows": {"a": {"scenario": "a.js", "load": {"target": 1}, "slo": {%[1]q: [%[2]q]}}}}}}`, d.Name, d.SLO[0]))
		var all spec.Errors
		if errors.As(err, &all); slices.ContainsFunc(all, func(e *spec.Error) bool { return strings.HasSuffix(e.Problem, "for the whole run") }) != whole ||
			slices.ContainsFunc(all, func(e *spec.Error) bool { return strings.HasSuffix(e.Problem, "for each flow") }) == whole {
			t.Errorf("%s, of kind %s: %v", d.Name, kind, err)
		}
	}
}
