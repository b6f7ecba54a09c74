package plan_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

func profiles(t *testing.T) map[string]spec.Profile {
	t.Helper()
	data, err := os.ReadFile("../../thresholds.json")
	if err != nil {
		t.Fatal(err)
	}
	f, err := spec.Decode("thresholds.json", data)
	if err != nil {
		t.Fatal(err)
	}
	return f.Profiles
}

// The plan of every profile of thresholds.json agrees with its profile, also once it was
// written down, for fleets of equal and of different workers.
func TestPlansAgreeWithTheirProfiles(t *testing.T) {
	t.Parallel()
	all := profiles(t)
	all["closed"] = all["payment"].WithThreads(30, time.Second, 5*time.Second)
	for name, p := range all {
		p.Name = name
		if p.Target() > 10_000 {
			continue // too much for one worker
		}
		for _, weights := range [][]int{{1}, {7}, {1, 1}, {1, 2, 3, 1, 8}} {
			pl, err := plan.NewWeighted(p, weights, 1<<60+7)
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(pl)
			if err != nil {
				t.Fatal(err)
			}
			var again plan.Plan
			if err := json.Unmarshal(data, &again); err != nil {
				t.Fatal(err)
			}
			if err := again.Check(p); err != nil {
				t.Errorf("%s, workers %v: %v", name, weights, err)
			}
		}
	}
}

// A plan with one value changed is not that of its profile.
func TestChangedPlansDoNotAgree(t *testing.T) {
	t.Parallel()
	all := profiles(t)
	for _, c := range []struct {
		profile string
		change  func(*plan.Plan)
		want    string
	}{
		{"payment", func(p *plan.Plan) { p.Judged[0].End = 1e18 }, "judged[0].end_ns"},
		{"payment", func(p *plan.Plan) { p.Judged[0].End = 0 }, "judged[0].end_ns"},
		{"payment", func(p *plan.Plan) { p.Judged[0].Start = -1e18 }, "judged[0].start_ns"},
		{"payment", func(p *plan.Plan) { p.Judged = nil }, "judged"},
		{"payment", func(p *plan.Plan) { p.Judged = append(p.Judged, p.Judged[0]) }, "judged"},
		{"payment", func(p *plan.Plan) { p.Stages = nil }, "stages"},
		{"payment", func(p *plan.Plan) { p.Stages[1].Name = "hold" }, "stages[1].name"},
		{"payment", func(p *plan.Plan) { p.Stages[1].Duration = -1 }, "stages[1].duration_ns"},
		{"payment", func(p *plan.Plan) { p.Stages[1].Arrivals = 1 << 60 }, "stages[1].arrivals"},
		{"payment", func(p *plan.Plan) { p.Stages[1].To = 1e300 }, "stages[1].to"},
		{"payment", func(p *plan.Plan) { p.Baseline = nil }, "baseline"},
		{"payment", func(p *plan.Plan) { p.Target *= 10 }, "target"},
		{"payment", func(p *plan.Plan) { p.Timeout = 1 }, "timeout_ns"},
		{"payment", func(p *plan.Plan) { p.Looks = []time.Duration{1, -1} }, "looks_ns"},
		{"payment", func(p *plan.Plan) { p.Closed = true }, "closed"},
		{"payment", func(p *plan.Plan) { p.Workers = nil }, "0 workers"},
		{"payment", func(p *plan.Plan) { p.Workers = make([]plan.Worker, 5000) }, "5000 workers"},
		{"payment", func(p *plan.Plan) { p.Workers[0].VUs = -1 }, "workers[0].vus"},
		{"payment", func(p *plan.Plan) { p.Workers[0].Share = 2 }, "workers[0].share"},
		{"payment", func(p *plan.Plan) { p.Workers[1].Segment = "1/3:1" }, "segment"},
		{"payment", func(p *plan.Plan) { p.Workers[0].Segment = "0:99999999999999999999/3" }, "segment"},
		{"payment", func(p *plan.Plan) { p.Sequence = "0,1" }, "sequence"},
		{"event", func(p *plan.Plan) { p.Flows = p.Flows[:1] }, "flows"},
		{"event", func(p *plan.Plan) { p.Flows[0].Judged[0].End = 1e18 }, "flows[0].judged[0].end_ns"},
		{"event", func(p *plan.Plan) { p.Flows[0].Name = "other" }, "flows[0].name"},
	} {
		p := all[c.profile]
		p.Name = c.profile
		pl, err := plan.New(p, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		c.change(&pl)
		if err := pl.Check(p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}
