package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"assay/harness/foreign"
	"assay/harness/hint"
	"assay/harness/spec"
)

// maxThresholds bounds the file of thresholds in a record, bytes.
const maxThresholds = 16 << 20

// Thresholds keeps the thresholds file that the plan is made from, byte by byte, so that a
// run can only be judged by SLOs that a file asks for.
func (w *Writer) Thresholds(text []byte) error { return WriteFile(w.path(thresholdsFile), text) }

// checkAsked says why the profile of a plan is not what the thresholds file in the evidence
// asks for. A plan without the digest of
// such a file was made by a program.
func (p Plan) checkAsked(evidence string) error {
	if p.Thresholds.SHA256 == "" {
		return nil
	}
	if err := p.checkThresholds(filepath.Join(evidence, thresholdsFile)); err != nil {
		return hint.With(fmt.Errorf("%s: %w", planFile, err), hint.Of(ErrChanged))
	}
	return nil
}

func (p Plan) checkThresholds(path string) error {
	text, err := foreign.ReadFile(path, maxThresholds)
	if err != nil {
		return fmt.Errorf("the thresholds that it is made from cannot be read: %w", err)
	}
	if sum := sha256.Sum256(text); p.Thresholds.SHA256 != "sha256:"+hex.EncodeToString(sum[:]) {
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
	if asked, err = p.overridden(asked); err != nil {
		return err
	}
	flows, want := p.Profile.PerFlow(), asked.PerFlow()
	if len(flows) != len(want) {
		return fmt.Errorf("it has %d flows, and %s asks for %d", len(flows), thresholdsFile, len(want))
	}
	if len(p.Profile.Flows) > 0 { // SLOs of the run as a whole
		flows, want = append(flows, p.Profile), append(want, asked)
	}
	for i, is := range flows {
		if what := p.differsFrom(is, want[i]); what != "" {
			return fmt.Errorf("%s is not what %s asks for", spec.NameOf(is.Flow, what), thresholdsFile)
		}
	}
	return nil
}

// certifies reports whether the plan is of assay certify, which changes no more of a profile
// than this. Trials and steps, which certify nothing, and say so, have shorter loads, in which
// not each SLO can be judged, or not on the basis that the file declares.
func (p Plan) certifies() bool {
	for key := range maps.Keys(p.Overrides) {
		if key != overrideRate && key != overrideHold {
			return p.Scope == spec.ScopeCertificate
		}
	}
	return true
}

// Overrides that assay certify records.
const overrideRate, overrideHold = "rate", "hold"

// overridden is the profile with the command line's changes.
func (p Plan) overridden(asked spec.Profile) (spec.Profile, error) {
	if !p.certifies() {
		return asked, nil
	}
	if text, changed := p.Overrides[overrideRate]; changed {
		rate, err := strconv.ParseFloat(text, 64)
		if err == nil {
			asked, err = asked.WithRate(rate)
		}
		if err != nil {
			return asked, err
		}
	}
	if text, changed := p.Overrides[overrideHold]; changed {
		hold, err := time.ParseDuration(text)
		if err == nil {
			asked, err = asked.WithHold(hold)
		}
		if err != nil {
			return asked, err
		}
	}
	return asked, nil
}

// differsFrom names what is other than in the file; empty: nothing that decides.
func (p Plan) differsFrom(is, asked spec.Profile) string {
	switch {
	case !same(is.Rules, asked.Rules):
		return "rules"
	case is.Timeout != asked.Timeout || is.Think != asked.Think:
		return "the timeout"
	case is.Scenario != asked.Scenario || is.Flow != asked.Flow:
		return "the scenario"
	case p.certifies() && !same(is.Load, asked.Load):
		return "the load"
	}
	if s := p.without(is.SLOs, asked.SLOs); s != nil {
		return "the SLO " + s.MetricText() + " " + s.Expression
	}
	if s := p.without(asked.SLOs, is.SLOs); s != nil && p.certifies() {
		return "the absence of the SLO " + s.MetricText() + " " + s.Expression
	}
	return ""
}

// without is the first SLO that others are without; nil: there is none.
func (p Plan) without(all, others []spec.SLO) *spec.SLO {
	for i, s := range all {
		if !slices.ContainsFunc(others, func(o spec.SLO) bool { return o.ID() == s.ID() && (o.Basis == s.Basis || !p.certifies()) }) {
			return &all[i]
		}
	}
	return nil
}

// same reports whether two values are stored in the same way.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
