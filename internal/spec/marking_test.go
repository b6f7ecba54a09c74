package spec_test

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/spec"
)

// A profile turns marking off, or changes a part of it: the rest has its default.
func TestMarking(t *testing.T) {
	whole := string(read(t, "testdata/good/full.json"))
	for text, want := range map[string]spec.Marking{
		`false`:                     {},
		`{}`:                        spec.DefaultMarking,
		`{"sampled": 0}`:            {Header: "X-Assay-Run", Baggage: true},
		`{"header": "x-load-test"}`: {Header: "x-load-test", Sampled: 0.01, Baggage: true},
	} {
		f, err := spec.Decode("full.json", []byte(strings.Replace(whole, `{"header": "X-Load-Test", "sampled": 0.25, "baggage": false}`, text, 1)))
		if err != nil || f.Profiles["payment"].Marking != want {
			t.Errorf("%s: %+v, %v", text, f.Profiles["payment"].Marking, err)
		}
	}
}
