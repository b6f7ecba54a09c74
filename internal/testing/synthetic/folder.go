package synthetic

import (
	"cmp"
	"encoding/json"
	"fmt"

	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// Seal writes the run into a folder, like a real run.
func (c *Case) Seal(dir string) error {
	w, err := c.Create(dir)
	if err != nil {
		return err
	}
	for _, f := range c.Frames {
		if err := w.Frame(f); err != nil {
			return err
		}
	}
	var acks, rows []ledger.Entry
	for i := range c.Run.Ledger.Acknowledged {
		at := T0.UnixMilli() + i
		hash := ledger.HashOf(c.Run.Plan.Run, fmt.Sprint(i))
		acks, rows = append(acks, ledger.Entry{Hash: hash, Millis: at}), append(rows, ledger.Entry{Hash: hash, Millis: at + i%100})
	}
	persisted := func(add func(ledger.Entry) error) error {
		for _, e := range rows {
			if err := add(e); err != nil {
				return err
			}
		}
		return nil
	}
	return cmp.Or(w.Acknowledged("worker/0", 1, acks), w.Persisted(persisted), w.Environment(c.Run.Environment), w.Seal(c.Run.Facts))
}

// Create makes the folder of the run, with a thresholds file that asks for its profile.
func (c *Case) Create(dir string) (*record.Writer, error) {
	asked, err := thresholds(c.Run.Plan.Profile)
	if err != nil {
		return nil, err
	}
	c.Run.Plan.Thresholds.SHA256 = asked.Digest
	w, err := record.Create(dir, c.Run.Plan)
	if err != nil {
		return nil, err
	}
	return w, w.Thresholds(asked.Text)
}

// thresholds is a file that asks for a profile with one flow, whose load has phases, and which
// relaxes no rule but generator-drops.
func thresholds(p spec.Profile) (spec.File, error) {
	type object map[string]any
	f, slos := p.Flows[0], map[string][]any{}
	for _, s := range f.SLOs {
		condition := any(s.Expression)
		if s.Basis != "" {
			condition = object{"threshold": s.Expression, "basis": s.Basis}
		}
		slos[s.MetricText()] = append(slos[s.MetricText()], condition)
	}
	l := f.Load
	profile := object{
		"scenario": f.Scenario, "timeout": f.Timeout.String(), "slo": slos,
		"load": object{
			"unit": l.Unit, "target": l.Target, "warmup": l.Warmup.String(), "baseline": object{"rate": l.Baseline.Rate, "for": l.Baseline.For.String()},
			"ramp": l.Ramp.String(), "hold": l.Hold.String(), "cooldown": l.Cooldown.String(),
		},
	}
	if p.Marking == (spec.Marking{}) {
		profile["marking"] = false
	}
	if p.Rules.GeneratorDrops != nil {
		profile["rules"] = object{"generator-drops": *p.Rules.GeneratorDrops}
	}
	if f.Ledger != nil {
		profile["ledger"] = object{"persisted": f.Ledger.Persisted}
	}
	text, err := json.Marshal(object{"version": 1, "profiles": object{p.Name: profile}})
	if err != nil {
		return spec.File{}, err
	}
	return spec.Decode("thresholds.json", text)
}
