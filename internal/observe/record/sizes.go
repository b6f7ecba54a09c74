// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"assay.dev/assay/internal/spec"
)

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
