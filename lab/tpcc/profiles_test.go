//go:build live

package tpcc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/thresholds"
	"assay.dev/assay/lab/tpcc"
)

// The profiles check the conditions, each on the schemas that it writes to.
func TestProfilesCheckTheConditions(t *testing.T) {
	t.Parallel()
	file, err := thresholds.Read(t.Context(), "../../thresholds.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, schemas := range map[string][]string{"tpcc": {"tpcc"}, "tpcc-two-writers": {"tpcc_a", "tpcc_b"}} {
		p, err := file.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, want := map[string]string{}, map[string]string{}
		for _, i := range p.Invariants {
			got[i.Name] = i.SQL
		}
		for _, schema := range schemas {
			for condition, statement := range tpcc.Conditions(schema) {
				if len(schemas) > 1 {
					condition = schema + ": " + condition
				}
				want[condition] = strings.ReplaceAll(statement, "`", "") // without backquotes around the schema's name
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the invariants of %s (-want +got):\n%s", name, diff)
		}
	}
}
