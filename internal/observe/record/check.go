// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// Schemas of the documents.
const (
	planSchema        = "assay/plan/v1"
	environmentSchema = "assay/environment/v1"
	factsSchema       = "assay/facts/v1"
	manifestSchema    = "assay/manifest/v1"
)

func checkSchema(is, want string) error {
	if is != want {
		return fmt.Errorf("schema is %.40q, not %s", is, want)
	}
	return nil
}

// check returns an error for a plan that no run could have had. What else a record holds is
// bounded by its plan.
func (p Plan) check() error {
	switch {
	case p.Schema != planSchema:
		return checkSchema(p.Schema, planSchema)
	case p.Run == "" || len(p.Run) > 255:
		return fmt.Errorf("run is %.40q", p.Run)
	case p.Scope != spec.ScopeSmoke && p.Scope != spec.ScopeCertificate && p.Scope != spec.ScopeTrial:
		return fmt.Errorf("scope is %.40q, not %s, %s or %s", p.Scope, spec.ScopeSmoke, spec.ScopeCertificate, spec.ScopeTrial)
	}
	if err := checkSizes("plan", reflect.ValueOf(p)); err != nil {
		return err
	}
	if err := p.Load.Check(p.Profile); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	return nil
}

// check returns an error for an environment that no run could have had.
func (e Environment) check() error {
	if err := checkSchema(e.Schema, environmentSchema); err != nil {
		return err
	}
	if err := checkSizes("environment", reflect.ValueOf(e)); err != nil {
		return err
	}
	for i, name := range e.CoLocation {
		if name != metric.SourceService && name != metric.SourceDatabase || slices.Contains(e.CoLocation[:i], name) {
			return fmt.Errorf("co_location[%d] is %.40q: want %s and %s, each once", i, name, metric.SourceService, metric.SourceDatabase)
		}
	}
	sources := map[string]bool{}
	for i, w := range e.Workers {
		if w.Share < 0 || w.Share > 1 || sources[w.Source] {
			return fmt.Errorf("workers[%d]: share %g is out of range, or %.40q is not the only one", i, w.Share, w.Source)
		}
		sources[w.Source] = true
	}
	return nil
}

// check returns an error for facts that a run of the plan could not have had.
func (f Facts) check(p Plan) error {
	if err := checkSchema(f.Schema, factsSchema); err != nil {
		return err
	}
	if err := checkSizes("facts", reflect.ValueOf(f)); err != nil {
		return err
	}
	if year := f.T0.Year(); year < 2000 || year > 2200 || f.T0.Nanosecond() != 0 {
		return fmt.Errorf("t0 is %v, no whole second from 2000 to 2200", f.T0)
	}
	first, last := f.T0.Add(-around), f.T0.Add(maxRun)
	within := func(t time.Time) bool { return t.IsZero() || !t.Before(first) && !t.After(last) }
	switch {
	case f.Ended.IsZero() || !within(f.Ended):
		return fmt.Errorf("ended is %v, and t0 is %v", f.Ended, f.T0)
	case f.Issued.IsZero() || !within(f.Issued):
		return fmt.Errorf("issued is %v, and t0 is %v", f.Issued, f.T0)
	case f.Look < 0 || f.Look > len(p.Load.Looks):
		return fmt.Errorf("look is %d of %d", f.Look, len(p.Load.Looks))
	case f.Attempts < 0:
		return fmt.Errorf("attempts is %d", f.Attempts)
	case len(f.Workers) > len(p.Load.Workers):
		return fmt.Errorf("%d workers, %d were planned", len(f.Workers), len(p.Load.Workers))
	case len(f.Workers) < len(p.Load.Workers) && p.Thresholds.SHA256 != "": // else no certificate is made
		return fmt.Errorf("it says how %d of %d workers ended", len(f.Workers), len(p.Load.Workers))
	case len(f.Faults) > len(p.Profile.Faults), len(f.Invariants) > len(p.Profile.Invariants), len(f.Stubs) > len(p.Profile.Stubs):
		return errors.New("more faults, invariants or stubs than the profile has")
	case !slices.Contains([]string{StateOK, StateAbsent, StateFailed}, f.Ledger.State):
		return fmt.Errorf("ledger.state is %.40q", f.Ledger.State)
	case slices.ContainsFunc(f.Ledger.ZoneSeconds, func(s int64) bool { return s < -maxZoneSeconds || s > maxZoneSeconds }):
		return errors.New("ledger.zone_seconds has more than a day")
	}
	if err := f.Earlier.check(f.Attempts); err != nil {
		return err
	}
	for i, w := range f.Workers {
		if w.Source != metric.WorkerSource(i) {
			return fmt.Errorf("workers[%d] is %.40q", i, w.Source)
		}
	}
	for i, fault := range f.Faults {
		if !within(fault.At) || !within(fault.Done) || !within(fault.Ended) || !within(fault.EndDone) {
			return fmt.Errorf("faults[%d] is not at the time of the run", i)
		}
	}
	for i, v := range f.Invariants {
		if v.Rows < 0 || v.Rows > MaxInvariantRows {
			return fmt.Errorf("invariants[%d]: %d rows", i, v.Rows)
		}
	}
	for i, s := range f.Stubs {
		for _, e := range s.Endpoints {
			for _, n := range e.Calls {
				if n < 0 || e.Open < 0 {
					return fmt.Errorf("stubs[%d]: a count is negative", i)
				}
			}
		}
		if l := s.Ledger; l != nil && (l.Calls < 0 || l.Repeated < 0 || l.Forgotten < 0) {
			return fmt.Errorf("stubs[%d]: a count is negative", i)
		}
	}
	return f.checkAbort(p.Profile.Abort, first, last)
}

