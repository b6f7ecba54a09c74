// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/spec"
)

// Check returns an error unless this is the plan that NewWeighted makes of a profile: a
// plan that somebody else wrote down is otherwise as good as any. Its size is bounded by
// what a profile may ask for.
func (p Plan) Check(of spec.Profile) error {
	if err := of.Check(); err != nil {
		return err
	}
	if n := len(p.Workers); n < 1 || n > spec.MaxFleet {
		return fmt.Errorf("%d workers: want 1 to %d", n, spec.MaxFleet)
	}
	weights, err := p.weights()
	if err != nil {
		return err
	}
	want, err := NewWeighted(of, weights, p.Seed)
	if err != nil {
		return err
	}
	if at := difference("", reflect.ValueOf(p), reflect.ValueOf(want)); at != "" {
		return fmt.Errorf("%s is not what follows from the profile, the seed and the workers", at)
	}
	return nil
}

// maxWeight is more than the CPUs of any fleet.
const maxWeight = 1 << 30

// weights are those of the workers, by their segments of the schedule.
func (p Plan) weights() (all []int, err error) {
	if len(p.Workers) == 1 {
		return []int{1}, nil // the plan is the same for every weight of a single worker
	}
	before := 0
	for i, w := range p.Workers {
		_, end, _ := strings.Cut(w.Segment, ":")
		upTo, _, _ := strings.Cut(end, "/")
		if i == len(p.Workers)-1 { // it ends at 1, and begins where the one before it does
			_, of, _ := strings.Cut(strings.TrimSuffix(w.Segment, ":1"), "/")
			upTo = of
		}
		n, err := strconv.Atoi(upTo)
		if err != nil || n <= before || n > maxWeight {
			return nil, fmt.Errorf("workers[%d].segment %.40q is no part of the schedule after that of the worker before", i, w.Segment)
		}
		all, before = append(all, n-before), n
	}
	return all, nil
}

// difference names the first field in which two plans differ; empty: none. What was
// computed in floating point may differ by its rounding, which depends on the machine.
func difference(at string, a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			f := a.Type().Field(i)
			inner := at
			if !f.Anonymous {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				inner = strings.TrimPrefix(at+"."+name, ".")
			}
			if where := difference(inner, a.Field(i), b.Field(i)); where != "" {
				return where
			}
		}
		return ""
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if where := difference(fmt.Sprintf("%s[%d]", at, i), a.Index(i), b.Index(i)); where != "" {
				return where
			}
		}
		if a.Len() == b.Len() {
			return ""
		}
	case reflect.Pointer:
		if !a.IsNil() && !b.IsNil() {
			return difference(at, a.Elem(), b.Elem())
		}
		if a.IsNil() && b.IsNil() {
			return ""
		}
	case reflect.Float64:
		x, y := a.Float(), b.Float()
		if math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y)) {
			return ""
		}
	case reflect.Int, reflect.Int64:
		x, y := a.Int(), b.Int()
		rounded := a.Type() != reflect.TypeFor[time.Duration]() // numbers of arrivals and of VUs
		if x == y || rounded && max(x, y)-min(x, y) == 1 {
			return ""
		}
	default:
		if a.Equal(b) {
			return ""
		}
	}
	return at
}
