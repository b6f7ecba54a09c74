//go:build live

package project

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/forecast"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/project/model"
	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/route"
	"assay.dev/assay/internal/project/model/traffic"
	"assay.dev/assay/internal/spec"
)

// observed draws requests of some endpoints: few or many, with statuses and latencies of all
// kinds, within up to some hours.
func observed(t *rapid.T) model.Observed {
	type endpoint struct {
		method         accesslog.Method
		path           string
		weight, failed float64
		latency        float64 // ms; below 0: unknown
	}
	segment := rapid.OneOf(
		rapid.SampledFrom([]string{"api", "v1", "customer-accounts", "preferences", "orders", "users", "", "7", "app.js", "wilma.flintstone", "%41"}),
		rapid.StringMatching("[A-Za-z0-9._~:-]{1,48}"),
	)
	all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) endpoint {
		return endpoint{
			accesslog.Method(rapid.IntRange(0, accesslog.Methods-1).Draw(t, "method")),
			"/" + strings.Join(rapid.SliceOfN(segment, 1, 5).Draw(t, "segments"), "/"),
			math.Pow(10, rapid.Float64Range(-3, 0).Draw(t, "log10 weight")),
			rapid.SampledFrom([]float64{0, 0, 0.01, 0.4, 0.6, 1}).Draw(t, "share that fails"),
			rapid.SampledFrom([]float64{-1, 0, 0.01, 20, 3000, 700_000, 86_400_000}).Draw(t, "latency, ms"),
		}
	}), 1, 12).Draw(t, "endpoints")
	seconds := rapid.IntRange(1, 6*3600).Draw(t, "seconds")
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	steps := rapid.SliceOfN(rapid.IntRange(0, 400), 1, 6).Draw(t, "requests of each step")
	const start = 1_716_041_520
	tally := traffic.New(traffic.Options{})
	total := 0.0
	for _, e := range all {
		total += e.weight
	}
	for i, n := range steps {
		for range n {
			at := random.Float64() * total
			of := all[0]
			for _, e := range all {
				if of = e; at < e.weight {
					break
				}
				at -= e.weight
			}
			status := 200
			if random.Float64() < of.failed {
				status = []int{0, 404, 500, 503}[random.IntN(4)]
			}
			second := (float64(i) + random.Float64()) * float64(seconds) / float64(len(steps))
			tally.Add(&traffic.Request{
				At: int64((start + second) * 1e6), Latency: int64(of.latency * 1000), Status: status,
				Shape: route.AppendShape(nil, byte(of.method), []byte(of.path)), PathKey: xxhash.Sum64String(of.path), TargetKey: random.Uint64N(50),
			})
		}
	}
	from, to, outside := model.WindowOf(tally.Minutes())
	return model.Observed{Tally: tally, From: from, To: to, Outside: outside}
}

// What is proposed is a profile that assay certify takes, whatever a log has, at any scale.
func TestProposedFilesAreValid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		scale := math.Pow(10, rapid.Float64Range(-9, 9).Draw(rt, "log10 scale"))
		d, err := model.Propose(observed(rt), model.Options{Profile: "match-day", Scale: scale, Zone: time.UTC})
		if errors.Is(err, model.ErrNoRequests) || err != nil && strings.Contains(hint.Of(err), "smaller scale") {
			rt.Skip(err)
		}
		if err != nil {
			rt.Fatal(err)
		}
		files, err := ProposedFiles(d)
		if err != nil {
			rt.Fatalf("%v\n%+v", err, d)
		}
		file, err := spec.Decode("thresholds.json", files["thresholds.json"])
		if err != nil {
			rt.Fatal(err)
		}
		p := file.Profiles["match-day"]
		for _, f := range p.Flows {
			if len(files[f.Scenario]) == 0 {
				rt.Errorf("%s has no script %s", f.Name, f.Scenario)
			}
			noted := slices.ContainsFunc(d.Notes, func(n string) bool {
				return strings.HasPrefix(n, f.Name+" has ") && strings.Contains(n, "no run can pass")
			})
			if !noted && !decidedStages(rt, p.Alone(f)) {
				rt.Fatalf("a judged stage of %s cannot decide its SLOs, and no note says so: %+v", f.Name, f)
			}
		}
	})
}

// decidedStages reports whether the preflight's forecast is that each judged stage of a flow
// decides each of its SLOs, as if it were the only one.
func decidedStages(t *rapid.T, p spec.Profile) bool {
	for i, s := range p.Flows[0].Load.Stages {
		if !s.Judge {
			continue
		}
		one := p.WithFlows(func(f *spec.Flow) {
			f.Load.Stages = slices.Clone(f.Load.Stages)
			for k := range f.Load.Stages {
				f.Load.Stages[k].Judge = k == i
			}
		})
		pl, err := plan.New(one, spec.MaxWorkers, 1)
		if err != nil && strings.Contains(err.Error(), "VUs per worker") {
			t.Skip(err) // more than a machine has: another draw
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range forecast.Each(one, pl, one.Scope(), nil) {
			if !f.Decides {
				return false
			}
		}
	}
	return true
}

// A document whose profile would be refused is an error of one line, and nothing is written.
func TestNotValid(t *testing.T) {
	d, _ := proposed(t)
	d.Flows[0].Stages[1] = 2 * spec.MaxRate
	files, err := ProposedFiles(d)
	if err == nil || files != nil {
		t.Fatalf("%d files, %v", len(files), err)
	}
	text := err.Error()
	if !strings.HasPrefix(text, "the proposed profile is not valid: thresholds.json:") || !strings.Contains(text, "profiles.match-day.flows."+d.Flows[0].Name) || strings.Contains(text, "\n") {
		t.Error(text)
	}
	if next := hint.Of(err); !strings.HasPrefix(next, "nothing was written") {
		t.Error(next)
	}
}
