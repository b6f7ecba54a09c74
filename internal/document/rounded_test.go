package document_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/document"
)

// Rounded rounds what pointers lead to, in a copy, and leaves all else as it is.
func TestRounded(t *testing.T) {
	type inner struct{ Max *float64 }
	type outer struct {
		Limit float64
		N     *int64
		At    time.Time
		Each  []inner
		By    map[string]inner
		Lag   *inner
		None  *inner
		Empty []inner
	}
	ptr := func(v float64) *float64 { return &v }
	const long, short = 1.23456789, 1.23457
	n := int64(123456789)
	build := func(v float64) outer {
		return outer{Limit: long, N: &n, At: time.Unix(1, 0), Each: []inner{{ptr(v)}, {nil}}, By: map[string]inner{"a": {ptr(v)}}, Lag: &inner{ptr(v)}, Empty: []inner{}}
	}
	before := build(long)
	got := document.Rounded(before)
	if diff := cmp.Diff(build(short).Lag, got.Lag) + cmp.Diff(build(short).Each, got.Each) + cmp.Diff(build(short).By, got.By); diff != "" {
		t.Error(diff)
	}
	if got.Limit != long || *got.N != n || !got.At.Equal(before.At) || got.None != nil || got.Empty == nil {
		t.Errorf("changed what is no measured number: %+v", got)
	}
	if diff := cmp.Diff(build(long), before); diff != "" {
		t.Errorf("changed the value itself:\n%s", diff)
	}
}