const maxZoneSeconds = 24 * 60 * 60

func (f Facts) checkAbort(conditions []spec.Abort, first, last time.Time) error {
	a := f.Aborted
	switch {
	case a == nil:
		return nil
	case a.From >= a.To || a.From < first.Unix() || a.To > last.Unix():
		return fmt.Errorf("aborted is from %d to %d, not within the run", a.From, a.To)
	case a.Limit < 0 || a.Occurred < 0 || a.Total < a.Occurred:
		return errors.New("aborted: the numbers contradict each other")
	case !slices.ContainsFunc(conditions, a.of):
		return fmt.Errorf("aborted: %.100q %.100q is no condition of the profile", a.Metric, a.Expression)
	}
	return nil
}

// of reports whether the abort is by a condition.
func (a Abort) of(c spec.Abort) bool {
	unit, protects := c.Unit(), c.Protects()
	if c.OfLoad() {
		unit, protects = "", ""
	}
	return a.Metric == c.Metric && a.Expression == c.Expression && a.Limit == c.Limit && a.Unit == unit && a.Protects == protects
}

// seconds are those to which frames of the run may belong, and in which its transactions
// may have been acknowledged and persisted.
func (r Run) seconds() Span {
	end := r.Facts.T0.Add(r.Plan.Load.Duration() + r.Plan.Load.Longest())
	if r.Facts.Ended.After(end) {
		end = r.Facts.Ended
	}
	return Span{From: r.Facts.T0.Add(-around).Unix(), To: end.Add(around).Unix()}
}

const (
	// maxList is the number of elements of a list in a document, and of the entries of an
	// object whose keys are data.
	maxList = 1000
	// maxText is the length of a text in a document, in bytes.
	maxText = 4096
	// MaxBuilds is the number of builds of the service.
	MaxBuilds = 16
)

// Limits of what may be larger in a real run than other lists and texts, by its key.
var (
	longLists = map[string]int{
		"observed":    100_000, // readings, one in each second of a day
		"stages":      25_000,  // those of a load, and what follows from them
		"judged":      25_000,
		"looks_ns":    25_000,
		"instruments": 10_000,
		"limitations": maxLimitations + 1,
		"builds":      MaxBuilds,
		"co_location": 2,
	}
	longTexts = map[string]int{
		"sequence": 64 << 10, // all segments of the workers
		// What the thresholds file says is no longer than itself.
		"description": spec.MaxBytes, "sql": spec.MaxBytes, "env": spec.MaxBytes, "run": spec.MaxBytes, "body": spec.MaxBytes,
	}
)

// checkSizes returns an error for a list or a text of a document that is larger than that of
// any real run. What is judged, printed and certified is as large as they are.
func checkSizes(key string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return checkSizes(key, v.Elem())
		}
	case reflect.String:
		if limit := cmp.Or(longTexts[key], maxText); v.Len() > limit {
			return fmt.Errorf("%s has a text of %d bytes, the limit is %d", key, v.Len(), limit)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 { // JSON
			return checkSizes(key, reflect.ValueOf(string(v.Bytes())))
		}
		if err := checkLength(key, v); err != nil {
			return err
		}
		for _, element := range v.Seq2() {
			if err := checkSizes(key, element); err != nil {
				return err
			}
		}
	case reflect.Map:
		if err := checkLength(key, v); err != nil {
			return err
		}
		for name, value := range v.Seq2() {
			if err := cmp.Or(checkSizes(key, name), checkSizes(key, value)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return nil
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if err := checkSizes(cmp.Or(name, key), v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkLength(key string, v reflect.Value) error {
	if limit := cmp.Or(longLists[key], maxList); v.Len() > limit {
		return fmt.Errorf("%s has %d elements, the limit is %d", key, v.Len(), limit)
	}
	return nil
}
