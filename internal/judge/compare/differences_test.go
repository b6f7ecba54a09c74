package compare_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/certificate"
	. "assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/judge/stats/effect"
	"assay.dev/assay/internal/testing/comparetest"
)

func TestIdentity(t *testing.T) {
	a, b := comparetest.Groups("ABBA", 1)
	twice := Group{Name: a.Name, Runs: append(slices.Clone(a.Runs), Run{"copy", a.Runs[0].Certificate})}
	refused(t, twice, b, tolerance, "runs/a/00 and copy are the same run")
	both := Group{Name: b.Name, Runs: append(slices.Clone(b.Runs), a.Runs[0])}
	refused(t, a, both, tolerance, "runs/a/00 is in both A and B")
}

func TestSameRuns(t *testing.T) {
	for _, o := range []Options{tolerance, {Tolerance: 0.03, Unpaired: true}} {
		a, _ := comparetest.Groups(fifteenPairs, 1)
		c := compared(t, a, a, o)
		for _, m := range c.Metrics {
			if m.Decision == effect.Changed || m.Ratio != nil && *m.Ratio != 1 {
				t.Errorf("%s: %s, ratio %v", m.Name, m.Decision, *m.Ratio)
			}
		}
		if diff := cmp.Diff([]string{"A and B are the same runs: this compares them with themselves"}, c.Limitations); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDifferentLoads(t *testing.T) {
	for want, change := range map[string]func(*certificate.Certificate){
		"profile: synthetic in A, other in B": func(c *certificate.Certificate) { c.Profile = "other" },
		"unit: tps in A, rps in B":            func(c *certificate.Certificate) { c.Rate.Unit = "rps" },
		"target rate: 20 in A, 30 in B":       func(c *certificate.Certificate) { c.Rate.Target = 30 },
	} {
		a, b := comparetest.Groups("ABBA", 1)
		b = edit(b, func(_ int, c *certificate.Certificate) { change(c) })
		refused(t, a, b, tolerance, "A and B ran under different loads: "+want)
		has(t, compared(t, a, b, Options{Tolerance: 0.03, Force: true}), "--force was given: "+want)
	}
	// The runs of one group may differ too.
	a, b := comparetest.Groups("ABBA", 1)
	a = edit(a, func(i int, c *certificate.Certificate) { c.Rate.Target += float64(i) })
	refused(t, a, b, tolerance, "target rate: 20 or 21 in A, 20 in B")
}

func TestDifferentSettings(t *testing.T) {
	for want, change := range map[string]func(*certificate.Certificate){
		"in all runs: judged seconds: 30 in A, 60 in B":                          func(c *certificate.Certificate) { c.Window.Seconds = 60 },
		"in all runs: workers: 1 in A, 2 in B":                                   func(c *certificate.Certificate) { c.Generator.Workers = 2 },
		"in all runs: target: http://127.0.0.1:8080 in A, http://b in B":         func(c *certificate.Certificate) { c.Environment.Target = "http://b" },
		"in all runs: generator host: synthetic in A, big in B":                  func(c *certificate.Certificate) { c.Environment.Host.Name = "big" },
		"in all runs: generator CPU: 2 x none in A, 8 x none in B":               func(c *certificate.Certificate) { c.Environment.Host.CPUs = 8 },
		"host: service and database in A, nothing else in B":                     func(c *certificate.Certificate) { c.Environment.CoLocation = nil },
		"thresholds: thresholds.json 111111111111 in A, thresholds.json 99 in B": func(c *certificate.Certificate) { c.Environment.Thresholds.SHA256 = "sha256:99" },
		"scripts: scenarios/synthetic.js 222222222222 in A,":                     func(c *certificate.Certificate) { c.Environment.Scripts = nil },
		"assay: v0.0.0 synthetic in A, v0.0.0 synthetic (changed sources) in B":  func(c *certificate.Certificate) { c.Environment.Tool.Dirty = true },
		"database: mysql 8.4.0 in A, unknown in B":                               func(c *certificate.Certificate) { c.Environment.Database = nil },
		`database sync_binlog: "1" in A, "0" in B`: func(c *certificate.Certificate) {
			d := *c.Environment.Database
			d.Variables = map[string]string{"sync_binlog": "0"}
			c.Environment.Database = &d
		},
		"seeds differ within 2 of 2 pairs": func(c *certificate.Certificate) { c.Environment.Seed = 7 },
		"runs/a/00 and runs/b/01 ran at the same time": func(c *certificate.Certificate) {
			c.Window.Start = c.Window.Start.Add(-119 * time.Second)
		},
	} {
		a, b := comparetest.Groups("ABAB", 1)
		c := compared(t, a, edit(b, func(_ int, c *certificate.Certificate) { change(c) }), tolerance)
		has(t, c, want)
		if !c.Pairing.Paired {
			t.Errorf("%s: %s", want, c.Pairing.Detail)
		}
	}
	// Each pair may have its own seed; unpaired runs must all have the same.
	a, b := comparetest.Groups("ABBA", 1)
	seeds := func(i int, c *certificate.Certificate) { c.Environment.Seed = uint64(i) }
	hasNot(t, compared(t, edit(a, seeds), edit(b, seeds), tolerance), "seeds differ")
	has(t, compared(t, edit(a, seeds), edit(b, seeds), Options{Tolerance: 0.03, Unpaired: true}), "seeds differ between the runs")
}
