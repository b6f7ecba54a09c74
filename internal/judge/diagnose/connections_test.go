package diagnose

import (
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/wait"
)

// Transactions that fail because connections are refused indicate a connection storm; the
// others fail for other reasons.
func TestRefusedConnections(t *testing.T) {
	for refused, want := range map[float64]string{3: ConnectionStorm, 0.1: Undetermined, 0: Undetermined} {
		b := system{base: healthy(), hold: with(healthy(), map[string]float64{wait.Binlog: 1}), noise: 0.1, failing: 0.15, refused: refused}.diagnosed().Bottleneck
		if b.Component != want || want == ConnectionStorm && (*b.Confidence < MinConfidence || len(b.Confirm) == 0) {
			t.Errorf("%g refused per second, 3 failed: %+v", refused, b)
		}
	}
}

// Failures that service or database name count on a generator that lacks CPU too, and
// whatever the times say; a component that the times show comes first. A load that differs
// from the planned one shows nothing.
func TestFailuresByClass(t *testing.T) {
	slowBy := func(ms float64, name string) map[string]float64 {
		return with(healthy(), map[string]float64{name: ms})
	}
	scattered := slowBy(400, Residual)
	for _, c := range []struct {
		name   string
		w      system
		differ bool
		want   string
	}{
		{name: "refused, times in doubt", w: system{hold: scattered, refused: 3}, want: ConnectionStorm},
		{name: "refused, by the service's count", w: system{hold: scattered, errors: map[string]float64{metric.ErrorTooMany: 3}}, want: ConnectionStorm},
		{name: "refused to others: the service counts its own", w: system{hold: scattered, refused: 3, errors: map[string]float64{metric.ErrorTooMany: 0.01}}, want: Undetermined},
		{name: "refused, most time out", w: system{hold: scattered, refused: 6, timingOut: 0.3}, want: ConnectionStorm},
		{name: "few refused, most time out", w: system{hold: scattered, refused: 3, timingOut: 0.3}, want: Undetermined},
		{name: "a pool that is always full", w: system{hold: slowBy(400, Pool), connections: 0.3, inUse: 0.295, starvedWorker: true}, want: Pool},
		{name: "a storm, and refused", w: system{hold: slowBy(400, ConnectionStorm), refused: 3, starvedWorker: true}, want: ConnectionStorm},
		{name: "a storm, none refused", w: system{hold: slowBy(400, ConnectionStorm), starvedWorker: true}, want: Undetermined},
		{name: "a pool that is full at times", w: system{hold: slowBy(400, Pool), connections: 0.3, inUse: 0.18, starvedWorker: true}, want: Undetermined},
		{name: "a pool that bursts may have filled", w: system{hold: slowBy(400, Pool), starvedWorker: true}, want: Undetermined},
		{name: "few refused", w: system{hold: scattered, refused: 0.5}, want: Undetermined},
		{name: "refused, generator short of CPU", w: system{hold: scattered, refused: 3, starvedWorker: true}, want: ConnectionStorm},
		{name: "refused, time charged to the generator", w: system{hold: slowBy(400, Network), refused: 3, starvedWorker: true}, want: ConnectionStorm},
		{name: "time charged to the generator", w: system{hold: slowBy(400, Network), starvedWorker: true}, want: Generator},
		{name: "refused under another load", w: system{hold: scattered, refused: 3, starvedWorker: true}, differ: true, want: Undetermined},
		{name: "refused, times clear", w: system{hold: slowBy(400, wait.Binlog), refused: 3}, want: "binlog"},
		{name: "pool timeouts", w: system{hold: slowBy(400, Pool), errors: map[string]float64{metric.ErrorPoolTimeout: 3}, starvedWorker: true}, want: Pool},
		{name: "few pool timeouts", w: system{hold: slowBy(400, Pool), errors: map[string]float64{metric.ErrorPoolTimeout: 0.5}, starvedWorker: true}, want: Undetermined},
		{name: "pool timeouts under another load", w: system{hold: slowBy(400, Pool), errors: map[string]float64{metric.ErrorPoolTimeout: 3}, starvedWorker: true}, differ: true, want: Undetermined},
	} {
		c.w.base, c.w.noise, c.w.failing = healthy(), 0.1, 0.15
		r := c.w.record()
		v := verdict.Judge(r)
		for i, rule := range v.Rules {
			if rule.ID == "generator-lag" {
				v.Rules[i].Outcome = verdict.Pass
				if c.differ {
					v.Rules[i].Outcome = verdict.Invalid
				}
			}
		}
		if b := Of(r, v).Bottleneck; b.Component != c.want {
			t.Errorf("%s: %+v", c.name, b)
		} else if c.want == ConnectionStorm && c.w.hold[ConnectionStorm] < 400 && !strings.Contains(b.Sentence, "had reached its connection limit") {
			t.Errorf("%s: %q", c.name, b.Sentence)
		}
	}
}

// Refusals in one second of thirty do not show what failed in the others.
func TestRefusedConnectionsInOneSecond(t *testing.T) {
	w := system{base: healthy(), hold: with(healthy(), map[string]float64{wait.Binlog: 1}), noise: 0.1, failing: 0.15, refused: 60}
	w.frames = func(second int64, _ string, points []metric.Point) []metric.Point {
		return slices.DeleteFunc(points, func(p metric.Point) bool {
			return second != 10 && p.Series.Label("name") == "Connection_errors_max_connections"
		})
	}
	b := w.diagnosed().Bottleneck
	if b.Component != Undetermined || b.Confidence == nil || *b.Confidence >= MinConfidence || !strings.Contains(b.Sentence, "refused 60 connections") || b.Remedy != "" {
		t.Errorf("%+v", b)
	}
}
