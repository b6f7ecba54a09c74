// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/spec"
)

// maxThresholds bounds the file of thresholds in a record, bytes.
const maxThresholds = 16 << 20

// Thresholds keeps the thresholds file that the plan is made from, byte by byte, so that a
// run can only be judged by SLOs that a file asks for.
func (w *Writer) Thresholds(text []byte) error { return WriteFile(w.path(thresholdsFile), text) }

// checkAsked says why the profile of a plan is not what the thresholds file in the evidence
// asks for, or which SLOs of the file the plan of a trial leaves out. A plan without the digest
// of such a file was made by a program.
func (p Plan) checkAsked(evidence string) (leftOut []string, err error) {
	if p.Thresholds.SHA256 == "" {
		return nil, nil
	}
	if leftOut, err = p.checkThresholds(filepath.Join(evidence, thresholdsFile)); err != nil {
		return nil, fmt.Errorf("%s: %w", planFile, err)
	}
	return leftOut, nil
}

func (p Plan) checkThresholds(path string) (leftOut []string, err error) {
	text, err := foreign.ReadFile(path, maxThresholds)
	if err != nil {
		return nil, fmt.Errorf("the thresholds that it is made from cannot be read: %w", err)
	}
	if p.Thresholds.SHA256 != spec.DigestOf(text) {
		return nil, fmt.Errorf("it is made from other thresholds than those in %s", thresholdsFile)
	}
	file, err := spec.Decode(thresholdsFile, text)
	if err != nil {
		return nil, err
	}
	asked, err := file.Profile(p.Profile.Name)
	if err != nil {
		return nil, err
	}
	if p.Scope != spec.ScopeTrial { // which changes more than the command line of assay certify
		override, err := spec.ReadOverride(p.Overrides)
		if err == nil {
			asked, err = override.Apply(asked)
		}
		if err != nil {
			return nil, err
		}
		asked = asked.InScope(p.Scope)
	}
	flows, want := p.Profile.Flows, asked.Flows
	if p.Profile.Named() != asked.Named() || len(flows) != len(want) {
		return nil, fmt.Errorf("it has %d flows, and %s asks for %d", len(flows), thresholdsFile, len(want))
	}
	compare := func(flow string, is, asked spec.Profile) error {
		if what := p.differs(is, asked); what != "" {
			return fmt.Errorf("%s is not what %s asks for", spec.NameOf(flow, what), thresholdsFile)
		}
		for _, s := range without(asked.WholeSLOs(), is.WholeSLOs(), true) {
			if name := spec.NameOf(flow, s.MetricText()+" "+s.Expression); !slices.Contains(leftOut, name) {
				leftOut = append(leftOut, name)
			}
		}
		return nil
	}
	for i, f := range flows {
		if err := compare(f.Name, p.Profile.Alone(f), asked.Alone(want[i])); err != nil {
			return nil, err
		}
	}
	if err := compare("", p.Profile, asked); err != nil { // what the flows have in common
		return nil, err
	}
	return leftOut, nil
}

// ofTrials are the keys of a profile that trials leave as they are. Their load is another,
// and so short that not each SLO can be judged, or not on the basis that the file declares.
var ofTrials = []string{"name", "scenario", "rules", "timeout_ns", "think_ns"}

// differs names what of a profile is other than in the file; empty: nothing.
func (p Plan) differs(is, asked spec.Profile) string {
	trial := p.Scope == spec.ScopeTrial
	if all := without(is.WholeSLOs(), asked.WholeSLOs(), trial); len(all) > 0 {
		return "the SLO " + all[0].MetricText() + " " + all[0].Expression
	}
	if all := without(asked.WholeSLOs(), is.WholeSLOs(), trial); len(all) > 0 && !trial {
		return "the absence of the SLO " + all[0].MetricText() + " " + all[0].Expression
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

// without are the SLOs that others are without, on any basis if it may be another.
func without(all, others []spec.SLO, anyBasis bool) (missing []spec.SLO) {
	for _, s := range all {
		if !slices.ContainsFunc(others, func(o spec.SLO) bool { return o.ID() == s.ID() && (o.Basis == s.Basis || anyBasis) }) {
			missing = append(missing, s)
		}
	}
	return missing
}
