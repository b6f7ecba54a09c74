package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/testing/goldentest"
	"assay.dev/assay/internal/testing/schematest"
)

var parameters = Parameters{
	ID: "search-20261120T231500Z-payment-1f3a", Profile: "payment", Unit: "tps", Target: "http://127.0.0.1:18080",
	Seconds: 60, Workers: 1, Seed: 7, Goal: goal, Range: Range{From: 100, Floor: 1, Max: 500},
}

// probes makes trials with the results of a function of the rate and the number of
// earlier trials at it.
func probes(of func(rate float64, n int) Result) func(context.Context, float64, int) (Probe, error) {
	all, at := 0, map[float64]int{}
	return func(_ context.Context, rate float64, times int) (Probe, error) {
		p := Probe{
			Rate: rate, Run: fmt.Sprintf("run-%02d", all+1), Seed: 7 + uint64(all), Judged: 60 * float64(times), Seconds: 15 + 60*float64(times),
			Started: time.Date(2026, 11, 20, 23, 15, 0, 0, time.UTC).Add(time.Duration(all) * 75 * time.Second),
			Result:  of(rate, at[rate]),
		}
		p.Folder = p.Run
		switch p.Result {
		case Clear:
			p.Verdict, p.Claim = "PASS", "payment sustained it."
		case Broken:
			observed, limit := 347.6, 250.0
			p.Verdict, p.Claim = "FAIL", "payment did not sustain it."
			p.Decisive = &Decisive{Kind: "slo", Name: "transaction_duration p(95)<250", Observed: &observed, Limit: &limit, Unit: "ms"}
		case Close:
			observed, limit, allowed := 262.0, 250.0, int64(rate*p.Judged/20)
			violations := allowed * int64(110+all%5) / 100
			p.Verdict, p.Claim = "INCONCLUSIVE", "This run does not show whether payment sustains it: too close to the limit to call."
			p.Decisive = &Decisive{
				Kind: "slo", Name: "transaction_duration p(95)<250", Observed: &observed, Limit: &limit, Unit: "ms",
				Violations: &violations, Allowed: &allowed,
			}
		case Scarce:
			p.Verdict, p.Claim = "INCONCLUSIVE", "This run does not show whether payment sustains it: 60 samples, of which 3 may violate it."
		case Starved:
			p.Verdict, p.Claim = "INVALID", "payment cannot be judged: the generator lost 1602 of 2000 arrivals."
			p.Decisive = &Decisive{Kind: "rule", Name: "generator-drops", Detail: "the generator lost 1602 of 2000 arrivals"}
		case Void:
			p.Verdict, p.Claim = "INVALID", "payment cannot be judged: no data."
		case Refused:
			p.Folder, p.Claim = "", "the machine has too little memory"
		}
		all++
		at[rate]++
		return p, nil
	}
}

func confirm(rate float64) string {
	return "assay certify payment --rate " + quantity.Exact(rate) + " --hold 10m"
}

// checked is a Keep that validates each document against the schema.
func checked(t *testing.T, kept *[]Document) func(Document) error {
	schema := schematest.Compile(t, schemaFile)
	return func(d Document) error {
		data, err := document.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		schematest.Validate(t, schema, data)
		*kept = append(*kept, d)
		return nil
	}
}

const schemaFile = "search.schema.json"

func TestSchema(t *testing.T) {
	schematest.Check(t, schemaFile, Document{}, schematest.Header{
		ID: SchemaName, Title: "Assay capacity search",
		Description: `The highest rate at which a profile meets its SLOs, between two bounds. It is not a certificate. Rates are arrivals per second; null is "not known".`,
	}, *goldentest.Update)
}

// Golden files of each end of a search: search.json and the terminal's summary.
func TestResults(t *testing.T) {
	for name, of := range map[string]func(float64, int) Result{
		"found": below(150), "at-max": below(1000), "missed": below(0.5), "generator": over(300, Starved, below(1000)),
		"refused":   over(0, Refused, nil),
		"close":     over(180, Broken, over(150, Close, below(150))),
		"undecided": over(300, Broken, over(0, Close, nil)),
		"scarce":    func(rate float64, _ int) Result { return map[bool]Result{true: Scarce, false: Broken}[rate < 50] },
		"invalid":   over(200, Void, below(1000)),
		"unmade":    over(80, Broken, over(55, Starved, below(55))),
	} {
		t.Run(name, func(t *testing.T) {
			var kept []Document
			d, err := Run(t.Context(), parameters, Loop{Trial: probes(of), Keep: checked(t, &kept), Confirm: confirm})
			if err != nil {
				t.Fatal(err)
			}
			if len(kept) != len(d.Probes) || kept[len(kept)-1].State != d.State {
				t.Errorf("saved %d times after %d trials", len(kept), len(d.Probes))
			}
			for i, k := range kept[:len(kept)-1] {
				if len(k.Probes) != i+1 || k.State != "running" {
					t.Errorf("after %d trials it was %s with %d", i+1, k.State, len(k.Probes))
				}
			}
			data, err := document.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			goldentest.Compare(t, name+".json", data)
			var text bytes.Buffer
			if err := Summary(&text, d, "runs/search/search.json"); err != nil {
				t.Fatal(err)
			}
			goldentest.Compare(t, name+".txt", text.Bytes())
		})
	}
}

