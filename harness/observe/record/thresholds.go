package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"assay/harness/foreign"
	"assay/harness/spec"
)

// maxThresholds bounds the file of thresholds in a record, bytes.
const maxThresholds = 16 << 20

// Thresholds keeps the thresholds file that the plan is made from, byte by byte, so that a
// run can only be judged by SLOs that a file asks for.
func (w *Writer) Thresholds(text []byte) error { return WriteFile(w.path(thresholdsFile), text) }

// checkAsked says why the profile of a plan is not what the thresholds file in the evidence
// asks for. A plan without the digest of such a file was made by a program.
func (p Plan) checkAsked(evidence string) error {
	if p.Thresholds.SHA256 == "" {
		return nil
	}
	if err := p.checkThresholds(filepath.Join(evidence, thresholdsFile)); err != nil {
		return fmt.Errorf("%s: %w", planFile, err)
	}
	return nil
}

func (p Plan) checkThresholds(path string) error {
	text, err := foreign.ReadFile(path, maxThresholds)
	if err != nil {
		return fmt.Errorf("the thresholds that it is made from cannot be read: %w", err)
	}
	if p.Thresholds.SHA256 != spec.DigestOf(text) {
		return fmt.Errorf("it is made from other thresholds than those in %s", thresholdsFile)
	}
	file, err := spec.Decode(thresholdsFile, text)
	if err != nil {
		return err
	}
	asked, err := file.Profile(p.Profile.Name)
	if err != nil {
		return err
	}
	if p.Scope != spec.ScopeTrial { // which changes more than the command line of assay certify
		override, err := spec.ReadOverride(p.Overrides)
		if err == nil {
			asked, err = override.Apply(asked)
		}
		if err != nil {
			return err
		}
	}
	flows, want := p.Profile.PerFlow(), asked.PerFlow()
	if len(flows) != len(want) {
		return fmt.Errorf("it has %d flows, and %s asks for %d", len(flows), thresholdsFile, len(want))
	}
	for i, is := range append(flows, p.Profile) { // last, what the flows have in common
		if what := p.differs(is, append(want, asked)[i]); what != "" {
			return fmt.Errorf("%s is not what %s asks for", spec.NameOf(is.Flow, what), thresholdsFile)
		}
	}
	return nil
}

// ofTrials are the keys of a profile that trials leave as they are. Their load is another,
// and so short that not each SLO can be judged, or not on the basis that the file declares.
var ofTrials = []string{"name", "scenario", "rules", "timeout_ns", "think_ns"}

// differs names what of a profile is other than in the file; empty: nothing.
func (p Plan) differs(is, asked spec.Profile) string {
	trial := p.Scope == spec.ScopeTrial
	if s := without(is.SLOs, asked.SLOs, trial); s != nil {
		return "the SLO " + s.MetricText() + " " + s.Expression
	}
	if s := without(asked.SLOs, is.SLOs, trial); s != nil && !trial {
		return "the absence of the SLO " + s.MetricText() + " " + s.Expression
	}
	a, b := members(is), members(asked)
	keys := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(keys)
	for _, key := range keys {
		if (!trial || slices.Contains(ofTrials, key)) && !bytes.Equal(a[key], b[key]) {
			return strings.TrimSuffix(key, "_ns")
		}
	}
	return ""
}

// members are what a profile has beside its SLOs, as they are stored.
func members(p spec.Profile) (all map[string]json.RawMessage) {
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		panic(err) // a profile that was read has no number that cannot be stored
	}
	delete(all, "slos")
	return all
}

// without is the first SLO that others are without, on any basis if it may be another; nil:
// there is none.
func without(all, others []spec.SLO, anyBasis bool) *spec.SLO {
	for i, s := range all {
		if !slices.ContainsFunc(others, func(o spec.SLO) bool { return o.ID() == s.ID() && (o.Basis == s.Basis || anyBasis) }) {
			return &all[i]
		}
	}
	return nil
}
