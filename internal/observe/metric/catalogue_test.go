package metric_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/metrictest"
)

var update = flag.Bool("update", false, "rewrite docs/metrics.md")

func everything(metric.Descriptor) bool { return true }

// Every entry is complete and valid, and no two entries have the same InfluxDB field.
func TestCatalogue(t *testing.T) {
	units := []string{"", "ms", "s", "By"}
	sources := []string{
		metric.SourceWorker, metric.SourceDatabase, metric.SourceService, metric.SourceHost, metric.SourceLag, metric.SourceGauges, metric.SourceNeighbours, metric.SourceK6, metric.SourceLedger, metric.SourceCoordinator, metric.SourceStages, metric.SourceReceiver, metric.SourceForeign, metric.SourceStub,
	}
	fields := map[string]bool{}
	for _, d := range metric.Catalogue(everything) {
		if found, ok := metric.Find(d.Name); !ok || found.Name != d.Name {
			t.Errorf("%s is not found", d.Name)
		}
		switch {
		case d.Text == "" || strings.ContainsAny(d.Text, "\n|") || strings.HasSuffix(d.Text, "."):
			t.Errorf("%s: want a text of one line without a full stop: %q", d.Name, d.Text)
		case d.Kind.String() == "unknown":
			t.Errorf("%s has no kind", d.Name)
		case !slices.Contains(units, d.Unit):
			t.Errorf("%s: unit %q", d.Name, d.Unit)
		case len(d.Sources) == 0:
			t.Errorf("%s has no source", d.Name)
		case d.Kind == metric.Rate && d.Unit != "":
			t.Errorf("%s: a share has no unit", d.Name)
		case (d.Abort == "") != (d.Protects == ""), d.Abort != "" && d.Kind != metric.Gauge && d.Kind != metric.Counter:
			t.Errorf("%s: an abort condition needs an example and what it protects, of a gauge or counter", d.Name)
		case d.JudgedBySecond() && (d.Advice == "" || d.View == ""):
			t.Errorf("%s: a gauge that an SLO may name needs advice and a view", d.Name)
		}
		for _, s := range d.Sources {
			if !slices.Contains(sources, s) {
				t.Errorf("%s: source %q", d.Name, s)
			}
		}
		if measurement, field, ok := strings.Cut(d.View, "."); d.View != "" && (!ok || measurement == "" || field == "") {
			t.Errorf("%s: view %q", d.Name, d.View)
		}
		if id := fmt.Sprint(d.View, d.Labels); d.View != "" && !d.JudgedBySecond() {
			if fields[id] {
				t.Errorf("%s: another metric has the field %s", d.Name, d.View)
			}
			fields[id] = true
		}
	}
}

func TestOf(t *testing.T) {
	want := metric.NewSeries(metric.ReplicaLag, "ms", "reader", "a")
	if diff := cmp.Diff(want, metric.Of(metric.ReplicaLag, "reader", "a")); diff != "" {
		t.Error(diff)
	}
	defer func() {
		if recover() == nil {
			t.Error("an unknown name does not panic")
		}
	}()
	metric.Of("zebra")
}

func TestSources(t *testing.T) {
	if got := metric.WorkerSource(12); got != "worker/12" || !metric.IsWorker(got) {
		t.Errorf("worker 12 is %q", got)
	}
	for _, source := range []string{"worker", "workers/1", metric.SourceHost, "otlp/worker/0", ""} {
		if metric.IsWorker(source) {
			t.Errorf("%q is a worker", source)
		}
	}
}