// A search that is stopped early saves its trials, and the interrupted one does not
// count.
func TestStoppedEarly(t *testing.T) {
	broken := errors.New("the database is gone")
	for name, c := range map[string]struct {
		trial       int // number of the trial that does not end, from 1
		interrupted bool
		sealed      bool // its run has a record nevertheless
		state       End
		probes      int
	}{
		"interrupted before the first load": {1, true, false, Interrupted, 0},
		"interrupted during the first load": {1, true, true, Interrupted, 1},
		"interrupted before a later load":   {4, true, false, Interrupted, 3},
		"interrupted during a later load":   {4, true, true, Interrupted, 4},
		"failed before the first load":      {1, false, false, Failed, 0},
		"failed later":                      {4, false, false, Failed, 3},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			trial, n := probes(below(150)), 0
			var kept []Document
			d, err := Run(ctx, parameters, Loop{Keep: checked(t, &kept), Confirm: confirm, Trial: func(ctx context.Context, rate float64, times int) (Probe, error) {
				if n++; n < c.trial {
					return trial(ctx, rate, times)
				}
				if c.interrupted {
					cancel()
				}
				switch {
				case c.sealed:
					return trial(ctx, rate, times)
				case c.interrupted:
					return Probe{}, context.Cause(ctx)
				}
				return Probe{}, broken
			}})
			if want := map[bool]error{true: context.Canceled, false: broken}[c.interrupted]; !errors.Is(err, want) {
				t.Errorf("error %v, want %v", err, want)
			}
			if d.State != c.state || len(d.Probes) != c.probes {
				t.Errorf("%s, with %d trials", d.State, len(d.Probes))
			}
			if c.probes == 0 {
				if len(kept) > 0 {
					t.Errorf("saved %d times without a trial", len(kept))
				}
				return
			}
			last := kept[len(kept)-1]
			if last.State != c.state || len(last.Probes) != c.probes {
				t.Errorf("saved last: %s with %d trials", last.State, len(last.Probes))
			}
			counted := 0
			for _, l := range last.Loads {
				counted += l.Clear + l.Broken
			}
			if counted != c.trial-1 {
				t.Errorf("%d trials count, %d have ended", counted, c.trial-1)
			}
		})
	}
}

// The exit code says how a search ended, and whether its bounds enclose more undecided loads
// than asked for.
func TestExitCode(t *testing.T) {
	for want, all := range map[int][]func(float64, int) Result{
		0: {below(150), below(1000), over(180, Broken, over(150, Close, below(150))), over(80, Broken, over(55, Starved, below(55)))},
		1: {below(0.5)},
		3: {over(300, Starved, below(1000)), over(200, Void, below(1000))},
		4: {over(300, Broken, over(50, Close, below(50))), over(300, Broken, over(0, Close, nil)), over(0, Close, nil), over(300, Starved, over(50, Close, below(50))), over(0, Scarce, nil)},
	} {
		for i, of := range all {
			d, err := Run(t.Context(), parameters, Loop{Trial: probes(of), Keep: func(Document) error { return nil }})
			if got := d.ExitCode(); err != nil || got != want {
				t.Errorf("search %d: %v, exit code %d, want %d: %s", i, err, got, want, d.Sentence)
			}
		}
	}
}

func TestFailedSaveEndsTheSearch(t *testing.T) {
	full := errors.New("no space left on device")
	d, err := Run(t.Context(), parameters, Loop{Trial: probes(below(150)), Confirm: confirm, Keep: func(Document) error { return full }})
	if !errors.Is(err, full) || len(d.Probes) != 1 {
		t.Errorf("%v after %d trials", err, len(d.Probes))
	}
}

// The schema requires every field but "confirm", and refuses unknown fields and a
// search that certifies.
func TestSchemaIsStrict(t *testing.T) {
	var kept []Document
	d, err := Run(t.Context(), parameters, Loop{Trial: probes(below(150)), Keep: checked(t, &kept), Confirm: confirm})
	if err != nil {
		t.Fatal(err)
	}
	data, err := document.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	schema := schematest.Compile(t, schemaFile)
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	fields["certifies"] = true
	if schema.Validate(fields) == nil {
		t.Error("a search that certifies is accepted")
	}
	fields["certifies"], fields["verdict"] = false, "PASS"
	if schema.Validate(fields) == nil {
		t.Error("a search with a verdict is accepted")
	}
	delete(fields, "verdict")
	for name := range fields {
		v := fields[name]
		delete(fields, name)
		if schema.Validate(fields) == nil && name != "confirm" {
			t.Errorf("a search without %s is accepted", name)
		}
		fields[name] = v
	}
}