// Every kind of difference from the catalogue is found.
func TestDifferences(t *testing.T) {
	point := func(s metric.Series, k metric.Kind) metric.Point { return metric.Point{Series: s, Kind: k} }
	for name, c := range map[string]struct {
		source string
		point  metric.Point
		want   string
	}{
		"no difference":    {"host", point(metric.Of(metric.HostCPU, "mode", "user"), metric.Counter), ""},
		"a script's":       {"worker/1", point(metric.NewSeries("my_trend", "ms"), metric.Histogram), ""},
		"k6's with a tag":  {"worker/1", point(metric.NewSeries("http_req_duration", "ms", "tenant", "a"), metric.Histogram), ""},
		"a rate":           {"worker/1", point(metric.NewSeries("checks.total", "", "check", "a"), metric.Counter), ""},
		"unknown":          {"host", point(metric.NewSeries("zebra", ""), metric.Counter), "zebra of host: not in the catalogue"},
		"another kind":     {"host", point(metric.Of(metric.HostCPUs), metric.Counter), "host_cpus of host: kind counter, in the catalogue gauge"},
		"another unit":     {"host", point(metric.NewSeries(metric.HostCPU, "ms"), metric.Counter), `host_cpu_seconds of host: unit "ms", in the catalogue "s"`},
		"another source":   {"lag", point(metric.Of(metric.HostCPUs), metric.Gauge), "host_cpus of lag: source is host in the catalogue"},
		"not of a worker":  {"worker/0", point(metric.Of(metric.HostCPUs), metric.Gauge), "host_cpus of worker/0: source is host in the catalogue"},
		"a label too many": {"host", point(metric.Of(metric.HostCPUs, "mode", "x"), metric.Gauge), "host_cpus{mode:x} of host: the catalogue has no label mode"},
	} {
		got := strings.Join(metrictest.Differences(metric.Frame{Source: c.source, Points: []metric.Point{c.point}}), "\n")
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// docs/metrics.md is up to date.
func TestDocs(t *testing.T) {
	const path = "../../../docs/metrics.md"
	got := document()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is out of date (to update: go test ./internal/observe/metric -update):\n%s", path, diff)
	}
}

// titles are the sections of the document, by source.
var titles = [][2]string{
	{metric.SourceWorker, "Workers"},
	{metric.SourceDatabase, "Database"},
	{metric.SourceLag, "Replicas and binlog readers"},
	{metric.SourceGauges, "Gauges that the profile names"},
	{metric.SourceNeighbours, "Neighbours that abort conditions watch"},
	{metric.SourceService, "Service under test"},
	{metric.SourceStub, "Stubs"},
	{metric.SourceHost, "Host of the generator"},
	{metric.SourceReceiver, "Receiver of the coordinator"},
	{metric.SourceForeign, "Other senders (OTLP)"},
	{metric.SourceLedger, "Ledger"},
	{metric.SourceCoordinator, "Faults, invariants and abort conditions"},
	{metric.SourceStages, "Overloads and steps in load"},
	{metric.SourceK6, "k6"},
}

func document() string {
	var b strings.Builder
	b.WriteString(`# Metrics

Every metric of a record, by source, and the metrics that SLOs in thresholds.json
may name. Generated from the catalogue in internal/observe/metric by its tests
(` + "`go test ./internal/observe/metric -update`" + `).

`)
	b.WriteString("## Metrics for SLOs\n\n| metric | unit | example conditions | required key of the profile |\n|---|---|---|---|\n")
	for _, d := range metric.Catalogue(func(d metric.Descriptor) bool { return len(d.SLO) > 0 }) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, unit(d), code(d.SLO, ", "), code(keys(d), ""))
	}
	b.WriteString("\nSLOs may also name the trends and rates that a script registers.\n")
	b.WriteString("\n## Metrics for abort conditions\n\n| metric | unit | example condition | protects | required key of the profile |\n|---|---|---|---|---|\n")
	for _, d := range metric.Catalogue(func(d metric.Descriptor) bool { return d.Abort != "" }) {
		of := unit(d)
		if d.Kind == metric.Counter {
			if of == "" {
				of = "1"
			}
			of += "/s"
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s |\n", d.Name, of, d.Abort, d.Protects, code(keys(d), ""))
	}
	b.WriteString("\nThey may also name the rates of k6 and those that a script registers, which protect the target; see [abort conditions](abort.md).\n")
	for _, title := range titles {
		fmt.Fprintf(&b, "\n## %s\n\n| metric | kind | unit | labels | what it measures |\n|---|---|---|---|---|\n", title[1])
		for _, d := range metric.Catalogue(func(d metric.Descriptor) bool { return d.Sources[0] == title[0] }) {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", d.Name, d.Kind, unit(d), strings.Join(d.Labels, ", "), d.Text)
		}
	}
	return b.String()
}

func unit(d metric.Descriptor) string {
	switch {
	case d.Kind == metric.Rate:
		return "share"
	case d.Unit == "By":
		return "bytes"
	}
	return d.Unit
}

func keys(d metric.Descriptor) []string {
	if d.Key == "" {
		return nil
	}
	return []string{d.Key}
}

func code(all []string, separator string) string {
	quoted := make([]string, len(all))
	for i, text := range all {
		quoted[i] = "`" + text + "`"
	}
	return strings.Join(quoted, separator)
}
